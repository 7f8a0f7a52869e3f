// SPDX-License-Identifier: MIT OR Apache-2.0
//! What manifests do with an object: steps before the scheduler is attached, and programs that run
//! while it does.

use crate::common::{compiled, scheduler};
use rota_machine::config::Config;
use rota_machine::topology::Topology;
use rota_manifest::Manifest;
use rota_sim::{facts, ForObject, Loaded, SimError, Simulation};
use rota_trace::Tee;
use std::sync::Arc;

const FUNCTIONS: &str = r#"
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8; // BPF_FUNC_get_smp_processor_id
static void *(*const bpf_map_lookup_percpu_elem)(void *map, const void *key, u32 cpu) = (void *)195;
#define __arena __attribute__((address_space(1)))

struct {
	__uint(type, 33); // BPF_MAP_TYPE_ARENA
	__uint(map_flags, 1024); // BPF_F_MMAPABLE
	__uint(max_entries, 16);
} arena SEC(".maps");

struct {
	__uint(type, 6); // BPF_MAP_TYPE_PERCPU_ARRAY
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} of_cpu SEC(".maps");

struct set_of_cpus { u64 bits[2]; };
struct set_of_cpus __arena *sets[2];
u64 seen[2], of_last_cpu, polls, last_cpu;
extern void __arena *bpf_arena_alloc_pages(void *map, void __arena *at, u32 count, int node,
					   u64 flags) __ksym;

struct allocated { u64 at; };
SEC("syscall") int allocate(struct allocated *out)
{
	struct set_of_cpus __arena *set = bpf_arena_alloc_pages(&arena, 0, 1, -1, 0);

	if (!set)
		return -12;
	set->bits[1] = 5; // what is not written stays
	out->at = (u64)set;
	return 0;
}

struct added { u64 at; u32 id; };
SEC("syscall") int add(struct added *in)
{
	struct set_of_cpus __arena *set = (void __arena *)in->at;
	u32 key = 0;
	u64 *last = bpf_map_lookup_percpu_elem(&of_cpu, &key, 3);

	if (in->id < 2)
		seen[in->id] = set->bits[0] + set->bits[1];
	of_last_cpu = last ? *last : 0;
	return 0;
}

SEC("syscall") int poll(void *ctx)
{
	polls++;
	last_cpu = bpf_get_smp_processor_id();
	return polls == 2 ? 9 : 0;
}
"#;

/// Four CPUs, two caches of two, 20 ms.
fn loaded(manifest: &str) -> Option<Result<Loaded, SimError>> {
    let policy = compiled(&scheduler("sched_ext_ops", FUNCTIONS, ""))?;
    let load = Arc::new(
        rota_workload::parse("load.json", r#"{"tasks": {"t": {"run": 90000}}}"#).expect("legal"),
    );
    let topology = Topology::parse(4, "llc=2").expect("CPUs");
    let manifest = Manifest::parse("m.toml", manifest).expect("legal");
    let setup = manifest.expand(&facts(&topology), &ForObject(policy.image())).expect("expands");
    let config = Config::new(topology, 20_000_000);
    Some(Simulation::new(&policy, &load, config).with_setup(&setup).load())
}

/// Caches have CPUs {0, 1} and {2, 3}: 3 and 12, and the 5 that the program left in each set. The
/// last CPU has 100 * 3.
#[test]
fn results_of_programs_lead_to_memory_and_to_later_programs() {
    let manifest = r#"
        [maps.of_cpu]
        entries = [{ key = 0, per_cpu = true, value = "=100 * cpu" }]
        [[run]]
        each = "llc"
        steps = [
            { program = "allocate", keep = { set = "at" } },
            { write = "set", type = "set_of_cpus", value = { "bits[0]" = "=llc_mask(llc)" } },
            { program = "add", ctx = { at = "=set", id = "=llc" } },
        ]
    "#;
    let Some(loaded) = loaded(manifest) else { return };
    let mut loaded = loaded.expect("loads");
    let mut number = |path| loaded.global(path).expect("is there").number;
    assert_eq!(number("seen[0]"), Some(3 + 5));
    assert_eq!(number("seen[1]"), Some(12 + 5));
    assert_eq!(number("of_last_cpu"), Some(300));
}

/// At 3, 8, 13 and 18 ms of 20.
#[test]
fn programs_run_at_their_times_and_only_failures_are_told() {
    let manifest = "[[run]]\nprogram = \"poll\"\nat = \"3ms\"\nevery = \"5ms\"\ncpu = 2\n";
    let Some(loaded) = loaded(manifest) else { return };
    let mut loaded = loaded.expect("loads");
    let outcome = loaded.run(&mut Tee::new()).expect("a run");
    let told: Vec<_> = outcome.outside.iter().map(|h| (h.at_ns, h.result.as_str())).collect();
    assert_eq!(told, [(8_000_000, "returned 9")]);
    let mut number = |path| loaded.global(path).expect("is there").number;
    assert_eq!(number("polls"), Some(4));
    assert_eq!(number("last_cpu"), Some(2));
}

#[test]
fn steps_that_the_object_does_not_take_are_refused_by_name() {
    let cases = [
        ("[[run]]\nprogram = \"alocate\"", "program alocate: there is no function 'alocate'"),
        ("[[run]]\nsteps = [{ program = \"poll\", keep = { x = \"at\" } }]", "takes no argument"),
        (
            "[[run]]\nsteps = [{ program = \"allocate\", keep = { x = \"at\" } }, \
             { write = \"x\", type = \"set\", value = 1 }]",
            "type set: the object has no such type",
        ),
    ];
    for (manifest, expected) in cases {
        let Some(loaded) = loaded(manifest) else { return };
        let error = loaded.expect_err(manifest).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
