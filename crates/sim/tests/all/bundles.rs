// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bundles: what a program had set up runs without it, on the machine that it was set up for.

use crate::common::{compiled, scheduler};
use proptest::prelude::*;
use rota_machine::config::{Config, Costs};
use rota_machine::hardware::parts::{Clock, CoreType, Governor, IdleState};
use rota_machine::hardware::Hardware;
use rota_machine::kernel::Kernel;
use rota_machine::topology::{Place, Topology};
use rota_machine::user_half::{Live, Step, UserHalf};
use rota_object::image::{FuncId, StructOps};
use rota_object::set_up::SetUpStep;
use rota_sim::{Origin, Policy, Simulation, UserProgram, Watchers, BUNDLE_BEGINS};
use rota_trace::CsvSink;
use rota_vm::host::Host;
use rota_vm::memory::Perm;
use rota_workload::WorkClass;
use std::sync::{Arc, OnceLock};

const HOGS: &str = r#"{"tasks": {"hog": {"instance": 3, "run": 100000}}}"#;

/// Gives the first task four times the share of the others, and attaches.
struct Loader;

impl UserHalf for Loader {
    fn attach(&mut self, live: Live<'_>) -> Result<StructOps, String> {
        let map = live.rt.map("rota_shares").expect("wfq has it");
        let put =
            live.rt.set_element(live.system, map, &1001u32.to_le_bytes(), &400u64.to_le_bytes(), 0);
        put.expect("there is room");
        live.rt.image().struct_ops.first().cloned().ok_or_else(|| "no table".into())
    }

    fn go_on(&mut self, _: Live<'_>) -> Step {
        Step::Sleep
    }
}

fn origin() -> Origin {
    Origin {
        program: "scx_loader".into(),
        arguments: vec!["--fair".into()],
        sha256: "00".into(),
        rota: "0.1.0".into(),
        machine: None,
    }
}

fn config(cpus: u32) -> Config {
    let mut config = Config::new(Topology::flat(cpus).expect("CPUs"), 1_000_000_000);
    (config.costs, config.exact_slices) = (Costs::none(), true);
    config
}

fn simulation(policy: &Policy, cpus: u32) -> Simulation {
    let load = Arc::new(rota_workload::parse("load.json", HOGS).expect("legal"));
    Simulation::new(policy, &load, config(cpus))
}

fn wfq() -> Policy {
    let object = rota_catalog::find("wfq").expect("ships").object;
    Policy::link("wfq", object, &Kernel::default()).expect("links")
}

fn bundle() -> &'static [u8] {
    static BUNDLE: OnceLock<Vec<u8>> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let program = UserProgram { name: "scx_loader".into(), half: Box::new(Loader) };
        simulation(&wfq(), 1).bundle_by(program, origin()).expect("can be bundled")
    })
}

fn trace(policy: &Policy) -> Vec<u8> {
    let mut csv = Vec::new();
    let mut sink = CsvSink::new(&mut csv);
    let watchers = Watchers { sinks: vec![&mut sink], figures: None };
    simulation(policy, 1).measure(watchers).expect("a run");
    drop(sink);
    csv
}

#[test]
fn what_the_program_set_up_is_there_without_it() {
    let policy = Policy::of_bundle("loader.rota", bundle()).expect("a bundle");
    let measured = simulation(&policy, 1).measure(Watchers::default()).expect("a run");

    assert_eq!(policy.origin(), Some(&origin()));
    // 400 of 400 + 100 + 100: two thirds of a second
    let cpu_ms: Vec<u64> = measured.numbers.tasks.iter().map(|t| t.cpu_ns / 1_000_000).collect();
    assert!((640..=690).contains(&cpu_ms[0]), "{cpu_ms:?}");
    assert!(measured.numbers.tasks.iter().all(|task| !task.is_program));
}

#[test]
fn a_bundle_has_the_same_bytes_each_time_and_so_has_its_run() {
    let program = UserProgram { name: "scx_loader".into(), half: Box::new(Loader) };
    let again = simulation(&wfq(), 1).bundle_by(program, origin()).expect("can be bundled");
    assert!(again == bundle());
    let policy = || Policy::of_bundle("loader.rota", bundle()).expect("a bundle");
    assert!(trace(&policy()) == trace(&policy()));
}

#[test]
fn another_machine_is_refused_with_the_one_that_fits() {
    let policy = Policy::of_bundle("loader.rota", bundle()).expect("a bundle");
    let error = simulation(&policy, 2).measure(Watchers::default()).expect_err("two CPUs");
    assert_eq!(
        error.to_string(),
        "loader.rota: set up for 1 CPU with smt=1,llc=1,node=1, not for 2 CPUs with \
         smt=1,llc=2,node=2: expected --cpus 1 --topology smt=1,llc=1,node=1"
    );
}

/// A CPU of which a program sees capacity, rank, caches, frequencies and idle states.
fn hardware() -> Hardware {
    let clock = Clock {
        idle_mhz: 400,
        base_mhz: 1900,
        max_mhz: 5000,
        turbo: Vec::new(),
        opps_mhz: Vec::new(),
        domain_cores: 1,
        governor: Governor::Hardware { ramp_ns: 5_000_000, cool_ns: 5_000_000 },
        power_uw: Vec::new(),
    };
    let state =
        IdleState { name: "C6".into(), exit_ns: 170_000, residency_ns: 500_000, flush: true };
    let core = CoreType {
        name: "p".into(),
        speed: 1024,
        capacity: 1024,
        rank: 64,
        l2_kib: 1280,
        smt: None,
        clock: Some(clock),
        idle: vec![state],
        poll_ns: 0,
    };
    Hardware {
        core_types: vec![core],
        type_of_cpu: vec![0],
        cache: None,
        ipi: None,
        work: (WorkClass::Mixed, 0),
        timer_slack_ns: 0,
    }
}

#[test]
fn a_machine_of_other_hardware_is_refused_by_what_a_program_sees() {
    let with = |hardware| Config { hardware, ..config(1) };
    let load = Arc::new(rota_workload::parse("load.json", HOGS).expect("legal"));
    let program = UserProgram { name: "scx_loader".into(), half: Box::new(Loader) };
    let origin = Origin { machine: Some("laptop.toml".into()), ..origin() };
    let made = Simulation::new(&wfq(), &load, with(Some(Arc::new(hardware()))));
    let bundle = made.bundle_by(program, origin).expect("can be bundled");
    let policy = Policy::of_bundle("loader.rota", &bundle).expect("a bundle");
    let on = |hardware: Option<Hardware>| {
        let run = Simulation::new(&policy, &load, with(hardware.map(Arc::new)));
        run.measure(Watchers::default()).map(|_| ()).map_err(|error| error.to_string())
    };
    let changed = |change: fn(&mut CoreType)| {
        let mut hardware = hardware();
        change(&mut hardware.core_types[0]);
        on(Some(hardware))
    };
    let refused =
        |what: &str| Err(format!("loader.rota: set up for {what}: expected --machine laptop.toml"));
    assert_eq!(on(Some(hardware())), Ok(()));
    // True speeds are in no file, and how long a frequency takes to rise neither.
    let unseen = changed(|core| {
        core.name = "q".into();
        let clock = core.clock.as_mut().expect("a clock");
        clock.governor = Governor::Hardware { ramp_ns: 1, cool_ns: 1 };
    });
    assert_eq!(unseen, Ok(()));
    for (found, what) in [
        (on(None), "a machine with described hardware, not for a flat one"),
        (changed(|core| core.capacity = 700), "a CPU 0 with capacity 1024, not 700"),
        (changed(|core| core.rank = 0), "a CPU 0 with rank 64, not 0"),
        (
            changed(|core| core.l2_kib = 512),
            "a CPU 0 with a second-level cache of 1280 KiB, not 512 KiB",
        ),
        (
            changed(|core| core.clock.as_mut().expect("a clock").max_mhz = 4800),
            "a CPU 0 with MHz of 400 to 5000 (base 1900), not 400 to 4800 (base 1900)",
        ),
        (changed(|core| core.idle.clear()), "a CPU 0 with idle states C6 170/500 us, not none"),
    ] {
        assert_eq!(found, refused(what));
    }
}

/// Siblings 0 and 2, two cores without any, and distances of their own.
#[test]
fn a_machine_of_unlike_cores_is_known_again_by_its_name() {
    let place = |core, node| Place { core, cluster: core, llc: node, node, package: node };
    let places = [place(0, 0), place(1, 0), place(0, 0), place(2, 1)];
    let rows = |far| [vec![10, far], vec![far, 10]];
    let config = |far| {
        let topology = Topology::of_places(&places, &rows(far)).expect("a machine");
        Config { topology, ..config(1) }
    };
    let load = Arc::new(rota_workload::parse("load.json", HOGS).expect("legal"));
    let program = UserProgram { name: "scx_loader".into(), half: Box::new(Loader) };
    let origin = Origin { machine: Some("odd.toml".into()), ..origin() };
    let bundle = Simulation::new(&wfq(), &load, config(32)).bundle_by(program, origin);
    let policy = Policy::of_bundle("odd.rota", &bundle.expect("can be bundled")).expect("a bundle");
    let run = |far| Simulation::new(&policy, &load, config(far)).measure(Watchers::default());

    assert!(run(32).is_ok());
    let error = run(31).expect_err("other distances").to_string();
    assert!(error.contains("4 CPUs that are not alike (3 cores, 2 caches, 2 nodes)"), "{error}");
    assert!(error.ends_with("expected --machine odd.toml"), "{error}");
}

#[test]
fn other_files_are_refused_by_how_they_begin() {
    let error = |bytes: &[u8]| Policy::of_bundle("x.rota", bytes).expect_err("none").to_string();
    assert!(
        error(b"rota bundle 7\n...").contains("\"rota bundle 7\", expected a bundle of version 6")
    );
    assert!(error(b"\x7fELF").contains("expected a bundle of version 6"));
    assert!(error(BUNDLE_BEGINS).contains("is damaged"));
    let cut = &bundle()[..bundle().len() - 9];
    assert!(error(cut).contains("is damaged"), "{}", error(cut));
}

/// Keeps a CPU mask, which only its own code can make.
const MASK: &str = r#"
static void *(*const lookup)(void *map, const void *key) = (void *)1;
static void *(*const kptr_xchg)(void *at, void *ptr) = (void *)194;
static long (*const bpf_trace_printk)(const char *fmt, u32 size, ...) = (void *)6;
extern struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
extern void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *mask) __ksym;
extern void bpf_cpumask_release(struct bpf_cpumask *mask) __ksym;
extern u32 bpf_cpumask_first(const struct cpumask *mask) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
struct holder { struct bpf_cpumask __attribute__((btf_type_tag("kptr"))) *mask; u64 number; };
struct {
	int (*type)[2];
	int (*max_entries)[1];
	u32 *key;
	struct holder *value;
} masks SEC(".maps");
struct argument { u32 cpu; };
SEC("syscall") int make_mask(struct argument *argument)
{
	u32 key = 0;
	struct holder *holder = lookup(&masks, &key);
	struct bpf_cpumask *mask;
	if (!holder || !(mask = bpf_cpumask_create()))
		return 1;
	bpf_cpumask_set_cpu(argument->cpu, mask);
	holder->number++;
	mask = kptr_xchg(&holder->mask, mask);
	if (mask)
		bpf_cpumask_release(mask);
	return 0;
}
s32 BPF_STRUCT_OPS_SLEEPABLE(init)
{
	static const char fmt[] = "%d %d";
	u32 key = 0;
	struct holder *holder = lookup(&masks, &key);
	struct bpf_cpumask *mask;
	if (!holder)
		return 0;
	bpf_rcu_read_lock();
	mask = holder->mask;
	if (mask)
		bpf_trace_printk(fmt, sizeof(fmt), holder->number,
				 (u64)bpf_cpumask_first((struct cpumask *)mask));
	bpf_rcu_read_unlock();
	return 0;
}
"#;

/// Runs a program of its object for CPU 1, and tells of it if it is to.
struct MaskMaker {
    tells: bool,
    steps: Vec<SetUpStep>,
}

impl UserHalf for MaskMaker {
    fn attach(&mut self, live: Live<'_>) -> Result<StructOps, String> {
        let of = |name: &str| live.rt.image().functions.iter().position(|f| f.name == name);
        let function = FuncId(of("make_mask").expect("it is there") as u32);
        let argument = live.system.memory().alloc("argument", 4, Perm::ReadWrite);
        live.system.memory().set_u32(argument, 1);
        live.rt.call(live.system, function, &[argument]).expect("runs");
        if self.tells {
            self.steps.push(SetUpStep::Run { function, context: 1u32.to_le_bytes().to_vec() });
        }
        live.rt.image().struct_ops.first().cloned().ok_or_else(|| "no table".into())
    }

    fn set_up(&self) -> &[SetUpStep] {
        &self.steps
    }

    fn go_on(&mut self, _: Live<'_>) -> Step {
        Step::Sleep
    }
}

#[test]
fn what_only_the_objects_code_can_make_is_made_anew() {
    let text = scheduler("sched_ext_ops", MASK, ".init = (void *)init,");
    let Some(policy) = compiled(&text) else { return };
    let bundle = |tells| {
        let half = Box::new(MaskMaker { tells, steps: Vec::new() });
        let program = UserProgram { name: "scx_mask".into(), half };
        simulation(&policy, 2).bundle_by(program, origin())
    };

    let bytes = bundle(true).expect("can be bundled");
    let policy = Policy::of_bundle("mask.rota", &bytes).expect("a bundle");
    let measured = simulation(&policy, 2).measure(Watchers::default()).expect("a run");
    // once, and CPU 1
    assert_eq!(measured.outcome.printed, ["1 1"]);
    let error = bundle(false).expect_err("a mask and no step").to_string();
    assert!(error.contains("makes kernel objects or timers"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Damage is told, or does no harm: the run may be ejected, as of any object.
    #[test]
    fn a_damaged_bundle_is_refused_or_runs(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let begins = BUNDLE_BEGINS.len();
        let mut plain = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bundle()[begins..]), &mut plain)
            .expect("packed");
        let at = at.index(plain.len());
        plain[at] = byte;
        let mut packed =
            flate2::write::GzEncoder::new(bundle()[..begins].to_vec(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &plain).expect("memory");
        let bytes = packed.finish().expect("memory");
        if let Ok(policy) = Policy::of_bundle("x.rota", &bytes) {
            let _ = simulation(&policy, 1).measure(Watchers::default());
        }
    }
}
