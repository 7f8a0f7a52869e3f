// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time: the run's own clock, CPU time of a thread, and how to use it up.

use crate::error::Result;
use crate::PAUSE_EVERY;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{clock_gettime, ClockId, Timespec};
use std::hint::black_box;
use std::sync::OnceLock;

/// Loop rounds of the calibration.
const ROUNDS: u64 = 2_000_000;
/// Closer to its end than this, a wait is not cut into parts any more.
const CLOSE_NS: u64 = 20_000;

/// Between two looks at the clock on the wall.
const CHUNK_NS: u64 = 5_000;
/// More than a chunk, a tick and the turns of other virtual CPUs.
const LEAP_NS: u64 = 60_000;

/// Time since the tasks' common start.
pub(crate) struct Clock {
    /// Start, on the monotonic clock.
    start_ns: OnceLock<u64>,
    /// Rounds of the busy loop in 1024 ns, if no other CPU is busy.
    rounds_per_1024_ns: u64,
    cpus: u64,
    /// Not to ask the kernel for CPU time while there is work to do.
    quiet: bool,
}

/// What a fork usually takes of an emulated CPU, and more than it takes where nobody else has it.
pub(crate) const FORK_NS: u64 = 50_000;
const FORK_LEAP_NS: u64 = 150_000;

impl Clock {
    /// Measures how fast this machine spins. The fair class looks whether a request is over
    /// whenever it is asked for a thread's CPU time, and preempts that thread a moment before its
    /// work is done; `quiet` asks when it has just woken up only.
    pub(crate) fn calibrated(cpus: u32, quiet: bool) -> Clock {
        let before = thread_ns();
        spin(ROUNDS);
        let took = (thread_ns() - before).max(1);
        let rounds_per_1024_ns = (ROUNDS * 1024 / took).max(1);
        Clock { start_ns: OnceLock::new(), rounds_per_1024_ns, cpus: cpus.max(1).into(), quiet }
    }

    /// Says when the tasks start; the first one who says so is right.
    pub(crate) fn set_start(&self, start_ns: u64) {
        self.start_ns.get_or_init(|| start_ns);
    }

    /// When the tasks start, on the monotonic clock.
    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns.get().copied().unwrap_or(u64::MAX)
    }

    /// Nanoseconds since the start.
    pub(crate) fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.start_ns())
    }

    pub(crate) fn sleep_until(&self, at_ns: u64) {
        sleep_until(self.start_ns().saturating_add(at_ns));
    }

    /// Busy until the calling thread has had this much CPU time.
    /// That is in `work_ns`, but for what the thread did since its last work; `woken`: it slept.
    pub(crate) fn work_until(&self, cpu_ns: u64, work_ns: u64, woken: bool) {
        match (self.quiet, woken) {
            (true, true) => self.spin_for(cpu_ns.saturating_sub(thread_ns())),
            (true, false) => self.spin_for(work_ns),
            (false, _) => self.spin_until(cpu_ns, thread_ns),
        }
    }

    /// Busy for so much CPU time, by the clock on the wall: where that leaps, others had the CPU.
    fn spin_for(&self, mut left_ns: u64) {
        let mut then_ns = monotonic_ns();
        while left_ns > 0 {
            let chunk_ns = left_ns.min(CHUNK_NS);
            spin(chunk_ns * self.rounds_per_1024_ns / 1024 / self.cpus + 1);
            // Mostly too short to have paused: without, CPUs that take turns have none for ticks.
            std::hint::spin_loop();
            let now_ns = monotonic_ns();
            let took_ns = now_ns - then_ns;
            let own_ns = if took_ns > LEAP_NS { chunk_ns / self.cpus } else { took_ns };
            left_ns = left_ns.saturating_sub(own_ns);
            then_ns = now_ns;
        }
    }

    /// How much CPU time the thread spends there, in a fork. A quiet one looks at the clock on the
    /// wall, and does not know it if others had the CPU.
    pub(crate) fn own_time_of(&self, fork: impl FnOnce() -> Result<()>) -> Result<Option<u64>> {
        let clock_ns = if self.quiet { monotonic_ns } else { thread_ns };
        let before_ns = clock_ns();
        fork()?;
        let took_ns = clock_ns() - before_ns;
        Ok(Some(took_ns).filter(|_| !self.quiet || took_ns < FORK_LEAP_NS))
    }

    /// Busy until a time of the clock.
    pub(crate) fn busy_until(&self, at_ns: u64) {
        self.spin_until(at_ns, || self.now_ns());
    }

    /// Reading a clock is a system call on many machines, so it is done seldom. Where virtual
    /// CPUs take turns, a loop lasts up to as many times longer as there are CPUs.
    fn spin_until(&self, at_ns: u64, clock_ns: impl Fn() -> u64) {
        loop {
            let left_ns = at_ns.saturating_sub(clock_ns());
            if left_ns == 0 {
                return;
            }
            let next_ns = match left_ns {
                ..=CLOSE_NS => left_ns / self.cpus,
                _ => left_ns / self.cpus - CLOSE_NS / (2 * self.cpus),
            };
            spin(next_ns * self.rounds_per_1024_ns / 1024 + 1);
        }
    }
}

/// CPU time of the calling thread.
pub fn thread_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// The monotonic clock.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Sleeps until a time of the monotonic clock.
pub fn sleep_until(at_ns: u64) {
    let at = Timespec {
        tv_sec: (at_ns / 1_000_000_000) as i64,
        tv_nsec: (at_ns % 1_000_000_000) as i64,
    };
    while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(rustix::io::Errno::INTR) {}
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn spin(rounds: u64) {
    for round in 1..=rounds {
        if black_box(round) % PAUSE_EVERY == 0 {
            std::hint::spin_loop();
        }
    }
}
