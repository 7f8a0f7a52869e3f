// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the BPF programs write, as `bpf/boost.bpf.h` lays it out.

use crate::table::Family;

/// Sizes there.
pub(crate) const EVENT: usize = 48;
pub(crate) const WORKER: usize = 104;
/// Threads are kept by the last bits of their ids.
pub(crate) const WORKERS: u32 = 1 << 16;

/// Why a thread is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It received from a customer.
    Request,
    /// A thread of its process that did has woken it.
    HandedOn,
    /// It got an answer.
    Answer,
    /// It answered what another thread has received.
    AnswersFor,
}

/// Something happened to a thread that is not boosted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// On the monotonic clock.
    pub time_ns: u64,
    /// What.
    pub kind: Kind,
    /// Through which kind of socket.
    pub family: Family,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its user; in user namespaces, whoever made the outermost one.
    pub uid: u32,
    /// To who sent: bits of [`crate::customers`].
    pub relation: u32,
    /// Process that sent, or thread that has received the request; 0 if unknown.
    pub peer: u32,
    /// The autogroup in which the thread competes now; 0 for none.
    pub autogroup: u32,
}

/// What is known of a thread that receives from customers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worker {
    /// When it last received.
    pub recv_ns: u64,
    /// When it last sent.
    pub send_ns: u64,
    /// When it was last woken to help, or answered for another thread.
    pub helped_ns: u64,
    /// Sockets that wait for an answer.
    pub open: u32,
    /// Counts how often `open` was forgotten.
    pub generation: u32,
    /// Whom it helps.
    pub via: u32,
    /// Requests answered.
    pub answers: u32,
    /// Since when something is open.
    pub opened_ns: u64,
    /// How long something was open before that, without waits for a CPU.
    pub served_ns: u64,
    /// The thread; 0 for nobody.
    pub tid: u32,
    /// Tasks that wanted its CPU when it last received, itself included; 0 if unknown.
    pub running: u32,
    /// How long it had waited for a CPU when that was opened.
    pub opened_wait_ns: u64,
    /// When it last got an answer.
    pub answer_ns: u64,
    /// The last thread here that ended.
    pub ended_tid: u32,
    /// Its CPU time up to its last tick.
    pub ended_cpu_ns: u64,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl Event {
    /// Decodes an event; `None` if it is none of ours.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < EVENT {
            return None;
        }
        Some(Self {
            time_ns: long(bytes, 0)?,
            kind: match word(bytes, 8)? {
                1 => Kind::Request,
                2 => Kind::HandedOn,
                3 => Kind::Answer,
                4 => Kind::AnswersFor,
                _ => return None,
            },
            family: match word(bytes, 12)? {
                0 => Family::Unix,
                1 => Family::Network,
                _ => return None,
            },
            tid: word(bytes, 16)?,
            tgid: word(bytes, 20)?,
            uid: word(bytes, 24)?,
            relation: word(bytes, 28)?,
            peer: word(bytes, 32)?,
            autogroup: word(bytes, 40)?,
        })
    }
}

impl Worker {
    /// Decodes a value of the map.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            recv_ns: long(bytes, 0)?,
            send_ns: long(bytes, 8)?,
            helped_ns: long(bytes, 24)?,
            open: word(bytes, 32)?,
            generation: word(bytes, 36)?,
            via: word(bytes, 40)?,
            answers: word(bytes, 44)?,
            opened_ns: long(bytes, 48)?,
            served_ns: long(bytes, 56)?,
            tid: word(bytes, 64)?,
            running: word(bytes, 68)?,
            opened_wait_ns: long(bytes, 72)?,
            answer_ns: long(bytes, 80)?,
            ended_cpu_ns: long(bytes, 88)?,
            ended_tid: word(bytes, 96)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(time_ns: u64, words: &[u32]) -> Vec<u8> {
        let mut bytes = time_ns.to_ne_bytes().to_vec();
        words.iter().for_each(|w| bytes.extend(w.to_ne_bytes()));
        bytes
    }

    #[test]
    fn an_event_has_the_layout_of_the_header() {
        let bytes = words(5, &[2, 1, 10, 11, 12, 13, 14, 1, 15, 0]);
        let event = Event {
            time_ns: 5,
            kind: Kind::HandedOn,
            family: Family::Network,
            tid: 10,
            tgid: 11,
            uid: 12,
            relation: 13,
            peer: 14,
            autogroup: 15,
        };
        assert_eq!((bytes.len(), Event::decode(&bytes)), (EVENT, Some(event)));
    }

    #[test]
    fn a_worker_has_the_layout_of_the_header() {
        let mut bytes: Vec<u8> = [1u64, 2, 3, 4].iter().flat_map(|w| w.to_ne_bytes()).collect();
        [5u32, 6, 7, 8].iter().for_each(|w| bytes.extend(w.to_ne_bytes()));
        [9u64, 10, 11 | 14 << 32, 12, 13, 15, 16]
            .iter()
            .for_each(|w| bytes.extend(w.to_ne_bytes()));
        let worker = Worker {
            recv_ns: 1,
            send_ns: 2,
            helped_ns: 4,
            open: 5,
            generation: 6,
            via: 7,
            answers: 8,
            opened_ns: 9,
            served_ns: 10,
            tid: 11,
            running: 14,
            opened_wait_ns: 12,
            answer_ns: 13,
            ended_tid: 16,
            ended_cpu_ns: 15,
        };
        assert_eq!((bytes.len(), Worker::decode(&bytes)), (WORKER, Some(worker)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if bytes.len() < EVENT {
                prop_assert_eq!(Event::decode(&bytes), None);
            }
            prop_assert_eq!(Worker::decode(&bytes).is_some(), bytes.len() >= WORKER);
            let _ = Event::decode(&bytes);
        }
    }
}
