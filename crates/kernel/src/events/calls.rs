// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls by number, as this computer has them.

use std::collections::BTreeMap;
use std::sync::Arc;
use syscalls::Sysno;

/// Words of the bitmap of calls (`CALL_WORDS` in `bpf/record_tasks.bpf.h`).
const WORDS: usize = 64;

/// Calls that can send to a socket of this computer, and so wake its receiver from a softirq.
/// `accept` and `recvfrom` are among them for the acknowledgement and the window that they send.
const SENDS: [Sysno; 16] = [
    Sysno::write,
    Sysno::writev,
    Sysno::pwritev2,
    Sysno::sendto,
    Sysno::sendmsg,
    Sysno::sendmmsg,
    Sysno::sendfile,
    Sysno::splice,
    Sysno::close,
    Sysno::shutdown,
    Sysno::connect,
    Sysno::accept4,
    Sysno::recvfrom,
    Sysno::recvmsg,
    Sysno::exit_group,
    Sysno::io_uring_enter,
];

/// Its second argument says whether it sleeps until a time.
pub(crate) const SLEEP: Sysno = Sysno::clock_nanosleep;

/// Those that move bytes through a pipe.
pub(crate) const READ: Sysno = Sysno::read;
pub(crate) const READV: Sysno = Sysno::readv;
pub(crate) const WRITE: Sysno = Sysno::write;
pub(crate) const WRITEV: Sysno = Sysno::writev;
/// After it a file's number may be another's.
pub(crate) const CLOSE: Sysno = Sysno::close;

/// Calls that yield, or ask whether something has come. A task that leaves its CPU in one of them and
/// can go on does not wait.
const SPINS: [&str; 8] = [
    "sched_yield",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
];

/// Whether a task that can go on spins in this call.
pub(crate) fn spins(call: u32) -> bool {
    Sysno::new(call as usize).is_some_and(|call| SPINS.contains(&call.name()))
}

/// The calls that send, one bit for each number.
pub(crate) fn sends() -> [u32; WORDS] {
    let mut words = [0; WORDS];
    for call in SENDS {
        let number = call.id() as usize;
        words[number / 32] |= 1 << (number % 32);
    }
    words
}

/// Names of calls, each made once.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<u32, Arc<str>>);

impl Names {
    /// The name of a call; empty for `None`.
    pub(crate) fn of(&mut self, call: Option<u32>) -> Arc<str> {
        let key = call.unwrap_or(u32::MAX);
        let name = || match call {
            None => "".into(),
            Some(number) => match Sysno::new(number as usize) {
                Some(call) => call.name().into(),
                None => format!("call {number}").into(),
            },
        };
        self.0.entry(key).or_insert_with(name).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_names_that_manuals_have() {
        let mut names = Names::default();
        assert_eq!(&*names.of(Some(Sysno::futex.id() as u32)), "futex");
        assert_eq!(&*names.of(Some(2000)), "call 2000");
        assert_eq!(&*names.of(None), "");
    }

    #[test]
    fn each_call_that_sends_has_one_bit() {
        let bits: u32 = sends().iter().map(|word| word.count_ones()).sum();
        assert_eq!(bits as usize, SENDS.len());
    }
}
