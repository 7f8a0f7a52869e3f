// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layouts of one kernel, and the shapes that memory checks guest access with.

use super::front::Ends;
use super::*;
use rota_object::btf::Btf;
use rota_vm::memory::{Memory, Shape, ShapeId};
use std::ops::Range;

/// Every layout, and the shapes that memory checks guest access with.
#[derive(Clone, Debug)]
pub(crate) struct Layouts {
    pub(crate) task: TaskLayout,
    pub(crate) sched_info: SchedInfoLayout,
    pub(crate) rq: RqLayout,
    pub(crate) dsq: DsqLayout,
    pub(crate) exit_info: ExitInfoLayout,
    pub(crate) dump_ctx: DumpCtxLayout,
    pub(crate) init_task_args: InitTaskArgsLayout,
    pub(crate) exit_task_args: ExitTaskArgsLayout,
    pub(crate) cpu_release_args: CpuReleaseArgsLayout,
    pub(crate) cgroup_init_args: CgroupInitArgsLayout,
    pub(crate) sub_args: SubArgsLayout,
    pub(crate) sub_ops: SubOpsLayout,
    pub(crate) cgroup: CgroupLayout,
    pub(crate) kernfs: KernfsLayout,
    pub(crate) task_group: TaskGroupLayout,
    pub(crate) css_set: CssSetLayout,
    pub(crate) mm: MmLayout,
    pub(crate) cred: CredLayout,
    pub(crate) signal: SignalLayout,
    pub(crate) pid: PidLayout,
    pub(crate) sock: SockLayout,
    pub(crate) unix_sock: UnixSockLayout,
    pub(crate) event_stats: EventStatsLayout,
    pub(crate) pt_regs: PtRegsLayout,
    pub(crate) trace_entry: TraceEntryLayout,
    pub(crate) switch_record: SwitchRecordLayout,
    pub(crate) wakeup_record: WakeupRecordLayout,
    /// Bytes of a `struct cpumask`.
    pub(crate) cpumask_size: u32,
    pub(super) ends: Ends,
    pub(crate) task_shape: ShapeId,
    pub(crate) rq_shape: ShapeId,
    pub(crate) dsq_shape: ShapeId,
    pub(crate) cgroup_shape: ShapeId,
    pub(crate) kernfs_shape: ShapeId,
    pub(crate) task_group_shape: ShapeId,
    pub(crate) css_set_shape: ShapeId,
    pub(crate) mm_shape: ShapeId,
    pub(crate) cpustat_shape: ShapeId,
    pub(crate) kernel_stat_shape: ShapeId,
    pub(crate) cred_shape: ShapeId,
    pub(crate) signal_shape: ShapeId,
    pub(crate) pid_shape: ShapeId,
    pub(crate) sock_shape: ShapeId,
    pub(crate) unix_sock_shape: ShapeId,
    pub(crate) sub_args_shape: ShapeId,
    pub(crate) sub_ops_shape: ShapeId,
}

impl Layouts {
    /// The layouts of a kernel, and memory that knows their shapes and has nothing in it. Fails if
    /// the kernel has no sched_ext.
    pub(crate) fn of(btf: &Btf) -> Result<(Self, Memory), String> {
        let resolved = btf.derived(|btf| {
            let (mut memory, mut shapes) = (Memory::new(), Vec::new());
            let layouts = Self::resolve(btf, &mut |shape: Shape| {
                shapes.push(shape.clone());
                memory.add_shape(shape)
            })?;
            Ok::<_, String>((layouts, shapes))
        });
        let (layouts, shapes) = Result::as_ref(&resolved).map_err(String::clone)?;
        let mut memory = Memory::new();
        // in the same order: by the same ids
        for shape in shapes {
            memory.add_shape(shape.clone());
        }
        Ok((layouts.clone(), memory))
    }

    fn resolve(btf: &Btf, add: &mut dyn FnMut(Shape) -> ShapeId) -> Result<Self, String> {
        let task = TaskLayout::resolve(btf);
        let needed = [
            ("scx.slice", task.scx_slice),
            ("scx.dsq_vtime", task.scx_dsq_vtime),
            ("scx.flags", task.scx_flags),
        ];
        for (name, off) in needed {
            if off == ABSENT {
                return Err(format!(
                    "the kernel BTF has no task_struct.{name}: sched_ext needs Linux 6.12 or later"
                ));
            }
        }
        sound::check(btf)?;
        let writable = ["scx.slice", "scx.dsq_vtime", "scx.disallow"];
        let rq = RqLayout::resolve(btf);
        let dsq = DsqLayout::resolve(btf);
        let cgroup = CgroupLayout::resolve(btf);
        let kernfs = KernfsLayout::resolve(btf);
        let task_group = TaskGroupLayout::resolve(btf);
        let css_set = CssSetLayout::resolve(btf);
        let mm = MmLayout::resolve(btf);
        let (sock, unix_sock) = (SockLayout::resolve(btf), UnixSockLayout::resolve(btf));
        let cred = CredLayout::resolve(btf);
        let signal = SignalLayout::resolve(btf);
        let pid = PidLayout::resolve(btf);
        let task_shape = add(shape(btf, &task, &writable, None));
        let rq_shape = add(shape(btf, &rq, &[], None));
        let dsq_shape = add(shape(btf, &dsq, &[], None));
        let sock_shape = add(shape(btf, &sock, &[], None));
        let unix_sock_shape = add(shape(btf, &unix_sock, &[], None));
        let (sub_args, sub_ops) = (SubArgsLayout::resolve(btf), SubOpsLayout::resolve(btf));
        let sub_args_shape = add(shape(btf, &sub_args, &[], None));
        let sub_ops_shape = add(shape(btf, &sub_ops, &[], None));
        let ancestors = (cgroup.ancestors, 8 * crate::cgroup::MAX_DEPTH);
        let cgroup_shape = add(shape(btf, &cgroup, &[], Some(ancestors)));
        let kernfs_shape = add(shape(btf, &kernfs, &[], None));
        let task_group_shape = add(shape(btf, &task_group, &[], None));
        let css_set_shape = add(shape(btf, &css_set, &[], None));
        let mm_shape = add(shape(btf, &mm, &[], None));
        let cpustat_shape = add(shape(btf, &CpustatLayout::resolve(btf), &[], None));
        let kernel_stat_shape = add(shape(btf, &KernelStatLayout::resolve(btf), &[], None));
        let cred_shape = add(shape(btf, &cred, &[], None));
        let signal_shape = add(shape(btf, &signal, &[], None));
        // of one namespace: a number and an address
        let pid_shape = add(shape(btf, &pid, &[], Some((pid.numbers, 16))));
        Ok(Self {
            task,
            sched_info: SchedInfoLayout::resolve(btf),
            rq,
            dsq,
            exit_info: ExitInfoLayout::resolve(btf),
            dump_ctx: DumpCtxLayout::resolve(btf),
            init_task_args: InitTaskArgsLayout::resolve(btf),
            exit_task_args: ExitTaskArgsLayout::resolve(btf),
            cpu_release_args: CpuReleaseArgsLayout::resolve(btf),
            cgroup_init_args: CgroupInitArgsLayout::resolve(btf),
            sub_args,
            sub_ops,
            cgroup,
            kernfs,
            task_group,
            css_set,
            mm,
            cred,
            signal,
            pid,
            sock,
            unix_sock,
            event_stats: EventStatsLayout::resolve(btf),
            pt_regs: PtRegsLayout::resolve(btf),
            trace_entry: TraceEntryLayout::resolve(btf),
            switch_record: SwitchRecordLayout::resolve(btf),
            wakeup_record: WakeupRecordLayout::resolve(btf),
            cpumask_size: cpumask_size(btf),
            ends: Ends::of(btf),
            task_shape,
            rq_shape,
            dsq_shape,
            cgroup_shape,
            kernfs_shape,
            task_group_shape,
            css_set_shape,
            mm_shape,
            cpustat_shape,
            kernel_stat_shape,
            cred_shape,
            signal_shape,
            pid_shape,
            sock_shape,
            unix_sock_shape,
            sub_args_shape,
            sub_ops_shape,
        })
    }
}

/// Shape of a kernel object, which may end with a flexible array: where that begins, which can be
/// within the padding of the struct, and how many bytes of it the machine fills.
fn shape<T: KernelType>(
    btf: &Btf,
    layout: &T,
    writable: &[&str],
    flexible: Option<(u32, u32)>,
) -> Shape {
    let range = |path: &&str| -> Option<Range<u32>> {
        let field = btf.member_at(T::TYPE, path)?;
        Some(field.offset()..field.offset().saturating_add(field.size.max(1)))
    };
    let mut filled: Vec<Range<u32>> =
        T::FIELDS.iter().chain(T::ALSO_RIGHT).filter_map(range).collect();
    let array = flexible.filter(|(at, _)| *at != ABSENT).map(|(at, bytes)| at..at + bytes);
    let size = array.as_ref().map_or(layout.size(), |array| array.end.max(layout.size()));
    filled.extend(array);
    Shape {
        type_name: T::TYPE.to_string(),
        size,
        filled,
        writable: writable.iter().filter_map(range).collect(),
    }
}
