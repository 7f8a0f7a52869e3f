// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plays a workload with several sessions: a player for each, all with the same start.

use anyhow::{bail, Context, Result};
use rota_play::{monotonic_ns, Played};
use rota_workload::{SeededRunner, TaskIx, Workload};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

/// What a player says when its tasks sleep until the start.
const READY: &str = "ready";
/// For a player to begin, in ns: it measures how fast it is, which takes longest.
const PLAYER_NS: u64 = 300_000_000;
/// For each of its tasks.
const TASK_NS: u64 = 5_000_000;

/// A player, and what it says.
type Player = (Child, BufReader<ChildStdout>);

pub(crate) fn say_ready() {
    println!("{READY}");
}

/// `words` are the options of the whole. The players begin one after the other, as timers of one CPU
/// that end together end in the order in which they were set.
pub(crate) fn play(workload: &Arc<Workload>, words: &[&str], hz: u32) -> Result<Played> {
    let runner = SeededRunner::new(Arc::clone(workload), 0);
    let tasks: Vec<TaskIx> = runner.initial().map(|(task, _)| task).collect();
    let mut sessions: Vec<u32> = tasks.iter().map(|task| runner.identity(*task).session).collect();
    sessions.dedup();
    let period_ns = 1_000_000_000 / u64::from(hz.max(1));
    let lead_ns = PLAYER_NS * sessions.len() as u64 + TASK_NS * tasks.len() as u64;
    let start_ns = (monotonic_ns() + lead_ns).div_ceil(period_ns) * period_ns;
    let mut players = Vec::new();
    for session in sessions {
        players.push(start(words, session, start_ns)?);
    }
    if monotonic_ns() > start_ns {
        bail!("the players were not ready in time");
    }
    let parts: Vec<Played> = players.into_iter().map(finish).collect::<Result<_>>()?;
    merge(parts)
}

/// Starts a player, and waits until its tasks sleep.
fn start(words: &[&str], session: u32, start_ns: u64) -> Result<Player> {
    let (session, start_ns) = (session.to_string(), start_ns.to_string());
    let mut child = Command::new("/proc/self/exe")
        .arg("play")
        .args(words)
        .args(["--session", &session, "--start", &start_ns])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the player of a session")?;
    let mut says = BufReader::new(child.stdout.take().context("a player without output")?);
    let mut line = String::new();
    says.read_line(&mut line)?;
    if line.trim_end() != READY {
        bail!("the player of session {session} did not get ready");
    }
    Ok((child, says))
}

/// Waits until a player has played.
fn finish((mut child, mut says): Player) -> Result<Played> {
    let mut text = String::new();
    says.read_to_string(&mut text)?;
    if !child.wait()?.success() {
        bail!("the player of a session failed");
    }
    serde_json::from_str(&text).context("what the player of a session said")
}

/// What one player would have told of all tasks: each is of one of them.
fn merge(parts: Vec<Played>) -> Result<Played> {
    let mut parts = parts.into_iter();
    let mut all = parts.next().context("no session was played")?;
    for part in parts {
        if part.tasks.len() != all.tasks.len() {
            bail!("sessions differ in their number of tasks");
        }
        for (task, other) in all.tasks.iter_mut().zip(part.tasks) {
            match (task.tid, other.tid) {
                (_, 0) => {}
                (0, _) => *task = other,
                _ => bail!("two sessions have the task {}", task.name),
            }
        }
    }
    match all.tasks.iter().find(|task| task.tid == 0) {
        Some(task) => bail!("no session has the task {}", task.name),
        None => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_play::PlayedTask;

    fn played(tids: [u32; 3]) -> Played {
        let task = |(tid, name): (u32, &str)| PlayedTask {
            name: format!("{name}-0"),
            instance_of: name.into(),
            tid,
            had: None,
        };
        let tasks = tids.into_iter().zip(["a", "b", "c"]).map(task).collect();
        Played { start_ns: 4, duration_ns: 8, period_ns: 4, fork_ns: 0, tasks }
    }

    #[test]
    fn each_task_is_that_of_the_player_that_had_it() {
        let all = merge(vec![played([7, 0, 9]), played([0, 8, 0])]).unwrap();
        assert_eq!(all, played([7, 8, 9]));
    }

    #[test]
    fn a_task_of_no_player_or_of_two_is_an_error() {
        let why = |parts| merge(parts).unwrap_err().to_string();
        assert_eq!(why(vec![played([7, 0, 9]), played([0, 0, 0])]), "no session has the task b-0");
        assert_eq!(
            why(vec![played([7, 8, 0]), played([0, 9, 6])]),
            "two sessions have the task b-0"
        );
    }
}
