// SPDX-License-Identifier: MIT OR Apache-2.0
//! The places in the kernel that the machine passes, and that a tracing program can watch. The
//! tables are complete: a program anywhere else is never called, and is named for it.

macro_rules! places {
    (
        tracepoints { $($point:ident = $point_name:literal, $record:expr;)* }
        functions { $($func:ident = $func_name:literal, $args:literal;)* }
    ) => {
        /// A tracepoint or a function of the kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        #[repr(u8)]
        pub enum Place { $($point,)* $($func,)* }

        impl Place {
            /// All of them.
            pub const ALL: &'static [Place] = &[$(Place::$point,)* $(Place::$func,)*];

            /// Its name in the kernel.
            pub fn name(self) -> &'static str {
                match self { $(Place::$point => $point_name,)* $(Place::$func => $func_name,)* }
            }

            /// Whether it is a tracepoint.
            pub(crate) fn is_tracepoint(self) -> bool {
                match self { $(Place::$point => true,)* $(Place::$func => false,)* }
            }

            /// Of a tracepoint: its group, if the machine writes its record
            /// (`SEC("tp/GROUP/NAME")`).
            pub(crate) fn record_group(self) -> Option<&'static str> {
                match self { $(Place::$point => $record,)* $(Place::$func => None,)* }
            }

            /// Arguments of a function.
            pub(crate) fn arguments(self) -> usize {
                match self { $(Place::$point => 0,)* $(Place::$func => $args,)* }
            }
        }
    };
}

const SCHED: Option<&str> = Some("sched");

places! {
    // name, group of its record; the arguments are those of its TP_PROTO()
    tracepoints {
        SchedSwitch = "sched_switch", SCHED;                // System::switch_to()
        SchedWaking = "sched_waking", SCHED;                // System::wake_up()
        SchedWakeup = "sched_wakeup", SCHED;                // System::activate()
        SchedWakeupNew = "sched_wakeup_new", SCHED;         // System::activate()
        SchedMigrateTask = "sched_migrate_task", None;      // System::migrate_to_cpu()
        TaskNewtask = "task_newtask", None;                 // Machine::arrive()
        SchedProcessFork = "sched_process_fork", None;      // Machine::arrive()
        SchedProcessExit = "sched_process_exit", None;      // Machine::take_step()
        CgroupMkdir = "cgroup_mkdir", None;                 // System::move_to_cgroup(), make_cgroup()
        CgroupRmdir = "cgroup_rmdir", None;                 // System::remove_cgroup()
        CgroupAttachTask = "cgroup_attach_task", None;      // System::move_to_cgroup()
        SkDataReady = "sk_data_ready", None;                // Sockets
        SockRecvLength = "sock_recv_length", None;          // Sockets
        SockSendLength = "sock_send_length", None;          // Sockets
    }
    // name, number of arguments
    functions {
        TryToWakeUp = "try_to_wake_up", 3;                  // System::wake_up()
        WakeUpNewTask = "wake_up_new_task", 1;              // System::wake_up_new()
        SetTaskCpu = "set_task_cpu", 2;                     // System::migrate_to_cpu()
        SchedTick = "sched_tick", 0;                        // Machine::tick()
        DoExit = "do_exit", 1;                              // Machine::take_step(), never returns
        SchedMoveTask = "sched_move_task", 2;               // System::move_to_cgroup()
        BpfScxReg = "bpf_scx_reg", 2;                       // System::enable_scheduler()
        BpfScxRegCid = "bpf_scx_reg_cid", 2;                // the same, of a scheduler in cid form
        EnqueueTaskScx = "enqueue_task_scx", 3;             // System::enqueue_task()
        DequeueTaskScx = "dequeue_task_scx", 3;             // System::dequeue_task()
        SelectTaskRqScx = "select_task_rq_scx", 3;          // System::select_task_rq_scx()
        PutPrevTaskScx = "put_prev_task_scx", 3;            // System::put_prev_any()
        SetNextTaskScx = "set_next_task_scx", 3;            // System::set_next_any()
        TaskTickScx = "task_tick_scx", 3;                   // System::task_tick()
        YieldTaskScx = "yield_task_scx", 1;                 // System::yield_task()
        SwitchingToScx = "switching_to_scx", 2;             // System::switching_to_ext()
        SwitchedFromScx = "switched_from_scx", 2;           // System::change_class()
        ScxPostFork = "scx_post_fork", 1;                   // System::fork_task()
        SchedExtDead = "sched_ext_dead", 1;                 // System::task_dead()
        ScxCgroupMoveTask = "scx_cgroup_move_task", 1;      // System::move_to_cgroup()
        CpusetWriteResmask = "cpuset_write_resmask", 4;     // System::act_on_cgroup()
    }
}

impl Place {
    /// The tracepoint or function of this name.
    pub(crate) fn of(name: &str, is_tracepoint: bool) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|at| at.name() == name && at.is_tracepoint() == is_tracepoint)
    }

    /// Whether it returns to its caller.
    pub(crate) fn returns(self) -> bool {
        self != Self::DoExit
    }
}

/// The bit of a set that is no place.
const SCHED_INFO: u64 = 1 << 63;

/// A set of places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places(u64);

impl Places {
    /// Whether this one is in the set.
    #[inline]
    pub fn has(self, at: Place) -> bool {
        self.0 >> (at as u8) & 1 == 1
    }

    /// With the account of `task_struct.sched_info`, which is kept where the machine passes such
    /// places.
    pub(crate) fn with_sched_info(self) -> Self {
        Self(self.0 | SCHED_INFO)
    }

    /// Whether that account is kept.
    #[inline]
    pub(crate) fn has_sched_info(self) -> bool {
        self.0 & SCHED_INFO != 0
    }

    /// Those of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is anything at a switch: its programs, or the account.
    #[inline]
    pub(crate) fn at_switch(self) -> bool {
        self.0 & (SCHED_INFO | 1 << (Place::SchedSwitch as u8)) != 0
    }

    /// None at all.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Place> for Places {
    fn from_iter<I: IntoIterator<Item = Place>>(places: I) -> Self {
        Self(places.into_iter().fold(0, |set, at| set | 1 << (at as u8)))
    }
}

const _: () = assert!(Place::ALL.len() <= 63);
