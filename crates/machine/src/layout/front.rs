// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structs that there are many of begin with what the machine keeps in them: a task takes a quarter of
//! the bytes that it has in the kernel, and a decision few cache lines.

use super::{KernelType, Layouts, MmLayout, SchedInfoLayout, SignalLayout, TaskLayout};
use rota_object::btf::{Btf, Front};
use rota_vm::memory::{Memory, ShapeId};

/// Of a task, what need not be there as a whole: it has a bit for each CPU that a kernel can have.
const LAST: &str = "cpus_mask";

/// Texts end before the bytes of an object do.
const END_BYTES: u32 = 8;

/// The types of a kernel as the machine lays them out.
pub(crate) fn laid_out(btf: &Btf) -> Btf {
    let task = TaskLayout::FIELDS.iter().chain(SchedInfoLayout::FIELDS).copied().collect();
    btf.with_front(&[
        Front { structure: TaskLayout::TYPE, paths: task, last: Some(LAST) },
        Front { structure: MmLayout::TYPE, paths: MmLayout::FIELDS.to_vec(), last: None },
        Front { structure: SignalLayout::TYPE, paths: SignalLayout::FIELDS.to_vec(), last: None },
    ])
}

/// Where ends what the machine keeps of objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// Of a task, but for its mask of CPUs.
    task: u32,
    mm: u32,
    signal: u32,
}

impl Ends {
    pub(crate) fn of(btf: &Btf) -> Self {
        let task = TaskLayout::FIELDS.iter().chain(SchedInfoLayout::FIELDS);
        Self {
            task: last_end::<TaskLayout>(btf, task.filter(|path| **path != LAST)),
            mm: last_end::<MmLayout>(btf, MmLayout::FIELDS.iter()),
            signal: last_end::<SignalLayout>(btf, SignalLayout::FIELDS.iter()),
        }
    }
}

fn last_end<'a, T: KernelType>(btf: &Btf, paths: impl Iterator<Item = &'a &'static str>) -> u32 {
    let ends = paths.filter_map(|path| btf.member_at(T::TYPE, path)?.end());
    ends.max().unwrap_or(0)
}

impl Layouts {
    /// On a machine with so many CPUs, objects have bytes of their own as far as the machine keeps
    /// them; behind that they are zero.
    pub(crate) fn back(&self, cpus: u32, memory: &mut Memory) {
        let mut back = |shape: ShapeId, end: u32| memory.back(shape, end.saturating_add(END_BYTES));
        let mask_bytes = self.cpumask_size.min(cpus.div_ceil(64) * 8);
        let mask_end = self.task.cpus_mask.checked_add(mask_bytes).unwrap_or(0);
        back(self.task_shape, self.ends.task.max(mask_end));
        back(self.mm_shape, self.ends.mm);
        back(self.signal_shape, self.ends.signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use rota_object::btf::Bundled;

    #[test]
    fn all_that_the_machine_writes_of_a_task_is_within_its_bytes() {
        for release in Kernel::releases() {
            let kernel = Kernel::bundled(release).expect("bundled");
            let (layouts, mut memory) = Layouts::of(kernel.btf()).expect("sched_ext");
            layouts.back(2, &mut memory);
            let task = memory.alloc_kernel(layouts.task_shape);
            for path in TaskLayout::FIELDS.iter().chain(SchedInfoLayout::FIELDS) {
                let Some(field) = kernel.btf().member_at("task_struct", path) else { continue };
                assert_eq!(field.bits, 0, "{release}: {path}");
                memory.set_u8(task + u64::from(field.offset()), 1);
                assert_eq!(memory.get_u8(task + u64::from(field.offset())), 1, "{release}: {path}");
            }
            let given = Bundled::find(release).expect("bundled").btf();
            let size = given.find_struct("task_struct").and_then(|task| given.size_of(task));
            let own = memory.own_bytes(task);
            assert!(own * 3 < size.expect("a size"), "{release}: {own} bytes of its own");
        }
    }

    #[test]
    fn a_mask_has_bytes_for_the_cpus_that_there_are() {
        let kernel = Kernel::default();
        let own = |cpus| {
            let (layouts, mut memory) = Layouts::of(kernel.btf()).expect("sched_ext");
            layouts.back(cpus, &mut memory);
            let task = memory.alloc_kernel(layouts.task_shape);
            memory.own_bytes(task)
        };
        assert_eq!(own(64), own(1));
        assert_eq!(own(65), own(1) + 8);
        assert_eq!(own(8192), own(1) + 1024 - 8);
    }
}
