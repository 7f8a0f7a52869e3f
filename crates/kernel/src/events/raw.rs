// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records as the BPF programs write them (`bpf/record.bpf.h`).

use super::calls;
use rota_trace::{FairKind, Policy, StreamKind, Transfer, WakeSource};

/// Size of a plain record.
const PLAIN: usize = 32;
/// Offset and size of a task's name in its record.
const COMM: (usize, usize) = (40, 16);
/// Offset of how a task is set to be scheduled.
const SETTINGS: usize = 56;
/// Offsets and sizes of the texts of a policy's end.
const REASON: (usize, usize) = (32, 64);
const MESSAGE: (usize, usize) = (96, 160);
/// Flag of a transfer.
const IS_PUT: u16 = 1;

const OFF_SLEEP: u16 = 1;
const OFF_EXIT: u16 = 2;
const NEW_SLICE: u16 = 4;
const IDLES: u16 = 8;
const OFF_DEEP: u16 = 16;
const OFF_CALL_SHIFT: u16 = 5;
const OFF_CALL_MASK: u16 = 0x3ff;
const OFF_UNTIL: u16 = 0x8000;

const BY_TIMER: u16 = 1;
const BY_INTERRUPT: u16 = 2;

const IS_KTHREAD: u16 = 1;
const WAS_RUNNING: u16 = 2;
const WAS_RUNNABLE: u16 = 4;
const WAS_SLEEPING: u16 = 8;

/// What happened, when and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// On the clock of `bpf_ktime_get_ns()`, `CLOCK_MONOTONIC`.
    pub(crate) time_ns: u64,
    pub(crate) cpu: u32,
    pub(crate) what: What,
}

/// Why the previous task of a switch left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Runnable,
    /// As that, in this system call, which yields or asks.
    Spins(u32),
    /// In this system call, if it is in one; `deep`: uninterruptibly; `until`: until a time.
    Sleep {
        call: Option<u32>,
        deep: bool,
        until: bool,
    },
    Exit,
}

/// What a task did when the recording began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Was {
    Running,
    Runnable,
    Sleeping,
}

/// A task's properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Properties {
    pub(crate) pid: u32,
    pub(crate) process: u32,
    pub(crate) name: String,
    pub(crate) weight: u32,
    pub(crate) kernel_thread: bool,
    /// CPUs that it may use, of the first 64, and how many of all.
    pub(crate) cpus: u64,
    pub(crate) nr_cpus_allowed: u32,
    pub(crate) policy: Policy,
    /// Number of its session.
    pub(crate) session: u32,
    /// Inode number of its cgroup; 0: it shares with its session.
    pub(crate) group: u64,
    /// Only when the recording begins.
    pub(crate) was: Option<Was>,
}

/// The kinds of record. A task 0 is the idle task, or one that is not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Switch { prev: u32, left: Left, next: u32, new_slice: bool, idles: bool, slice_ns: u64 },
    Wakeup { pid: u32, waker: u32, source: Option<WakeSource> },
    Fork { pid: u32, parent: u32 },
    Exit { pid: u32 },
    Pick { pid: u32, slice_ns: u64 },
    Enqueue { pid: u32, flags: u64 },
    Dispatch { pid: u32, dsq: u64 },
    Op { pid: u32, op: u32, ns: u64 },
    Task(Box<Properties>),
    PolicyExit { kind: u32, code: i64, reason: String },
    Transfer(Box<Transfer>),
}

impl Record {
    /// Decodes a record; `None` if it is none of ours.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Record> {
        let head: &[u8; PLAIN] = bytes.get(..PLAIN)?.try_into().ok()?;
        let word =
            |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let long = |at: usize| {
            let (low, high) = (u64::from(word(at)), u64::from(word(at + 4)));
            if cfg!(target_endian = "little") {
                low | high << 32
            } else {
                high | low << 32
            }
        };
        let (kind, flags) =
            (u16::from_ne_bytes([head[8], head[9]]), u16::from_ne_bytes([head[10], head[11]]));
        let (a, b, c) = (word(16), word(20), long(24));
        let what = match kind {
            1 => What::Switch {
                prev: a,
                left: left(flags),
                next: b,
                new_slice: flags & NEW_SLICE != 0,
                idles: flags & IDLES != 0,
                slice_ns: c,
            },
            2 => What::Wakeup {
                pid: a,
                waker: b,
                source: match flags {
                    f if f & BY_TIMER != 0 => Some(WakeSource::Timer),
                    f if f & BY_INTERRUPT != 0 => Some(WakeSource::Device),
                    _ => None,
                },
            },
            3 => What::Fork { pid: a, parent: b },
            4 => What::Exit { pid: a },
            5 => What::Pick { pid: a, slice_ns: c },
            6 => What::Enqueue { pid: a, flags: c },
            7 => What::Dispatch { pid: a, dsq: c },
            8 => What::Op { pid: a, op: b, ns: c },
            9 => What::Task(properties(bytes, flags, a, b, c)?.into()),
            11 => What::Transfer(transfer(bytes, flags, a, b, c, long(0))?.into()),
            10 => What::PolicyExit { kind: a, code: c as i64, reason: reason(bytes)? },
            _ => return None,
        };
        Some(Record { time_ns: long(0), cpu: word(12), what })
    }
}

/// Why the previous task left.
fn left(flags: u16) -> Left {
    let call = u32::from(flags >> OFF_CALL_SHIFT & OFF_CALL_MASK).checked_sub(1);
    match flags {
        f if f & OFF_EXIT != 0 => Left::Exit,
        f if f & OFF_SLEEP != 0 => {
            Left::Sleep { call, deep: f & OFF_DEEP != 0, until: f & OFF_UNTIL != 0 }
        }
        _ => call.filter(|call| calls::spins(*call)).map_or(Left::Runnable, Left::Spins),
    }
}

/// Of what the kernel calls `SCHED_*` (`include/uapi/linux/sched.h`); one that is not known here is
/// an ordinary one.
fn policy(number: u16, priority: i16, times: [u64; 3]) -> Policy {
    let [runtime_ns, deadline_ns, period_ns] = times;
    let realtime = |round_robin| {
        let priority = u32::from(priority.unsigned_abs());
        Policy::Realtime { round_robin, priority }
    };
    let fair = |kind| {
        let slice_ns = (runtime_ns > 0).then_some(runtime_ns);
        Policy::Fair { kind, nice: priority.into(), slice_ns }
    };
    match number {
        1 => realtime(false),
        2 => realtime(true),
        3 => fair(FairKind::Batch),
        5 => fair(FairKind::Idle),
        6 => Policy::Deadline { runtime_ns, deadline_ns, period_ns },
        7 => fair(FairKind::Ext),
        _ => fair(FairKind::Other),
    }
}

fn properties(bytes: &[u8], flags: u16, pid: u32, process: u32, cpus: u64) -> Option<Properties> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let half = |at: usize| <[u8; 2]>::try_from(bytes.get(at..at + 2)?).ok();
    let times = [long(SETTINGS + 8)?, long(SETTINGS + 16)?, long(SETTINGS + 24)?];
    let number = u16::from_ne_bytes(half(SETTINGS + 36)?);
    Some(Properties {
        pid,
        process,
        name: text(bytes, COMM)?,
        weight: word(PLAIN)?,
        kernel_thread: flags & IS_KTHREAD != 0,
        cpus,
        nr_cpus_allowed: word(PLAIN + 4)?,
        policy: policy(number, i16::from_ne_bytes(half(SETTINGS + 38)?), times),
        session: word(SETTINGS + 32)?,
        group: long(SETTINGS)?,
        was: match flags {
            f if f & WAS_RUNNING != 0 => Some(Was::Running),
            f if f & WAS_RUNNABLE != 0 => Some(Was::Runnable),
            f if f & WAS_SLEEPING != 0 => Some(Was::Sleeping),
            _ => None,
        },
    })
}

/// The stream's number is still the kernel's own.
fn transfer(
    bytes: &[u8],
    flags: u16,
    pid: u32,
    calls: u32,
    stream: u64,
    now_ns: u64,
) -> Option<Transfer> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    Some(Transfer {
        pid,
        stream,
        kind: match word(PLAIN + 28)? {
            0 => StreamKind::Pipe,
            1 => StreamKind::Unix,
            2 => StreamKind::Tcp,
            _ => return None,
        },
        puts: flags & IS_PUT != 0,
        bytes: long(PLAIN + 16)?,
        calls,
        first_ago_ns: now_ns.saturating_sub(long(PLAIN)?),
        last_ago_ns: now_ns.saturating_sub(long(PLAIN + 8)?),
        buffer: word(PLAIN + 24)?.into(),
    })
}

/// As the kernel prints it: the kind in words, details in parentheses.
fn reason(bytes: &[u8]) -> Option<String> {
    let (reason, message) = (text(bytes, REASON)?, text(bytes, MESSAGE)?);
    Some(if message.is_empty() { reason } else { format!("{reason} ({message})") })
}

/// A text that ends with a zero byte; what is no UTF-8 is replaced.
fn text(bytes: &[u8], (at, len): (usize, usize)) -> Option<String> {
    let field = bytes.get(at..at + len)?;
    let end = field.iter().position(|b| *b == 0).unwrap_or(len);
    Some(String::from_utf8_lossy(&field[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use syscalls::Sysno;

    fn plain(kind: u16, flags: u16, a: u32, b: u32, c: u64) -> Vec<u8> {
        let mut bytes = 7u64.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        for word in [3, a, b] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(c.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_switch_tells_why_the_old_task_left() {
        for (flags, left, new_slice, idles) in [
            (0, Left::Runnable, false, false),
            (5, Left::Sleep { call: None, deep: false, until: false }, true, false),
            // OFF_SLEEP, OFF_DEEP and call 202, which is 203 << 5.
            (
                1 | 16 | 203 << 5,
                Left::Sleep { call: Some(202), deep: true, until: false },
                false,
                false,
            ),
            // OFF_UNTIL, in call 230.
            (
                1 | 231 << 5 | 0x8000,
                Left::Sleep { call: Some(230), deep: false, until: true },
                false,
                false,
            ),
            (
                (Sysno::sched_yield.id() as u16 + 1) << 5,
                Left::Spins(Sysno::sched_yield.id() as u32),
                false,
                false,
            ),
            // In a call that does not ask.
            ((Sysno::getpid.id() as u16 + 1) << 5, Left::Runnable, false, false),
            (2, Left::Exit, false, false),
            (8, Left::Runnable, false, true),
        ] {
            let record = Record::decode(&plain(1, flags, 8, 9, 1 << 40)).expect("a record");
            let what = What::Switch { prev: 8, left, next: 9, new_slice, idles, slice_ns: 1 << 40 };
            assert_eq!(record, Record { time_ns: 7, cpu: 3, what });
        }
    }

    #[test]
    fn a_task_has_its_name_up_to_the_first_zero() {
        let mut bytes = plain(9, IS_KTHREAD | WAS_RUNNABLE, 8, 9, 0b101);
        bytes.extend(100u32.to_ne_bytes());
        bytes.extend(2u32.to_ne_bytes());
        bytes.extend(b"kworker/0:1\0ABC\0");
        for long in [77u64, 3_000_000, 0, 0] {
            bytes.extend(long.to_ne_bytes());
        }
        bytes.extend(12u32.to_ne_bytes());
        bytes.extend(3u16.to_ne_bytes());
        bytes.extend((-5i16).to_ne_bytes());
        let what = What::Task(Box::new(Properties {
            pid: 8,
            process: 9,
            name: "kworker/0:1".into(),
            weight: 100,
            kernel_thread: true,
            cpus: 0b101,
            nr_cpus_allowed: 2,
            policy: Policy::Fair { kind: FairKind::Batch, nice: -5, slice_ns: Some(3_000_000) },
            session: 12,
            group: 77,
            was: Some(Was::Runnable),
        }));
        assert_eq!(Record::decode(&bytes).map(|r| r.what), Some(what));
    }

    #[test]
    fn policies_have_the_kernels_numbers() {
        let of = |number, priority| policy(number, priority, [4, 5, 6]);
        let fair = |kind, nice| Policy::Fair { kind, nice, slice_ns: Some(4) };
        assert_eq!(of(0, 5), fair(FairKind::Other, 5));
        assert_eq!(of(1, 50), Policy::Realtime { round_robin: false, priority: 50 });
        assert_eq!(of(2, 99), Policy::Realtime { round_robin: true, priority: 99 });
        assert_eq!(of(3, -20), fair(FairKind::Batch, -20));
        assert_eq!(of(5, 19), fair(FairKind::Idle, 19));
        let deadline = Policy::Deadline { runtime_ns: 4, deadline_ns: 5, period_ns: 6 };
        assert_eq!(of(6, 0), deadline);
        assert_eq!(of(7, 0), fair(FairKind::Ext, 0));
        let none = Policy::Fair { kind: FairKind::Other, nice: 0, slice_ns: None };
        assert_eq!(policy(0, 0, [0; 3]), none);
    }

    #[test]
    fn a_policys_end_reads_as_the_kernel_prints_it() {
        let mut bytes = plain(10, 0, 1026, 0, 0);
        let mut field = |text: &str, len: usize| {
            bytes.extend(text.as_bytes());
            bytes.resize(bytes.len() + len - text.len(), 0);
        };
        field("runnable task stall", 64);
        field("a[3] failed to run", 160);
        let reason = "runnable task stall (a[3] failed to run)".to_string();
        let what = What::PolicyExit { kind: 1026, code: 0, reason };
        assert_eq!(Record::decode(&bytes).map(|r| r.what), Some(what));
    }

    #[test]
    fn a_transfer_counts_back_from_its_own_time() {
        let mut bytes = plain(11, IS_PUT, 8, 5, 77);
        for long in [2u64, 6, 500] {
            bytes.extend(long.to_ne_bytes());
        }
        for word in [65536u32, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        // It is told at 7.
        let transfer = Transfer {
            pid: 8,
            stream: 77,
            kind: StreamKind::Pipe,
            puts: true,
            bytes: 500,
            calls: 5,
            first_ago_ns: 5,
            last_ago_ns: 1,
            buffer: 65536,
        };
        let what = What::Transfer(Box::new(transfer));
        assert_eq!(Record::decode(&bytes).map(|r| r.what), Some(what));
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Record::decode(&bytes);
        }

        #[test]
        fn a_cut_record_is_refused(kind in 1u16..=11, len in 0usize..PLAIN) {
            prop_assert_eq!(Record::decode(&plain(kind, 0, 1, 2, 3)[..len]), None);
        }
    }
}
