// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler finds of core scheduling in a kernel that has it. The bundled types are of
//! kernels without `CONFIG_SCHED_CORE`; `--btf FILE` takes those of any, and so does this: the
//! bundled ones with the fields that the option adds.

use crate::common::object_of;
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_object::btf::Btf;
use rota_sim::{Loaded, Policy, Simulation};
use rota_trace::Tee;
use std::sync::Arc;

const TYPES: &[u8] = include_bytes!("../../../object/data/kernel-7.2.btf");

/// `include/uapi/linux/btf.h`.
const PTR: u32 = 2;
const STRUCT: u32 = 4;
const UNION: u32 = 5;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Where each type is in the section of types, from number 1 on.
fn starts(types: &[u8]) -> Vec<usize> {
    let (mut starts, mut at) = (Vec::new(), 0);
    while at < types.len() {
        starts.push(at);
        let info = word(types, at + 4);
        let count = (info & 0xffff) as usize;
        at += 12
            + match info >> 24 & 0x1f {
                1 | 14 | 17 => 4,
                3 => 12,
                STRUCT | UNION | 15 | 19 => 12 * count,
                6 | 13 => 8 * count,
                _ => 0,
            };
    }
    starts
}

/// BTF to be changed: its types and its names.
struct Types {
    types: Vec<u8>,
    names: Vec<u8>,
}

impl Types {
    fn of(btf: &[u8]) -> Self {
        let [types_at, types_len, names_at, names_len] =
            [8, 12, 16, 20].map(|at| word(btf, at) as usize);
        let part = |at: usize, len: usize| btf[24 + at..24 + at + len].to_vec();
        Self { types: part(types_at, types_len), names: part(names_at, names_len) }
    }

    fn name(&self, offset: u32) -> &str {
        let rest = &self.names[offset as usize..];
        let end = rest.iter().position(|byte| *byte == 0).unwrap();
        std::str::from_utf8(&rest[..end]).unwrap()
    }

    /// Number of the type that fits, and where it is.
    fn find(&self, fits: impl Fn(u32, &str, u32) -> bool) -> (u32, usize) {
        let fits = |(_, at): &(u32, usize)| {
            let [name, info, of] = [0, 4, 8].map(|by| word(&self.types, *at + by));
            fits(info >> 24 & 0x1f, self.name(name), of)
        };
        (1..).zip(starts(&self.types)).find(fits).expect("a type")
    }

    fn integer(&self, named: &str) -> u32 {
        self.find(|kind, name, _| kind == 1 && name == named).0
    }

    fn structure(&self, named: &str) -> (u32, usize) {
        self.find(|kind, name, _| kind == STRUCT && name == named)
    }

    fn set(&mut self, at: usize, value: u32) {
        self.types[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Gives a structure another member at its end.
    fn add(&mut self, structure: &str, member: &str, ty: u32) {
        let (_, at) = self.structure(structure);
        let (info, size) = (word(&self.types, at + 4), word(&self.types, at + 8));
        let end = at + 12 + 12 * (info & 0xffff) as usize;
        let name = self.names.len() as u32;
        self.names.extend(member.bytes().chain([0]));
        let words = [name, ty, 8 * size].map(u32::to_le_bytes).concat();
        self.types.splice(end..end, words);
        self.set(at + 4, info + 1);
        self.set(at + 8, size + 8);
    }

    /// Moves a member that has become larger to the end of its structure.
    fn move_to_end(&mut self, structure: &str, member: &str, member_size: u32) {
        let (_, at) = self.structure(structure);
        let (info, size) = (word(&self.types, at + 4), word(&self.types, at + 8));
        let members = (0..(info & 0xffff) as usize).map(|number| at + 12 + 12 * number);
        let found = members.rev().find(|at| self.name(word(&self.types, *at)) == member);
        self.set(found.expect("a member") + 8, 8 * size);
        self.set(at + 8, size + member_size);
    }

    fn bytes(&self) -> Vec<u8> {
        let (types, names) = (self.types.len() as u32, self.names.len() as u32);
        let header = [24, 0, types, types, names].map(u32::to_le_bytes).concat();
        [&TYPES[..4], &header, &self.types, &self.names].concat()
    }
}

/// The kernel's types as `CONFIG_SCHED_CORE` has them.
fn with_core_scheduling() -> Vec<u8> {
    let mut types = Types::of(TYPES);
    let (long, int) = (types.integer("long unsigned int"), types.integer("unsigned int"));
    types.add("sched_ext_entity", "core_sched_at", long);
    let (_, entity) = types.structure("sched_ext_entity");
    let entity_size = word(&types.types, entity + 8);
    types.move_to_end("task_struct", "scx", entity_size);
    types.add("task_struct", "core_cookie", long);
    types.add("task_struct", "core_occupation", int);
    let (rq, _) = types.structure("rq");
    let (pointer, _) = types.find(|kind, _, of| kind == PTR && of == rq);
    types.add("rq", "core", pointer);
    types.add("rq", "core_enabled", int);
    types.add("rq", "core_cookie", long);
    types.add("rq", "core_forceidle_count", int);
    types.bytes()
}

const SOURCE: &str = r#"
#include "rota.bpf.h"
struct sched_ext_entity___core { u64 core_sched_at; } __attribute__((preserve_access_index));
struct task_struct___core {
	unsigned long core_cookie;
	struct sched_ext_entity___core scx;
} __attribute__((preserve_access_index));
struct rq___core {
	struct rq___core *core;
	unsigned int core_enabled;
	unsigned long core_cookie;
} __attribute__((preserve_access_index));
struct rq *scx_bpf_cpu_rq(s32 cpu) __ksym;
u64 has_fields, has_option, cookies[3], runs[3], apart, stamped, one_core, enabled;
extern bool CONFIG_SCHED_CORE __attribute__((section(".kconfig"), weak));

void BPF_STRUCT_OPS(running, struct task_struct *p)
{
	struct task_struct___core *t = (void *)p;
	struct rq___core *rq = (void *)scx_bpf_cpu_rq(scx_bpf_task_cpu(p));
	struct rq___core *first = (void *)scx_bpf_cpu_rq(0);
	u32 which = p->comm[0] - 'a';

	has_option = CONFIG_SCHED_CORE;
	has_fields = __builtin_preserve_field_info(t->core_cookie, 2);
	if (!has_fields || which > 2 || !rq || !first)
		return;
	cookies[which] = t->core_cookie;
	runs[which]++;
	apart += rq->core->core_cookie != t->core_cookie;
	stamped += t->scx.core_sched_at > 0;
	one_core += rq->core == first;
	enabled += rq->core_enabled;
}

SEC(".struct_ops.link") struct sched_ext_ops odd_ops = {
	.running = (void *)running, .name = "odd",
};
"#;

const LOAD: &str = r#"{"tasks": {
    "a": {"core_cookie": "A", "run": 1000, "sleep": 1000},
    "b": {"core_cookie": "B", "run": 1000, "sleep": 1500},
    "c": {"run": 1000, "sleep": 2000}}}"#;

/// A run on a core of two CPUs.
fn run(kernel: &Kernel) -> Option<Loaded> {
    let object = object_of(SOURCE)?;
    let policy = Policy::link("odd", &object, kernel).expect("links");
    let load = Arc::new(rota_workload::parse("load.json", LOAD).expect("legal"));
    let mut config = Config::new(Topology::new(2, 2, 2, 2).expect("a core"), 100_000_000);
    config.audit = true;
    let mut loaded = Simulation::new(&policy, &load, config).load().expect("loads");
    let outcome = loaded.run(&mut Tee::new()).expect("a run");
    assert!(!outcome.exit.kind.is_error(), "{}", outcome.exit);
    assert_eq!(outcome.unfilled_reads, []);
    Some(loaded)
}

fn number(loaded: &mut Loaded, path: &str) -> i128 {
    loaded.global(path).expect("is there").number.expect("a number")
}

#[test]
fn a_kernel_with_core_scheduling_shows_cookies_and_cores() {
    let btf = Btf::from_file(&with_core_scheduling()).expect("sound");
    let Some(mut loaded) = run(&Kernel::of_btf(Arc::new(btf))) else { return };
    let mut of = |path: &str| number(&mut loaded, path);
    assert_eq!((of("has_fields"), of("has_option")), (1, 1));
    let [a, b, c] = ["cookies[0]", "cookies[1]", "cookies[2]"].map(&mut of);
    assert!(a != 0 && b != 0 && a != b && c == 0, "{a:#x} {b:#x} {c:#x}");
    let runs: i128 = ["runs[0]", "runs[1]", "runs[2]"].map(&mut of).iter().sum();
    // each works 1 ms of at least 3 in 100, alone half of the time or more
    assert!(runs >= 30, "{runs}");
    // the task that runs has the cookie of its core, which its CPUs share
    assert_eq!(of("apart"), 0);
    assert_eq!((of("one_core"), of("enabled")), (runs, runs));
    // a wakeup stamps a task (`touch_core_sched()`), its fork does not
    assert_eq!(of("stamped"), runs - 3);
}

#[test]
fn the_bundled_kernels_have_none_of_it() {
    let Some(mut loaded) = run(&Kernel::default()) else { return };
    assert_eq!(number(&mut loaded, "has_fields"), 0);
    assert_eq!(number(&mut loaded, "has_option"), 0);
}
