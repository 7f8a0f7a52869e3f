// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers with their programs: a task of the machine that acts on maps while it runs.

use crate::common::{compiled, scheduler};
use rota_machine::config::{Config, Costs};
use rota_machine::consts::BOOT_NS;
use rota_machine::exit::ExitKind;
use rota_machine::kernel::Kernel;
use rota_machine::ops::Ops as _;
use rota_machine::run::ProgramExit;
use rota_machine::system::System;
use rota_machine::topology::Topology;
use rota_machine::user_half::{Live, Step, UserHalf, PROGRAM_PID};
use rota_object::image::{Image, StructOps};
use rota_sim::{Measured, Policy, SimError, Simulation, UserProgram, Watchers};
use rota_trace::{CsvSink, Event, EventKind, OffCpu, Sink};
use rota_vm::host::Host;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// A program that does what a closure says.
struct Scripted<F>(F);

impl<F: FnMut(Live<'_>) -> Step> UserHalf for Scripted<F> {
    fn attach(&mut self, live: Live<'_>) -> Result<StructOps, String> {
        let tables = &live.rt.image().struct_ops;
        tables.first().cloned().ok_or_else(|| "there is no table".into())
    }

    fn go_on(&mut self, live: Live<'_>) -> Step {
        (self.0)(live)
    }
}

fn program(does: impl FnMut(Live<'_>) -> Step + 'static) -> UserProgram {
    UserProgram { name: "scx_scripted_program".into(), half: Box::new(Scripted(does)) }
}

fn shipped(name: &str) -> Policy {
    let object = rota_catalog::find(name).expect("ships").object;
    Policy::link(name, object, &Kernel::default()).expect("links")
}

/// One CPU on which nothing but the tasks takes time.
fn config(ms: u64) -> Config {
    let mut config = Config::new(Topology::flat(1).expect("a CPU"), ms * MS);
    (config.costs, config.exact_slices, config.audit) = (Costs::none(), true, true);
    config
}

fn simulation(policy: &Policy, load: &str, config: Config) -> Simulation {
    let load = Arc::new(rota_workload::parse("load.json", load).expect("legal"));
    Simulation::new(policy, &load, config)
}

const HOG: &str = r#"{"tasks": {"hog": {"run": 100000}}}"#;
const IDLE: &str = r#"{"tasks": {"idle": {"sleep": 1000000}}}"#;

/// Events of a run, as they came.
#[derive(Default)]
struct Seen(Vec<Event>);

impl Sink for Seen {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

fn measure(simulation: Simulation, program: UserProgram) -> (Measured, Vec<Event>) {
    let mut seen = Seen::default();
    let watchers = Watchers { sinks: vec![&mut seen], figures: None };
    let measured = simulation.measure_by(program, watchers).expect("a run");
    (measured, seen.0)
}

/// Computes for 20 us, stores how often it did in the map of shares, and sleeps until the next
/// millisecond, `times` times; then it ends.
fn counter(times: u64, status: i32) -> UserProgram {
    let (mut computed, mut count) = (false, 0u64);
    program(move |live| {
        computed = !computed;
        if computed {
            return if count == times { Step::Exit { status } } else { Step::Run { ns: 20_000 } };
        }
        count += 1;
        let map = live.rt.map("rota_shares").expect("wfq has it");
        let put = live.rt.map_put(live.system, map, &7u32.to_le_bytes(), &count.to_le_bytes());
        put.expect("there is room");
        let now_ns = Host::now_ns(live.system);
        Step::SleepUntil { at_ns: now_ns - now_ns % MS + MS }
    })
}

#[test]
fn each_step_takes_the_time_that_it_asks_for_and_acts_at_its_instant() {
    let (measured, events) =
        measure(simulation(&shipped("wfq"), IDLE, config(100)), counter(200, 0));

    let task = &measured.numbers.tasks[0];
    assert_eq!((&*task.name, task.pid), ("scx_scripted_pr", PROGRAM_PID));
    assert!(task.is_program && !measured.numbers.tasks[1].is_program);
    // at 0, 1 … 99 ms: 100 times 20 us
    assert_eq!((task.cpu_ns, task.switches), (100 * 20_000, 100));
    let out = EventKind::SwitchOut { pid: PROGRAM_PID, why: OffCpu::Sleep };
    let left: Vec<u64> = events.iter().filter(|e| e.kind == out).map(|e| e.time_ns).collect();
    assert_eq!(left, (0..100).map(|ms| ms * MS + 20_000).collect::<Vec<_>>());
    // it is no part of the load, which had one wakeup
    assert_eq!(measured.numbers.totals.wakeup_latency_ns.count, 1);
    assert_eq!(measured.groups.len(), 1);
    assert_eq!((measured.outcome.end_ns, measured.outcome.program), (100 * MS, None));
}

#[test]
fn what_it_stores_is_there_when_the_scheduler_looks() {
    let simulation = simulation(&shipped("wfq"), IDLE, config(10));
    let mut loaded = simulation.load_by(counter(200, 0)).expect("loads");
    loaded.run(&mut rota_trace::Tee::new()).expect("a run");
    let map = loaded.ops.runtime().map("rota_shares").expect("has it");
    let value = loaded.ops.runtime().map_get(&mut loaded.machine.system, map, &7u32.to_le_bytes());
    // at 0, 1 … 9 ms
    assert_eq!(value.expect("is there"), 10u64.to_le_bytes());
}

#[test]
fn yielding_lets_the_next_one_run() {
    let mut steps = [Step::Run { ns: MS }, Step::Yield].into_iter().cycle();
    let does = program(move |_| steps.next().expect("endless"));
    let mut policy = shipped("rr");
    policy.set("quantum_ns", "4000000").expect("a tunable");
    let (measured, events) = measure(simulation(&policy, HOG, config(100)), does);

    let runs = |e: &Event| match e.kind {
        EventKind::SwitchIn { pid } => Some(pid == PROGRAM_PID),
        _ => None,
    };
    let turns: Vec<bool> = events.iter().filter_map(runs).collect();
    assert!(turns.windows(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
    // 1 ms of each 5: the other uses up its quantum
    assert_eq!(measured.numbers.tasks[0].cpu_ns, 20 * MS);
}

#[test]
fn a_program_that_ends_takes_its_scheduler_along() {
    let (measured, events) = measure(simulation(&shipped("wfq"), HOG, config(100)), counter(3, 5));
    let outcome = &measured.outcome;

    // with the hog it waits for its turns: the fourth of them is its end
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
    assert_eq!(outcome.program, Some(ProgramExit { at_ns: outcome.end_ns, status: 5 }));
    assert!(outcome.end_ns < 100 * MS);
    let last: Vec<String> = events.iter().rev().take(3).map(|e| format!("{:?}", e.kind)).collect();
    assert!(last[0].starts_with("PolicyExit"), "{last:?}");
    let what = "the scheduler's program exits with status 5".to_owned();
    assert!(events.iter().any(|e| e.kind == EventKind::Outside { what: what.clone() }));
    assert!(events.iter().any(|e| e.kind == EventKind::Exit { pid: PROGRAM_PID }));
}

#[test]
fn with_a_fair_class_the_machine_goes_on_without_them() {
    let simulation = simulation(&shipped("wfq"), HOG, config(100)).with_fair(&shipped("eevdf"));
    let (measured, _) = measure(simulation, counter(3, 0));
    let outcome = &measured.outcome;

    let end = outcome.program.expect("it ended");
    assert_eq!(outcome.exits.iter().map(|gone| gone.at_ns).collect::<Vec<_>>(), [end.at_ns]);
    assert_eq!(outcome.end_ns, 100 * MS);
    // three times 20 us, and all else is the hog's
    let cpu_ns: Vec<u64> = measured.numbers.tasks.iter().map(|task| task.cpu_ns).collect();
    assert_eq!(cpu_ns, [3 * 20_000, 100 * MS - 3 * 20_000]);
}

/// A program that goes through steps, and knows whether a scheduler is attached before each.
struct Switching {
    steps: std::vec::IntoIter<Step>,
    next: Policy,
    attached: Rc<RefCell<Vec<bool>>>,
}

impl UserHalf for Switching {
    fn attach(&mut self, live: Live<'_>) -> Result<StructOps, String> {
        let tables = &live.rt.image().struct_ops;
        tables.first().cloned().ok_or_else(|| "there is no table".into())
    }

    fn go_on(&mut self, live: Live<'_>) -> Step {
        self.attached.borrow_mut().push(live.system.has_scheduler());
        self.steps.next().expect("no more is asked for")
    }

    fn image(&mut self) -> Option<Image> {
        Some((**self.next.image()).clone())
    }

    fn table(&mut self) -> Option<StructOps> {
        self.next.image().struct_ops.first().cloned()
    }
}

fn switching(steps: Vec<Step>) -> (UserProgram, Rc<RefCell<Vec<bool>>>) {
    let attached = Rc::new(RefCell::new(Vec::new()));
    let (steps, next) = (steps.into_iter(), shipped("fifo"));
    let half = Switching { steps, next, attached: Rc::clone(&attached) };
    (UserProgram { name: "scx_switching".into(), half: Box::new(half) }, attached)
}

#[test]
fn a_program_detaches_its_scheduler_and_attaches_another() {
    let (program, attached) = switching(vec![
        Step::Run { ns: 1000 },
        Step::Detach,
        Step::SleepUntil { at_ns: BOOT_NS + 50 * MS },
        Step::Load,
        Step::Attach,
        Step::Sleep,
    ]);
    let simulation = simulation(&shipped("wfq"), HOG, config(100)).with_fair(&shipped("eevdf"));
    let mut loaded = simulation.load_by(program).expect("loads");
    let mut seen = Seen::default();
    let outcome = loaded.run(&mut seen).expect("a run");

    assert_eq!(*attached.borrow(), [true, true, false, false, false, true]);
    let exits: Vec<_> = outcome.exits.iter().map(|gone| (gone.at_ns, gone.exit.kind)).collect();
    // at its first turn; the second one stays to the end
    assert_eq!((exits[0].1, exits[1]), (ExitKind::Unreg, (100 * MS, ExitKind::Unreg)));
    assert!(exits[0].0 < 50 * MS && exits.len() == 2, "{exits:?}");
    assert_eq!(loaded.ops.params().name, "fifo");
    assert_eq!(loaded.ops.table().map(|table| table.name.as_str()), Some("fifo_ops"));
    // the hog is of the fair class between them
    let hog = 1001;
    let classes = seen.0.iter().filter_map(|event| match event.kind {
        EventKind::SchedClass { pid, class } if pid == hog => Some((event.time_ns, class)),
        _ => None,
    });
    let classes: Vec<_> = classes.collect();
    let after = |ns: u64| classes.iter().filter(|(at_ns, _)| *at_ns >= ns).count();
    assert_eq!((after(exits[0].0), after(50 * MS)), (2, 1), "{classes:?}");
}

#[test]
fn without_a_fair_class_a_program_that_detaches_ends_the_run_and_then_itself() {
    let (program, attached) =
        switching(vec![Step::Run { ns: 1000 }, Step::Detach, Step::Exit { status: 5 }]);
    let (measured, _) = measure(simulation(&shipped("wfq"), HOG, config(100)), program);
    let outcome = &measured.outcome;

    assert_eq!(*attached.borrow(), [true, true, false]);
    assert!(outcome.end_ns < 100 * MS);
    assert_eq!(outcome.program, Some(ProgramExit { at_ns: outcome.end_ns, status: 5 }));
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
}

#[test]
fn after_a_run_no_object_is_loaded() {
    let (program, _) = switching(vec![Step::Detach, Step::Load]);
    let (measured, _) = measure(simulation(&shipped("wfq"), HOG, config(100)), program);
    assert_eq!(measured.outcome.program, None, "it is ended");
}

#[test]
fn a_scheduler_that_is_attached_later_has_its_program_from_then_on() {
    let simulation = simulation(&shipped("wfq"), HOG, config(100));
    let simulation = simulation.with_fair(&shipped("eevdf")).attached_at(40 * MS);
    let (_, events) = measure(simulation, counter(200, 0));

    let first = events.iter().find(|e| e.kind == EventKind::SwitchIn { pid: PROGRAM_PID });
    assert!(first.expect("it ran").time_ns >= 40 * MS);
}

#[test]
fn a_program_learns_of_the_ejection_of_its_scheduler() {
    // 100 instructions in a second are too few for any policy
    let config = Config { budget_per_second: 100, ..config(100) };
    let asked = Rc::new(RefCell::new(Vec::new()));
    let times = Rc::clone(&asked);
    let does = program(move |live| {
        let now_ns = Host::now_ns(live.system);
        times.borrow_mut().push(now_ns);
        match times.borrow().len() {
            1 => Step::SleepUntil { at_ns: now_ns + 1000 * MS },
            _ => Step::Exit { status: 1 },
        }
    });
    let (measured, _) = measure(simulation(&shipped("fifo"), HOG, config), does);
    let outcome = &measured.outcome;

    assert_eq!(outcome.exit.kind, ExitKind::Error);
    let asked = asked.borrow();
    assert_eq!(asked[1], asked[0] + 1000 * MS, "it slept until then");
    let ended = outcome.program.expect("it ended");
    assert_eq!((ended.status, outcome.end_ns < 100 * MS), (1, true));
    assert!(ended.at_ns >= 1000 * MS, "in its own time, after the run");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let trace = || {
        let load = r#"{"tasks": {"t": {"instance": 5, "run": {"dist": "exp", "mean": 700},
            "sleep": 900}}}"#;
        let mut config = Config::new(Topology::flat(2).expect("CPUs"), 200 * MS);
        config.audit = true;
        let mut csv = CsvSink::new(Vec::new());
        let watchers = Watchers { sinks: vec![&mut csv], figures: None };
        let simulation = simulation(&shipped("wfq"), load, config);
        simulation.measure_by(counter(1000, 0), watchers).expect("a run");
        csv.finish().expect("in memory")
    };
    let first = trace();
    assert!(String::from_utf8_lossy(&first).contains(",program,999,"));
    assert_eq!(trace(), first);
}

/// A program that asks for something before it attaches its scheduler, and for more at its steps.
struct Asking<A, F>(A, F);

impl<A: FnMut(&mut System), F: FnMut(&mut System) -> Step> UserHalf for Asking<A, F> {
    fn attach(&mut self, live: Live<'_>) -> Result<StructOps, String> {
        (self.0)(live.system);
        Ok(live.rt.image().struct_ops[0].clone())
    }

    fn go_on(&mut self, live: Live<'_>) -> Step {
        (self.1)(live.system)
    }
}

#[test]
fn a_program_has_the_cpus_and_the_weight_that_it_asks_for() {
    // CPU 1 first; from its third step on CPU 0, at nice 5: a weight of 335 of 1024
    let mut steps = 0;
    let before = |system: &mut System| {
        assert!(system.bind_program(&[1]) && !system.bind_program(&[7]));
        assert_eq!(Host::cpu(system), 1);
    };
    let half = Asking(before, move |system: &mut System| {
        steps += 1;
        if steps == 3 {
            assert!(system.bind_program(&[0]));
            system.renice_program(5);
            assert!(!system.set_program_policy(1), "real-time");
        }
        Step::Run { ns: MS }
    });
    let program = UserProgram { name: "scx_asking".into(), half: Box::new(half) };
    let mut config = config(10);
    config.topology = Topology::flat(2).expect("CPUs");
    let (measured, events) = measure(simulation(&shipped("wfq"), IDLE, config), program);

    let ran = |e: &Event| match e.kind {
        EventKind::SwitchIn { pid: PROGRAM_PID } => Some((e.time_ns / MS, e.cpu)),
        _ => None,
    };
    let ran: Vec<_> = events.iter().filter_map(ran).collect();
    assert_eq!(ran, [(0, Some(1)), (2, Some(0))]);
    // sched_prio_to_weight, scaled to 100 for 1024: 33
    let task = measured.numbers.program().expect("it ran");
    assert_eq!((task.weight, task.cpu_ns), (33, 10 * MS));
}

#[test]
fn under_a_partial_scheduler_it_is_in_the_class_that_it_asks_for() {
    let class = |asks: bool| {
        let half = Asking(
            move |system: &mut System| assert!(!asks || system.set_program_policy(7)),
            |_: &mut System| Step::Run { ns: MS },
        );
        let program = UserProgram { name: "scx_asking".into(), half: Box::new(half) };
        let mut policy = shipped("wfq");
        policy.make_partial().expect("has flags");
        let simulation = simulation(&policy, IDLE, config(10)).with_fair(&shipped("eevdf"));
        measure(simulation, program).0.numbers.program().expect("it ran").class
    };
    assert_eq!((class(false), class(true)), ("fair", "ext"));
}

#[test]
fn a_program_that_never_uses_time_is_an_error() {
    let simulation = simulation(&shipped("fifo"), IDLE, config(10));
    let error = simulation.measure_by(program(|_| Step::Yield), Watchers::default());
    let error = error.expect_err("endless").to_string();
    assert!(error.contains("without using any time"), "{error}");
}

#[test]
fn events_that_load_schedulers_have_no_place_next_to_a_program() {
    let load = r#"{"tasks": {"t": {"run": 1000}},
        "events": [{"at": "20ms", "scheduler": "unload"}, {"at": "30ms", "scheduler": "load"}]}"#;
    let simulation = simulation(&shipped("fifo"), load, config(100)).with_fair(&shipped("eevdf"));
    let error = simulation.load_by(counter(1, 0)).expect_err("refused");
    assert!(matches!(error, SimError::Program(_)), "{error}");
}

const RING: &str = r#"
static long (*const bpf_ringbuf_output)(void *, void *, u64, u64) = (void *)130;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

void BPF_STRUCT_OPS(odd_tick, struct task_struct *p)
{
	u32 pid = p->pid;

	bpf_ringbuf_output(&ring, &pid, sizeof(pid), 0);
}
"#;

/// With 250 ticks in a second, every 4 ms.
#[test]
fn a_program_that_waits_is_woken_by_a_record_and_one_that_sleeps_is_not() {
    let table = scheduler("sched_ext_ops", RING, ".tick = (void *)odd_tick,");
    let Some(policy) = compiled(&table) else { return };
    let woken = |waits: bool| {
        let config = Config { exact_slices: false, ..config(30) };
        let does = program(move |live| match (waits, Host::now_ns(live.system) + 9 * MS) {
            (true, at_ns) => Step::WaitUntil { at_ns },
            (false, at_ns) => Step::SleepUntil { at_ns },
        });
        let (_, events) = measure(simulation(&policy, HOG, config), does);
        let wakes = |e: &&Event| e.kind == EventKind::Wakeup { pid: PROGRAM_PID, waker: 0 };
        events.iter().filter(wakes).map(|e| e.time_ns / MS).collect::<Vec<_>>()
    };
    // at the tick at 4 ms it waits; then the hog has what is left of its slice of 20 ms, and the
    // next tick is at 24 ms
    assert_eq!(woken(true), [0, 4, 24]);
    // 9 ms after it had the CPU, at 0 and at 20 ms
    assert_eq!(woken(false), [0, 9, 29]);
}
