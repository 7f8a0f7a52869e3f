// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workload events that act on a policy's object while it runs.

use crate::common::{compiled, scheduler};
use rota_machine::config::Config;
use rota_machine::topology::Topology;
use rota_sim::{Loaded, SimError, Simulation};
use rota_trace::Tee;
use std::sync::Arc;

const FUNCTIONS: &str = r#"
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8; // BPF_FUNC_get_smp_processor_id

u64 limit = 5;
struct { u32 low, high; } range;
const volatile u64 fixed = 1;
u64 sum, cpu_of_run;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} table SEC(".maps");

struct question { u64 add; };

SEC("syscall")
int ask(struct question *question)
{
	u32 key = 2;
	u64 *entry = bpf_map_lookup_elem(&table, &key);

	sum = limit + range.high + fixed + question->add + (entry ? *entry : 0);
	cpu_of_run = bpf_get_smp_processor_id();
	return sum;
}

void BPF_STRUCT_OPS(odd_tick, struct task_struct *p)
{
}
"#;

fn loaded(events: &str) -> Option<Result<Loaded, SimError>> {
    let policy = compiled(&scheduler("sched_ext_ops", FUNCTIONS, ".tick = (void *)odd_tick,"))?;
    let load = format!("{{\"tasks\": {{\"t\": {{\"run\": 90000}}}}, \"events\": [{events}]}}");
    let load = Arc::new(rota_workload::parse("load.json", &load).expect("legal"));
    let config = Config::new(Topology::flat(2).expect("CPUs"), 20_000_000);
    Some(Simulation::new(&policy, &load, config).load())
}

/// 70 + 9 + 1 + 11 + 100 = 191, each part written before the program runs.
#[test]
fn a_program_sees_what_was_written_and_returns_its_value() {
    let events = r#"{"at": 1000, "variable": "limit", "value": 70},
        {"at": 2000, "variable": "range.high", "value": 9},
        {"at": 3000, "map": "table", "key": 2, "value": 100},
        {"at": 4000, "program": "ask", "cpu": 1, "ctx": {"add": 11}}"#;
    let Some(loaded) = loaded(events) else { return };
    let mut loaded = loaded.expect("loads");
    let outcome = loaded.run(&mut Tee::new()).expect("a run");
    let results: Vec<_> = outcome.outside.iter().map(|h| (h.at_ns, h.result.as_str())).collect();
    assert_eq!(results, [(4_000_000, "returned 191")]);
    let mut number = |path| loaded.global(path).expect("is there").number;
    assert_eq!(number("sum"), Some(191));
    assert_eq!(number("cpu_of_run"), Some(1));
    assert_eq!(number("range.low"), Some(0));
}

#[test]
fn what_the_object_lacks_is_said_before_the_run() {
    let cases = [
        (r#""variable": "limti", "value": 1"#, "there is no variable 'limti'"),
        (r#""variable": "limit", "value": "many""#, "'many' is not valid"),
        (r#""variable": "fixed", "value": 2"#, "is constant once the object is loaded"),
        (r#""map": "tabel", "key": 1, "value": 1"#, "there is no map 'tabel'"),
        (r#""program": "aks", "cpu": 0"#, "there is no function 'aks'"),
        (r#""program": "odd_tick", "cpu": 0"#, "only those in \"syscall\" can be run"),
        (r#""program": "ask", "cpu": 0, "ctx": {"ad": 1}"#, "ad"),
    ];
    for (event, expected) in cases {
        let Some(loaded) = loaded(&format!("{{\"at\": 1, {event}}}")) else { return };
        let error = loaded.expect("loads").run(&mut Tee::new()).expect_err("was accepted");
        assert!(error.is_of_workload());
        let error = error.to_string();
        assert!(error.starts_with("load.json:1:") && error.contains(expected), "{error}");
    }
}
