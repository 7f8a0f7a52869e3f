// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler's object compiled by hand: its types, and programs as libbpf relocates them.

use crate::caller::{insn, NewMap, NewProgram, Program, Words};
use rota_machine::config::Config;
use rota_machine::policy::BpfOps;
use rota_machine::run::Machine;
use rota_machine::topology::Topology;
use rota_machine::user_half::Live;
use rota_object::btf::{Btf, Kind, Type};
use rota_object::image::{map_type, Image};
use rota_program::bpf::Reply;
use std::sync::Arc;

pub(crate) const STRUCT_OPS: u32 = 27;
pub(crate) const SYSCALL: u32 = 31;
pub(crate) const SLEEPABLE: u32 = 1 << 4;
const LINK: u32 = 1 << 13;
const MMAPABLE: u32 = 1 << 10;

/// Types of [`types`].
pub(crate) const BSS: u32 = 3;
pub(crate) const DISPATCH: u32 = 5;
pub(crate) const COUNT_UP: u32 = 6;

/// `int`, `.bss` with `int counter` at 4 of its 16 bytes, and two functions.
pub(crate) fn types() -> Vec<u8> {
    let strings = b"\0int\0counter\0.bss\0tiny_dispatch\0count_up\0";
    let at = |name: &str| {
        let name = format!("\0{name}\0");
        strings.windows(name.len()).position(|part| part == name.as_bytes()).expect("a name") as u32
            + 1
    };
    let kind = |kind: Kind, elements: u32| (kind as u32) << 24 | elements;
    let words = [
        &[at("int"), kind(Kind::Int, 0), 4, 32][..],
        &[at("counter"), kind(Kind::Var, 0), 1, 1],
        &[at(".bss"), kind(Kind::Datasec, 1), 16, 2, 4, 4],
        &[0, kind(Kind::FuncProto, 0), 1],
        &[at("tiny_dispatch"), kind(Kind::Func, 1), 4],
        &[at("count_up"), kind(Kind::Func, 1), 4],
    ]
    .concat();
    let types: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let header = [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32];
    let header: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    [&[0x9f, 0xeb, 1, 0][..], &header, &types, strings].concat()
}

/// A scheduler that was loaded, and not yet attached.
pub(crate) struct Loaded {
    pub(crate) p: Program,
    pub(crate) btf: i32,
    pub(crate) bss: i32,
    pub(crate) queue: i32,
    pub(crate) table: i32,
    pub(crate) dispatch: i32,
    pub(crate) count_up: i32,
}

/// The kernel's types as the program sees them.
pub(crate) fn kernel_types(p: &Program) -> Btf {
    Btf::parse(p.played.btf_file()).expect("the kernel's types")
}

/// The index of a member of the scheduler's table.
pub(crate) fn member(btf: &Btf, name: &str) -> (usize, u32) {
    let table = btf.find_struct("sched_ext_ops").expect("sched_ext");
    let Type::Struct(ty) = btf.get(table) else { panic!("no struct") };
    let index = ty.members().position(|member| member.name == name).expect("a member");
    (index, ty.member(index).expect("a member").bit_offset / 8)
}

impl Loaded {
    pub(crate) fn new() -> Self {
        let mut p = Program::new();
        let kernel = kernel_types(&p);
        let btf = p.btf(&types()).expect("types");
        let array = NewMap { kind: map_type::ARRAY, key: 4, max: 1, ..NewMap::default() };
        let bss =
            NewMap { value: 16, flags: MMAPABLE, name: "tiny.bss", btf, value_type: BSS, ..array };
        let bss = p.map(bss).expect(".bss");
        let queue =
            NewMap { kind: map_type::QUEUE, value: 8, max: 4, name: "asks", ..NewMap::default() };
        let queue = p.map(queue).expect("a queue");
        let wrapper = kernel.find_struct("bpf_struct_ops_sched_ext_ops").expect("a wrapper");
        let table = p.map(NewMap {
            kind: map_type::STRUCT_OPS,
            value: kernel.size_of(wrapper).expect("a size"),
            flags: LINK,
            name: "tiny_ops",
            kernel_type: wrapper.0,
            ..array
        });
        let table = table.expect("a table");
        let dispatch = p.load(NewProgram {
            kind: STRUCT_OPS,
            code: vec![insn(0xb7, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0)],
            name: "tiny_dispatch",
            attach_type: member(&kernel, "dispatch").0 as u32,
            target: kernel.find_struct("sched_ext_ops").expect("sched_ext").0,
            btf,
            functions: vec![(0, DISPATCH)],
            ..NewProgram::default()
        });
        let count_up = p.load(NewProgram {
            kind: SYSCALL,
            code: count_up(bss, queue),
            name: "count_up",
            flags: SLEEPABLE,
            btf,
            functions: vec![(0, COUNT_UP)],
            ..NewProgram::default()
        });
        let (dispatch, count_up) = (dispatch.0.expect("loads"), count_up.0.expect("loads"));
        Self { p, btf, bss, queue, table, dispatch, count_up }
    }

    /// The table's value with its callback and a name.
    pub(crate) fn table_value(&self) -> Vec<u8> {
        let kernel = kernel_types(&self.p);
        let wrapper = kernel.find_struct("bpf_struct_ops_sched_ext_ops").expect("a wrapper");
        let mut value = vec![0; kernel.size_of(wrapper).expect("a size") as usize];
        let dispatch = 64 + member(&kernel, "dispatch").1 as usize;
        value[dispatch..dispatch + 4].copy_from_slice(&self.dispatch.to_le_bytes());
        let name = 64 + member(&kernel, "name").1 as usize;
        value[name..name + 4].copy_from_slice(b"tiny");
        let timeout = 64 + member(&kernel, "timeout_ms").1 as usize;
        value[timeout..timeout + 4].copy_from_slice(&5000u32.to_le_bytes());
        value
    }

    pub(crate) fn image(&mut self) -> Image {
        self.p.played.image(&self.p.memory).expect("an image")
    }

    /// `BPF_PROG_TEST_RUN` with two words of context; what they are then, and what it returned.
    pub(crate) fn run(&mut self, first: u64, live: Option<&mut Live<'_>>) -> Option<(u64, u32)> {
        self.run_program(self.count_up, first, live)
    }

    /// The same of another program.
    pub(crate) fn run_program(
        &mut self,
        program: i32,
        first: u64,
        live: Option<&mut Live<'_>>,
    ) -> Option<(u64, u32)> {
        let context = self.p.memory.put(&[first, 0].map(u64::to_le_bytes).concat());
        let words = Words::new(76).fd(0, program).u32(40, 16).u64(48, context);
        let (attr, reply) = self.p.call_with(10, words, live);
        match reply.expect("runs") {
            Reply::NeedsMachine => None,
            Reply::Value(0) => {
                let second = self.p.memory.get(context + 8, 8).try_into().expect("eight bytes");
                let returned = self.p.memory.get(attr + 4, 4).try_into().expect("four bytes");
                Some((u64::from_le_bytes(second), u32::from_le_bytes(returned)))
            }
            other => panic!("{other:?}"),
        }
    }
}

/// `ctx[1] = ctx[0] + 1`, also into `counter` and the queue; returns 5.
fn count_up(bss: i32, queue: i32) -> Vec<[u8; 8]> {
    vec![
        insn(0x79, 6, 1, 0, 0),   // r6 = ctx[0]
        insn(0x07, 6, 0, 0, 1),   // r6 += 1
        insn(0x7b, 1, 6, 8, 0),   // ctx[1] = r6
        insn(0x18, 2, 2, 0, bss), // r2 = &counter
        insn(0, 0, 0, 0, 4),
        insn(0x63, 2, 6, 0, 0),   // counter = r6
        insn(0x7b, 10, 6, -8, 0), // a value on the stack
        insn(0x18, 1, 1, 0, queue),
        insn(0, 0, 0, 0, 0),
        insn(0xbf, 2, 10, 0, 0),
        insn(0x07, 2, 0, 0, -8),
        insn(0xb7, 3, 0, 0, 0),
        insn(0x85, 0, 0, 0, 87), // bpf_map_push_elem(queue, &value, 0)
        insn(0xb7, 0, 0, 0, 5),
        insn(0x95, 0, 0, 0, 0),
    ]
}

/// Makes the machine that runs the image, and acts on it.
pub(crate) fn in_machine<R>(image: Image, act: impl FnOnce(&mut Live<'_>) -> R) -> R {
    let config = Config::new(Topology::flat(2).expect("two CPUs"), 1_000_000);
    let workload = r#"{"tasks": {"t": {"run": 1000}}, "global": {"duration": 1}}"#;
    let workload = Arc::new(rota_workload::parse("one.json", workload).expect("a workload"));
    let mut machine = Machine::new(config, workload, &image.kernel_btf).expect("a machine");
    let mut ops = BpfOps::load(Arc::new(image), &mut machine.system).expect("a scheduler");
    act(&mut Live { rt: ops.runtime(), system: &mut machine.system })
}
