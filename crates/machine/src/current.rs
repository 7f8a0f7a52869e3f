// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process that `current` is while the kernel acts for something that is no task of the
//! workload: a loader or a shell, or one of the kernel's own threads.

use crate::guest::Guest;
use crate::layout::ABSENT;
use crate::system::System;
use crate::task::Tid;
use crate::tasks::LOADER_PID;

/// A thread of the kernel that no CPU runs in the machine, and that programs can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thread {
    /// Parent of all others.
    Kthreadd,
    /// `scx_enable()` attaches a scheduler on it.
    EnableHelper,
    /// `sch->helper`, which takes it away.
    Helper,
    /// Of a CPU that comes or goes.
    Hotplug(u32),
    /// `css_killed_work_fn()` runs there.
    Worker,
}

impl Thread {
    /// Pid and name, of which a `task_struct` has 15 bytes.
    fn identity(self) -> (u32, String) {
        match self {
            Self::Kthreadd => (2, "kthreadd".into()),
            Self::Worker => (11, "kworker/0:1".into()),
            Self::EnableHelper => (12, "scx_enable_help".into()),
            Self::Helper => (13, "sched_ext_helpe".into()),
            Self::Hotplug(cpu) => (14, format!("cpuhp/{cpu}")),
        }
    }
}

/// Those that a machine has, by pid.
pub(crate) type Threads = Vec<(u32, u64)>;

impl Guest {
    /// The `task_struct` of a thread of the kernel.
    pub(crate) fn thread(&mut self, thread: Thread) -> u64 {
        let (pid, name) = thread.identity();
        let known = self.scratch.threads.iter().find(|(known, _)| *known == pid);
        let task = match known {
            Some((_, task)) => *task,
            None => {
                let task = self.mem.alloc_kernel(self.layouts.task_shape);
                self.scratch.threads.push((pid, task));
                let layout = self.layouts.task.clone();
                self.put_u32(task, layout.pid, pid);
                self.put_u32(task, layout.tgid, pid);
                self.put_u32(task, layout.flags, crate::consts::PF_KTHREAD);
                self.put_u32(task, layout.state, 1); // TASK_INTERRUPTIBLE
                task
            }
        };
        let comm = self.layouts.task.comm;
        if comm != ABSENT {
            self.write_text(task + u64::from(comm), &name, 16);
        }
        task
    }

    /// The process that starts the workload and the scheduler, and does what happens from outside.
    pub(crate) fn fill_loader(&mut self) {
        let (task, layout) = (self.scratch.loader, self.layouts.task.clone());
        self.put_u32(task, layout.pid, LOADER_PID);
        self.put_u32(task, layout.tgid, LOADER_PID);
        if layout.comm != ABSENT {
            self.write_text(task + u64::from(layout.comm), "loader", 16);
        }
    }
}

impl System {
    /// Acts while this is the current task.
    pub(crate) fn with_current<R>(&mut self, current: u64, act: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.running.current, current);
        let result = act(self);
        self.running.current = outer;
        result
    }

    /// Acts as the process that loads the scheduler, or another one that is none of the workload.
    pub fn as_outsider<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        self.with_current(self.guest.scratch.loader, act)
    }

    /// As [`System::as_outsider`], on this CPU.
    pub fn as_outsider_on<R>(&mut self, cpu: u32, act: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.running.this_cpu, cpu);
        let result = self.as_outsider(act);
        self.running.this_cpu = before;
        result
    }

    /// Acts as a thread of the kernel.
    pub(crate) fn as_thread<R>(&mut self, thread: Thread, act: impl FnOnce(&mut Self) -> R) -> R {
        let current = self.guest.thread(thread);
        self.with_current(current, act)
    }

    /// Acts as `rq->curr`: in an interrupt, or once a thread has left its CPU.
    pub(crate) fn as_curr<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        self.with_current(0, act)
    }

    /// Acts as the parent of a new task. Tasks that start by themselves are forked by the process
    /// that starts the workload, and kernel threads by `kthreadd`.
    pub(crate) fn as_parent<R>(
        &mut self,
        child: Tid,
        parent: Option<Tid>,
        act: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let current = self.parent_addr(child, parent);
        self.with_current(current, act)
    }

    pub(crate) fn parent_addr(&mut self, child: Tid, parent: Option<Tid>) -> u64 {
        match parent {
            _ if self.task(child).identity.kthread => self.guest.thread(Thread::Kthreadd),
            Some(parent) => self.task(parent).addr,
            None => self.guest.scratch.loader,
        }
    }
}
