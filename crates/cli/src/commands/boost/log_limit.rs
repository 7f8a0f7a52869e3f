// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many lines of the log a second may have, and which ones: with threads of one's own it is
//! easy to cause any number of them, and a full disk or a hidden line harms others.

use rota_boost::log::Change;
use std::collections::HashMap;

const SECOND_NS: u64 = 1_000_000_000;
/// Lines in a second, but for the one that says how many were left out.
const LINES: u64 = 128;

/// The owner of a process; `None` if it ended too soon to ask.
pub(super) type User = Option<u32>;

/// Counts the lines of this second. A user gets at most half of what other users leave of it, a
/// process at most half of what others leave of its user's part. So however many lines a few of
/// them cause, there is room for the next one.
#[derive(Debug, Default)]
pub(super) struct LogLimit {
    second: u64,
    processes: HashMap<u32, Process>,
    users: HashMap<User, u64>,
    written: u64,
}

#[derive(Debug)]
struct Process {
    user: User,
    /// Of the thread whose line came first.
    name: String,
    written: u64,
    left_out: u64,
}

impl LogLimit {
    /// Whether a line of this second is to be written. `user_of` is asked once a second for each
    /// process.
    pub(super) fn admits(&mut self, change: &Change, user_of: impl FnOnce(u32) -> User) -> bool {
        let process = self.processes.entry(change.tgid).or_insert_with(|| Process {
            user: user_of(change.tgid),
            name: change.name.clone(),
            written: 0,
            left_out: 0,
        });
        let of_user = self.users.entry(process.user).or_default();
        let part_of_user = half(LINES - (self.written - *of_user));
        let part = half(part_of_user.saturating_sub(*of_user - process.written));
        if *of_user >= part_of_user || process.written >= part {
            process.left_out += 1;
            return false;
        }
        process.written += 1;
        *of_user += 1;
        self.written += 1;
        true
    }

    /// Begins another second if it is time; what to say of the one that ended.
    pub(super) fn advance(&mut self, now_ns: u64) -> Option<String> {
        if now_ns / SECOND_NS <= self.second {
            return None;
        }
        let left_out = self.left_out(now_ns);
        *self = Self { second: now_ns / SECOND_NS, ..Self::default() };
        left_out
    }

    /// What to say of lines of this second, if any were left out.
    pub(super) fn left_out(&self, now_ns: u64) -> Option<String> {
        let left_out = self.processes.iter().filter(|(_, process)| process.left_out > 0);
        let all: Vec<(&u32, &Process)> = left_out.collect();
        let lines: u64 = all.iter().map(|(_, process)| process.left_out).sum();
        let (pid, most) = all.iter().max_by_key(|(pid, process)| (process.left_out, *pid))?;
        let one = format!("{}[{pid}]", most.name);
        let are_of_one = all.iter().all(|(_, process)| process.user == most.user);
        let of = match (all.len(), most.user) {
            (1, _) => one,
            (count, user) => {
                let owned = user.filter(|_| are_of_one).map(|user| format!(" of user {user}"));
                let owned = owned.unwrap_or_default();
                format!("{count} processes{owned}, {} of them of {one}", most.left_out)
            }
        };
        let (seconds, ms) = (now_ns / SECOND_NS, now_ns / 1_000_000 % 1000);
        Some(format!("{seconds}.{ms:03} … {lines} more lines were left out: of {of}"))
    }
}

/// One of one, so that all of it can be used.
fn half(count: u64) -> u64 {
    count.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line_of(tgid: u32) -> Change {
        let what = "nice 0 -> -7".to_owned();
        Change { time_ns: 0, tid: tgid + 1, tgid, name: "noisy".into(), what }
    }

    /// Users have a hundred pids each.
    fn user_of(pid: u32) -> User {
        Some(pid / 100)
    }

    fn written(limit: &mut LogLimit, pid: u32, lines: u64) -> u64 {
        (0..lines).filter(|_| limit.admits(&line_of(pid), user_of)).count() as u64
    }

    #[test]
    fn a_process_has_a_quarter_of_a_second_and_all_of_the_next_ones_again() {
        let mut limit = LogLimit::default();
        for second in 1..4 {
            let said = limit.advance(second * SECOND_NS);
            let text = format!("{second}.000 … 1234 more lines were left out: of noisy[170]");
            assert_eq!(said, (second > 1).then_some(text));
            assert_eq!(written(&mut limit, 170, LINES / 4 + 1234), LINES / 4);
        }
    }

    #[test]
    fn lines_that_fit_are_all_written_and_nothing_is_said() {
        let mut limit = LogLimit::default();
        for second in 1..4 {
            assert_eq!(limit.advance(second * SECOND_NS), None);
            assert_eq!(written(&mut limit, 170, 32), 32);
            assert_eq!(written(&mut limit, 270, 16), 16);
        }
        assert_eq!(limit.advance(9 * SECOND_NS), None);
    }

    #[test]
    fn a_user_with_many_processes_leaves_half_to_others() {
        let mut limit = LogLimit::default();
        let theirs: u64 = (100..200).map(|pid| written(&mut limit, pid, 1000)).sum();
        assert_eq!((theirs, written(&mut limit, 300, 1000)), (LINES / 2, LINES / 8));
        let said = limit.left_out(6_154_012_000_000).expect("lines were left out");
        assert!(said.starts_with("6154.012 … "), "{said}");
        assert!(said.ends_with("101 processes, 1000 of them of noisy[199]"), "{said}");
    }

    #[test]
    fn processes_of_one_user_are_said_to_be() {
        let mut limit = LogLimit::default();
        written(&mut limit, 105, 50);
        written(&mut limit, 106, 40);
        let said = limit.left_out(0).expect("lines were left out");
        let (left, of_one) = (50 - 32 + 40 - 16, 40 - 16);
        let of = format!("2 processes of user 1, {of_one} of them of noisy[106]");
        assert_eq!(said, format!("0.000 … {left} more lines were left out: of {of}"));
    }

    #[test]
    fn a_process_that_ended_counts_as_nobodys() {
        let mut limit = LogLimit::default();
        let ended = (1..=50).filter(|pid| limit.admits(&line_of(*pid), |_| None)).count();
        assert_eq!((ended, written(&mut limit, 100, 40)), (50, 20));
    }

    proptest! {
        #[test]
        fn no_second_has_more_lines_and_each_line_is_written_or_counted(
            pids in prop::collection::vec(0_u32..1000, 0..2000),
        ) {
            let mut limit = LogLimit::default();
            let admitted = pids.iter().filter(|pid| limit.admits(&line_of(**pid), user_of)).count();
            prop_assert!(admitted as u64 <= LINES);
            let said = limit.left_out(0).unwrap_or("0.000 … 0 more".into());
            let left_out = said.split(' ').nth(2).map(str::parse::<usize>);
            prop_assert_eq!(left_out, Some(Ok(pids.len() - admitted)));
        }

        #[test]
        fn a_few_noisy_processes_hide_no_line_of_a_quiet_one(
            noisy in prop::collection::vec((0_u32..3, 0_u32..50), 4),
            turns in prop::collection::vec(0_usize..4, 0..1000),
            quiet in (0_u32..3, prop::collection::vec(0_usize..1000, 2)),
        ) {
            let (user, moments) = quiet;
            let mut limit = LogLimit::default();
            let mut lines: Vec<u32> = turns.iter().map(|at| noisy[*at].0 * 100 + noisy[*at].1).collect();
            for moment in moments {
                lines.insert(moment.min(lines.len()), user * 100 + 99);
            }
            for pid in lines {
                let admitted = limit.admits(&line_of(pid), user_of);
                prop_assert!(admitted || pid % 100 != 99, "of {pid}: {limit:?}");
            }
        }
    }
}
