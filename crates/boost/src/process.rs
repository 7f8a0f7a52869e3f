// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `/proc` tells of threads.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use rustix::time::{clock_gettime, ClockId};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// When a thread began, in clock ticks since boot: with its id, it is the same thread.
pub fn start_time(tid: u32) -> io::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{tid}/stat"))?;
    start_time_of(&stat).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Field 22; the name in parentheses may hold anything.
fn start_time_of(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// A thread's name.
pub fn name(tid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{tid}/comm")).ok()?;
    // It may hold what would upset a terminal or a log.
    Some(name.trim_end().chars().map(|c| if c.is_control() { '?' } else { c }).collect())
}

/// The times of a thread, read again and again.
#[derive(Debug)]
pub struct Clock(File);

/// CPU time, and time waiting for a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// On a CPU.
    pub cpu_ns: u64,
    /// Waiting for one.
    pub wait_ns: u64,
}

impl Clock {
    /// Of this thread, as long as it lives.
    pub fn open(tid: u32) -> std::io::Result<Self> {
        File::open(format!("/proc/{tid}/schedstat")).map(Self)
    }

    /// The times now; `None` if the thread is gone.
    pub fn read(&self) -> Option<Times> {
        let mut buffer = [0; 80];
        let len = self.0.read_at(&mut buffer, 0).ok()?;
        times_of(std::str::from_utf8(buffer.get(..len)?).ok()?)
    }
}

fn times_of(schedstat: &str) -> Option<Times> {
    let mut words = schedstat.split_whitespace();
    let mut next = || words.next()?.parse().ok();
    Some(Times { cpu_ns: next()?, wait_ns: next()? })
}

/// More descriptors than this the daemon does not ask for.
const MOST_DESCRIPTORS: u64 = 65_536;
/// Of these, what programs, maps, files and questions take.
const OTHER_DESCRIPTORS: u64 = 256;

/// How many threads can be watched: as many descriptors as this process may have, but for those
/// that it needs itself. Raises the limit as far as that takes no privileges.
pub fn room_for_threads() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(MOST_DESCRIPTORS).min(MOST_DESCRIPTORS);
    let current = current.unwrap_or(MOST_DESCRIPTORS);
    let raised = Rlimit { current: Some(wanted), maximum };
    let may = match current < wanted && setrlimit(Resource::Nofile, raised).is_ok() {
        true => wanted,
        false => current,
    };
    may.saturating_sub(OTHER_DESCRIPTORS).max(may / 4) as usize
}

/// The clock of `bpf_ktime_get_ns()`.
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CPU time of this process.
pub fn own_cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPUs on line.
pub fn cpus() -> u32 {
    std::fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()
        .and_then(|list| cpus_of(&list))
        .unwrap_or(1)
}

/// Of `0-3,8,10-11`.
fn cpus_of(list: &str) -> Option<u32> {
    let mut count = 0u32;
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

/// TCP ports that are listened at, from `/proc/net/tcp` or `tcp6`.
pub fn listened(table: &str) -> Vec<u16> {
    let port = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (local, state) = (words.next()?, words.nth(1)?);
        let (_, port) = local.rsplit_once(':')?;
        (state == "0A").then(|| u16::from_str_radix(port, 16).ok()).flatten()
    };
    let mut ports: Vec<u16> = table.lines().filter_map(port).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_start_is_found_behind_any_name() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20";
        assert_eq!(start_time_of(&format!("12 (a) b) 9 () {rest}")), Some(777));
        assert_eq!(start_time_of("12 (a) S 1"), None);
        assert!(start_time(std::process::id()).is_ok());
    }

    #[test]
    fn listening_ports_are_found() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
            0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0\n\
            1: 0100007F:0CEA 0100007F:8D3E 01 00000000:00000000 00:00000000 00000000  0\n\
            2: 00000000000000000000000000000000:0050 0000:0000 0A 0:0\n";
        assert_eq!(listened(table), [80, 3306]);
    }

    #[test]
    fn lists_of_cpus_are_counted() {
        for (list, cpus) in [("0\n", Some(1)), ("0-3,8,10-11", Some(7)), ("", None), ("3-1", None)]
        {
            assert_eq!(cpus_of(list), cpus, "{list}");
        }
    }

    #[test]
    fn ones_own_times_can_be_read() {
        let clock = Clock::open(std::process::id()).expect("readable");
        assert!(clock.read().is_some() && times_of("12").is_none());
        assert_eq!(times_of("12 34 5\n"), Some(Times { cpu_ns: 12, wait_ns: 34 }));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = (start_time_of(&text), times_of(&text), cpus_of(&text), listened(&text));
        }
    }
}
