// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the recorder's programs take of a call that moves bytes.
//!
//! Such calls come by the million a second, so this counts: it is measured when a recording begins, on
//! a pipe of the recorder itself, and can be taken off what was recorded.

use super::taken;
use libbpf_rs::{MapCore, MapFlags, Object};
use rustix::pipe::pipe;
use std::time::{Duration, Instant};

/// A task that sends to many takes turns, as on these pipes …
const PIPES: usize = 16;
/// … with so many bytes each, one by one: they have room in a pipe of a single page.
const BYTES: u32 = 128;
/// The median of so many times counts.
const ROUNDS: usize = 9;

/// What a call takes, in nanoseconds, before the programs are there.
pub(crate) struct Plain(u64);

/// What is paid for each call besides the time of the programs themselves: for getting to them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around {
    ns: u64,
    /// The programs' own time then, on pipes of the recorder.
    own_ns: u64,
    /// What was counted before the recording: calls of the recorder, at their best.
    before: Spent,
}

/// What the programs have counted.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    calls: u64,
    ns: u64,
    /// Calls that moved nothing, and paid for getting to the programs all the same.
    others: u64,
}

impl Plain {
    pub(crate) fn measure() -> Self {
        Self(everywhere_ns().unwrap_or(0))
    }

    /// How much more is paid now that the programs are there, without their own time.
    pub(crate) fn around(&self, object: &Object) -> Around {
        let map = object.maps().find(|map| map.name() == "measuring");
        let Some(map) = map.filter(|_| self.0 > 0) else { return Around::default() };
        let zero = 0u32.to_ne_bytes();
        let set = |on: u32| map.update(&zero, &on.to_ne_bytes(), MapFlags::ANY).is_ok();
        if !set(1) {
            return Around::default();
        }
        let before = Spent::so_far(object);
        let found = everywhere_ns();
        set(0);
        let after = Spent::so_far(object);
        let own_ns = after.per_call_since(before);
        Around { ns: found.unwrap_or(0).saturating_sub(self.0 + own_ns), own_ns, before: after }
    }
}

impl Around {
    /// What the programs have cost for each call that moved bytes, in nanoseconds: with what was paid
    /// for those that moved none, if they were looked at, too.
    pub(crate) fn per_call_ns(self, object: &Object) -> u64 {
        self.per_call_of(Spent::so_far(object))
    }

    /// Where caches are not the recorder's own, the programs take longer than it saw them take. So does
    /// getting to them, as far as is known: in the same proportion.
    fn per_call_of(self, spent: Spent) -> u64 {
        let calls = spent.calls - self.before.calls;
        let others = spent.others - self.before.others;
        let own_ns = spent.per_call_since(self.before);
        let around_ns = match self.own_ns {
            0 => self.ns,
            at_first_ns => self.ns * own_ns.max(at_first_ns) / at_first_ns,
        };
        own_ns + around_ns * (calls + others) / calls.max(1)
    }
}

impl Spent {
    /// On all CPUs.
    fn so_far(object: &Object) -> Self {
        let [calls, ns, others] = taken::on_all_cpus(object, "spent", 0);
        Self { calls, ns, others }
    }

    fn per_call_since(self, before: Self) -> u64 {
        (self.ns - before.ns) / (self.calls - before.calls).max(1)
    }
}

/// The median of as many threads at once as there are CPUs: what CPUs share makes calls slower where
/// all of them are busy, as they are where such calls matter. What the programs keep of a thread goes
/// with it.
fn everywhere_ns() -> Option<u64> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let running: Vec<_> = (0..threads).map(|_| std::thread::spawn(per_call_ns)).collect();
    let found: Option<Vec<u64>> = running.into_iter().map(|one| one.join().ok()?).collect();
    let mut found = found?;
    found.sort_unstable();
    found.get(found.len() / 2).copied()
}

fn per_call_ns() -> Option<u64> {
    let pipes: Result<Vec<_>, _> = (0..PIPES).map(|_| pipe()).collect();
    let pipes = pipes.ok()?;
    let round = || -> Option<Duration> {
        let begin = Instant::now();
        for _ in 0..BYTES {
            for (_, writer) in &pipes {
                rustix::io::write(writer, &[0]).ok()?;
            }
        }
        for (reader, _) in &pipes {
            for _ in 0..BYTES {
                rustix::io::read(reader, &mut [0u8]).ok()?;
            }
        }
        Some(begin.elapsed())
    };
    let rounds: Option<Vec<Duration>> = (0..ROUNDS).map(|_| round()).collect();
    let mut rounds = rounds?;
    rounds.sort_unstable();
    let calls = 2 * PIPES as u64 * u64::from(BYTES);
    Some(rounds[ROUNDS / 2].as_nanos() as u64 / calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_recorder_itself_do_not_count() {
        let before = Spent { calls: 1000, ns: 20_000, others: 0 };
        let around = Around { ns: 100, own_ns: 80, before };
        // 10 calls took 800 ns, and 20 others came to the programs as well: 80 + 100 * 30 / 10.
        let spent = Spent { calls: 1010, ns: 20_800, others: 20 };
        assert_eq!(around.per_call_of(spent), 380);
        // Twice as slow as at first are the programs, and what is around them: 160 + 200 * 30 / 10.
        let spent = Spent { calls: 1010, ns: 21_600, others: 20 };
        assert_eq!(around.per_call_of(spent), 760);
        // Faster than at first is no reason to think that less is paid for getting there: 40 + 100.
        let spent = Spent { calls: 1010, ns: 20_400, others: 0 };
        assert_eq!(around.per_call_of(spent), 140);
        // Nothing moved: what is taken off nothing does not matter, but is a number.
        assert_eq!(around.per_call_of(before), 0);
    }
}
