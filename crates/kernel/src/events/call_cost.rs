// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the recorder's programs take of a call that moves bytes.
//!
//! Such calls come by the million a second, so this counts, and can be taken off what was recorded. The
//! programs measure themselves. What it takes to get to them is measured when a recording begins, on
//! pipes of the recorder itself; how long they take at local sockets at best, too.

use super::taken;
use libbpf_rs::{MapCore, MapFlags, Object};
use rustix::pipe::pipe;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A task that sends to many takes turns, as on so many pipes or sockets …
const PAIRS: usize = 16;
/// … with so many bytes each, one by one: they have room in a pipe of a single page.
const BYTES: u32 = 128;
/// How often each thread measures: a quarter of all times is shorter than what counts. Others were
/// interrupted, or shared their CPU.
const ROUNDS: usize = 15;
/// All kinds: `enum stream_kind` of bpf/record_transfers.bpf.h.
const KINDS: u32 = 3;
/// Fewer calls say nothing of how caches are among the recorded tasks …
const TELLING_CALLS: u64 = 1000;
/// … and those do not make a call slower than so many times.
const MOST_SLOWER: u64 = 2;

/// What a call takes, in nanoseconds, before the programs are there.
pub(crate) struct Plain(u64);

/// What is paid for each call besides the time of the programs themselves: for getting to them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around {
    ns: u64,
    /// The programs' own time then, at pipes and at local sockets of the recorder.
    own_ns: [u64; 2],
    /// What was counted before the recording: calls of the recorder, at their best.
    before: Spent,
}

/// What the programs have counted, by kind.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    calls: [u64; KINDS as usize],
    ns: [u64; KINDS as usize],
    /// Calls that moved nothing, and paid for getting to the programs all the same.
    others: u64,
}

impl Plain {
    pub(crate) fn measure() -> Self {
        Self(at_pipes_ns().unwrap_or(0))
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
        let earlier = Spent::so_far(object);
        let found = at_pipes_ns().unwrap_or(0);
        in_all_threads(local_sockets);
        set(0);
        let before = Spent::so_far(object);
        let own = before.since(&earlier);
        let own_ns = [0, 1].map(|kind| own.ns[kind] / own.calls[kind].max(1));
        Around { ns: found.saturating_sub(self.0 + own_ns[0]), own_ns, before }
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
        let Spent { calls, ns, others } = spent.since(&self.before);
        let at_first_ns = calls[0] * self.own_ns[0] + calls[1] * self.own_ns[1];
        let own_ns = ns[0] + ns[1];
        let moved = calls.iter().sum::<u64>();
        let mut around_ns = (moved + others) * self.ns;
        if calls[0] + calls[1] >= TELLING_CALLS && at_first_ns > 0 {
            let own_ns = own_ns.clamp(at_first_ns, MOST_SLOWER * at_first_ns);
            around_ns =
                (u128::from(around_ns) * u128::from(own_ns) / u128::from(at_first_ns)) as u64;
        }
        (own_ns + ns[2] + around_ns) / moved.max(1)
    }
}

impl Spent {
    /// On all CPUs.
    fn so_far(object: &Object) -> Self {
        let mut all = Self::default();
        for kind in 0..KINDS {
            let [calls, ns, others] = taken::on_all_cpus(object, "spent", kind);
            (all.calls[kind as usize], all.ns[kind as usize]) = (calls, ns);
            all.others += others;
        }
        all
    }

    fn since(&self, before: &Self) -> Self {
        let less = |now: &[u64; 3], then: &[u64; 3]| [0, 1, 2].map(|kind| now[kind] - then[kind]);
        Self {
            calls: less(&self.calls, &before.calls),
            ns: less(&self.ns, &before.ns),
            others: self.others - before.others,
        }
    }
}

fn at_pipes_ns() -> Option<u64> {
    in_all_threads(|| pipe().ok())
}

fn local_sockets() -> Option<(OwnedFd, OwnedFd)> {
    let (reader, writer) = UnixStream::pair().ok()?;
    Some((reader.into(), writer.into()))
}

/// In as many threads at once as there are CPUs: what CPUs share makes calls slower where all of them
/// are busy, as they are where such calls matter. What the programs keep of a thread goes with it.
fn in_all_threads(pair: fn() -> Option<(OwnedFd, OwnedFd)>) -> Option<u64> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let running: Vec<_> = (0..threads).map(|_| std::thread::spawn(move || rounds(pair))).collect();
    let found: Option<Vec<Vec<Duration>>> =
        running.into_iter().map(|one| one.join().ok()?).collect();
    let mut found: Vec<Duration> = found?.into_iter().flatten().collect();
    found.sort_unstable();
    let calls = 2 * PAIRS as u64 * u64::from(BYTES);
    found.get(found.len() / 4).map(|time| time.as_nanos() as u64 / calls)
}

fn rounds(pair: fn() -> Option<(OwnedFd, OwnedFd)>) -> Option<Vec<Duration>> {
    let pairs: Option<Vec<_>> = (0..PAIRS).map(|_| pair()).collect();
    let pairs = pairs?;
    let round = || -> Option<Duration> {
        let begin = Instant::now();
        for _ in 0..BYTES {
            for (_, writer) in &pairs {
                rustix::io::write(writer, &[0]).ok()?;
            }
        }
        for (reader, _) in &pairs {
            for _ in 0..BYTES {
                rustix::io::read(reader, &mut [0u8]).ok()?;
            }
        }
        Some(begin.elapsed())
    };
    (0..ROUNDS).map(|_| round()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Spent = Spent { calls: [1000, 500, 0], ns: [20_000, 50_000, 0], others: 0 };
    const AROUND: Around = Around { ns: 100, own_ns: [80, 200], before: BEFORE };

    /// After so many more calls, which took so long, and others that moved nothing.
    fn after(calls: [u64; 3], ns: [u64; 3], others: u64) -> u64 {
        let more = |before: [u64; 3], more: [u64; 3]| [0, 1, 2].map(|at| before[at] + more[at]);
        let spent = Spent { calls: more(BEFORE.calls, calls), ns: more(BEFORE.ns, ns), others };
        AROUND.per_call_of(spent)
    }

    #[test]
    fn calls_of_the_recorder_itself_do_not_count() {
        // 10 calls took 800 ns, and 20 others came to the programs as well: 80 + 100 * 30 / 10.
        assert_eq!(after([10, 0, 0], [800, 0, 0], 20), 380);
        // At sockets: 250 + 100.
        assert_eq!(after([0, 0, 4], [0, 0, 1000], 0), 350);
        // Nothing moved: what is taken off nothing does not matter, but is a number.
        assert_eq!(after([0; 3], [0; 3], 0), 0);
    }

    #[test]
    fn getting_to_programs_that_run_slower_is_as_much_slower() {
        // 1.5 times what they took at first: 120 + 150 at pipes, 300 + 150 at local sockets.
        assert_eq!(after([1000, 0, 0], [120_000, 0, 0], 0), 270);
        assert_eq!(after([0, 1000, 0], [0, 300_000, 0], 0), 450);
        // No faster, and no more than twice as slow: 40 + 100, and 800 + 200.
        assert_eq!(after([1000, 0, 0], [40_000, 0, 0], 0), 140);
        assert_eq!(after([1000, 0, 0], [800_000, 0, 0], 0), 1000);
        // Too few calls to tell, and calls over a network, which nothing is known of: 160 + 100, 900 + 100.
        assert_eq!(after([10, 0, 0], [1_600, 0, 0], 0), 260);
        assert_eq!(after([0, 0, 1000], [0, 0, 900_000], 0), 1000);
    }
}
