// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the running kernel has to attach to. Functions of the scheduler are static, come and
//! go with versions, and may be inlined: the kernel's BTF says which are there.

use rota_object::btf::{Btf, Kind, Type};

/// Bits of the preemption count that are set in softirqs and hard interrupts …
const INTERRUPTS: u32 = 0x000f_0100;
/// … and where the count has 64 bits (7.3), which moved the second of them.
const INTERRUPTS_64: u32 = 0x0f00_0100;

/// The softirq's bit in both.
const SOFTIRQ: u32 = 0x100;

/// Programs of `record.bpf.c` that hang on a function which a kernel may lack, without which
/// less is recorded.
const OPTIONAL: [(&str, &str); 14] = [
    ("after_nice", "set_user_nice"),
    ("after_setscheduler", "__sched_setscheduler"),
    ("after_affinity", "__set_cpus_allowed_ptr"),
    ("after_move", "sched_move_task"),
    ("before_balance", "balance_scx"),
    ("before_pick", "pick_task_scx"),
    ("after_pick", "pick_task_scx"),
    ("before_do_pick", "do_pick_task_scx"),
    ("after_do_pick", "do_pick_task_scx"),
    ("on_move", "move_local_task_to_local_dsq"),
    ("after_pipe_read", "pipe_read"),
    ("after_pipe_write", "pipe_write"),
    ("after_anon_pipe_read", "anon_pipe_read"),
    ("after_anon_pipe_write", "anon_pipe_write"),
];

/// The programs among them that see picks.
pub(crate) const PICKS: [&str; 2] = ["after_pick", "after_do_pick"];
/// Programs that see bytes, wanted only with transfers.
pub(crate) const TRANSFERS: [&str; 7] = [
    "after_pipe_read",
    "after_pipe_write",
    "after_anon_pipe_read",
    "after_anon_pipe_write",
    CALL_END,
    "on_send",
    "on_receive",
];
/// Sees pipes at the end of system calls, where their own functions cannot be attached to.
const CALL_END: &str = "on_call_end";
/// Programs that see queues, wanted only with detail.
pub(crate) const DISPATCH: &str = "on_dispatch";
/// Tells interrupts from tasks by the preemption count …
pub(crate) const WAKING: &str = "on_waking";
/// … and these do so where it cannot be read.
pub(crate) const NOTING: [&str; 5] = [
    "on_waking_by_notes",
    "on_irq_handler_entry",
    "on_irq_handler_exit",
    "on_softirq_entry",
    "on_softirq_exit",
];
const MOVE: &str = "on_move";

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hooks {
    /// Optional programs that can be loaded.
    pub(crate) programs: Vec<&'static str>,
    /// Function through which tasks enter queues.
    pub(crate) dispatch: Option<Dispatch>,
    /// Which argument of the move between queues is the task.
    pub(crate) move_task: u32,
    /// Bits of the preemption count; 0: it cannot be read.
    pub(crate) interrupt_mask: u32,
}

/// A function through which tasks enter queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub(crate) function: &'static str,
    /// Which argument is the task, and which the queue.
    pub(crate) task: u32,
    pub(crate) queue: u32,
    /// The queue is given by its id.
    pub(crate) by_id: bool,
}

impl Hooks {
    /// What a kernel with these types and symbols has; `detail`: queues are of interest.
    pub(crate) fn of(kernel: &Btf, has_symbol: &dyn Fn(&str) -> bool, detail: bool) -> Self {
        let has = |function: &str| kernel.find(Kind::Func, function).is_some();
        let wanted = |program: &str| detail || program != MOVE;
        let programs: Vec<_> = OPTIONAL
            .iter()
            .filter(|(program, function)| wanted(program) && has(function))
            .map(|(program, _)| *program)
            .collect();
        let moved = argument(kernel, "move_local_task_to_local_dsq", "p");
        Self {
            programs: programs.into_iter().filter(|p| *p != MOVE || moved.is_some()).collect(),
            dispatch: if detail { dispatch(kernel) } else { None },
            move_task: moved.unwrap_or(0),
            interrupt_mask: interrupt_mask(kernel, has_symbol),
        }
    }

    /// Bits of the preemption count that say: in an interrupt, and not in a softirq only.
    pub(crate) fn hard_mask(&self) -> u32 {
        self.mask() & !SOFTIRQ
    }

    /// Bits that say: in an interrupt; where the count cannot be read, those of noted ones.
    pub(crate) fn mask(&self) -> u32 {
        if self.notes_interrupts() {
            INTERRUPTS
        } else {
            self.interrupt_mask
        }
    }

    /// Tracepoints have to tell of interrupts.
    pub(crate) fn notes_interrupts(&self) -> bool {
        self.interrupt_mask == 0
    }

    /// Whether a program of [`TRANSFERS`] is the one for this kernel.
    pub(crate) fn sees_transfers(&self, program: &str) -> bool {
        let sees_pipes = |p: &&str| TRANSFERS.contains(p);
        match program {
            CALL_END => !self.programs.iter().any(sees_pipes),
            "on_send" | "on_receive" => true,
            _ => self.programs.contains(&program),
        }
    }

    /// The same kernel, if none of its functions can be attached to.
    pub(crate) fn without_functions(self) -> Self {
        Self { programs: Vec::new(), dispatch: None, ..self }
    }
}

/// What inserts into queues: the one place that all go through, else the policy's insertions.
fn dispatch(kernel: &Btf) -> Option<Dispatch> {
    let hook = |function: &'static str, queue: &str, by_id| {
        let task = argument(kernel, function, "p")?;
        Some(Dispatch { function, task, queue: argument(kernel, function, queue)?, by_id })
    };
    hook("dispatch_enqueue", "dsq", false).or_else(|| hook("scx_dsq_insert_commit", "dsq_id", true))
}

/// Number of a function's parameter.
fn argument(kernel: &Btf, function: &str, parameter: &str) -> Option<u32> {
    let proto = kernel.func_proto(kernel.find(Kind::Func, function)?)?;
    proto.params().position(|p| p.name == parameter).map(|at| at as u32)
}

/// The count is a per-CPU variable; until 6.14 it is a member of one. A kernel without
/// CONFIG_KALLSYMS_ALL describes it, but does not know where it is.
fn interrupt_mask(kernel: &Btf, has_symbol: &dyn Fn(&str) -> bool) -> u32 {
    let variable = kernel.find(Kind::Var, "__preempt_count").map(|id| kernel.get(id));
    match variable {
        Some(_) if !has_symbol("__preempt_count") => 0,
        Some(Type::Var(_, ty, _)) if kernel.size_of(ty) == Some(8) => INTERRUPTS_64,
        Some(_) => INTERRUPTS,
        None if kernel.member_at("pcpu_hot", "preempt_count").is_some()
            && has_symbol("pcpu_hot") =>
        {
            INTERRUPTS
        }
        None => 0,
    }
}

/// Is this a symbol of the running kernel?
pub(crate) fn is_symbol(name: &str) -> bool {
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    symbols.lines().any(|line| line.split_ascii_whitespace().nth(2) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of a kernel with these functions, all with these parameters, and a preemption
    /// count of this size.
    fn kernel(functions: &[&str], parameters: &[&str], count_size: u32) -> Btf {
        let (mut strings, mut types) = (vec![0u8], Vec::<u32>::new());
        let mut name = |text: &str| {
            let at = strings.len() as u32;
            strings.extend(text.bytes().chain([0]));
            at
        };
        let info = |kind: Kind, vlen: usize| (kind as u32) << 24 | vlen as u32;
        types.extend([name("int"), info(Kind::Int, 0), count_size, count_size * 8]);
        types.extend([0, info(Kind::FuncProto, parameters.len()), 0]);
        for parameter in parameters {
            types.extend([name(parameter), 1]);
        }
        for function in functions {
            types.extend([name(function), info(Kind::Func, 0), 2]);
        }
        types.extend([name("__preempt_count"), info(Kind::Var, 0), 1, 1]);
        let length = types.len() as u32 * 4;
        let mut bytes = [0x9f, 0xeb, 1, 0].to_vec();
        for word in [24, 0, length, length, strings.len() as u32].iter().chain(&types) {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(strings);
        Btf::from_file(&bytes).expect("types")
    }

    #[test]
    fn hooks_are_what_the_kernel_has() {
        let there = ["pick_task_scx", "set_user_nice", "dispatch_enqueue"];
        let kernel = kernel(&there, &["sch", "dsq", "p"], 4);
        let hooks = Hooks::of(&kernel, &|_| true, true);
        assert_eq!(hooks.programs, ["after_nice", "before_pick", "after_pick"]);
        let dispatch = Dispatch { function: "dispatch_enqueue", task: 2, queue: 1, by_id: false };
        assert_eq!(hooks.dispatch, Some(dispatch));
        assert_eq!(hooks.interrupt_mask, INTERRUPTS);

        let fewer = hooks.without_functions();
        assert_eq!((fewer.programs.len(), fewer.dispatch), (0, None));
        assert_eq!(fewer.interrupt_mask, INTERRUPTS);
    }

    #[test]
    fn queues_are_watched_only_with_detail_and_by_the_policys_insertions_if_need_be() {
        let there = ["scx_dsq_insert_commit", "move_local_task_to_local_dsq"];
        let kernel = kernel(&there, &["sch", "p", "dsq_id"], 8);
        assert_eq!(Hooks::of(&kernel, &|_| true, false).dispatch, None);
        let hooks = Hooks::of(&kernel, &|_| true, true);
        let function = "scx_dsq_insert_commit";
        assert_eq!(hooks.dispatch, Some(Dispatch { function, task: 1, queue: 2, by_id: true }));
        assert_eq!((hooks.programs, hooks.move_task), (vec!["on_move"], 1));
        assert_eq!(hooks.interrupt_mask, INTERRUPTS_64);
    }

    #[test]
    fn pipes_are_seen_at_their_own_functions_or_else_at_the_end_of_calls() {
        let seen = |hooks: &Hooks| -> Vec<&str> {
            TRANSFERS.into_iter().filter(|program| hooks.sees_transfers(program)).collect()
        };
        let kernel = kernel(&["anon_pipe_read", "anon_pipe_write"], &[], 4);
        let hooks = Hooks::of(&kernel, &|_| true, false);
        let own = ["after_anon_pipe_read", "after_anon_pipe_write", "on_send", "on_receive"];
        assert_eq!(seen(&hooks), own);
        assert_eq!(seen(&hooks.without_functions()), ["on_call_end", "on_send", "on_receive"]);
    }

    #[test]
    fn a_count_that_nobody_knows_the_address_of_is_not_read() {
        let kernel = kernel(&[], &[], 4);
        let hooks = Hooks::of(&kernel, &|_| false, false);
        assert_eq!((hooks.interrupt_mask, hooks.notes_interrupts()), (0, true));
        assert_eq!((hooks.mask(), hooks.hard_mask()), (INTERRUPTS, INTERRUPTS & !SOFTIRQ));
    }
}
