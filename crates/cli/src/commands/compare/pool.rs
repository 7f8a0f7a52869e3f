// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs on several threads at the same time.

use super::cell;
use super::kept::Kept;
use super::matrix::{Cell, Matrix};
use super::pictures::{Gather, Pictures};
use crate::comparison::Run;
use crate::error::Error;
use crate::progress::Clock;
use crate::stop::Stop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::Duration;

/// How often is looked whether somebody wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// A run that is done.
pub(crate) struct Done {
    pub(crate) run: Run,
    pub(crate) pictures: Option<Pictures>,
}

/// What the threads share.
pub(crate) struct Work {
    pub(crate) matrix: Arc<Matrix>,
    /// Runs that are still to be done, and what is gathered of each.
    pub(crate) cells: Vec<(Cell, Gather)>,
    pub(crate) clock: Arc<Clock>,
}

type Finished = (usize, Result<Done, Error>);

/// Does all the work, keeps each run as soon as it is done, and gives them in the order of the
/// cells. A signal ends it; threads that are busy then go on until the process ends.
pub(crate) fn run(work: Work, jobs: usize, kept: &mut Kept) -> Result<Vec<Done>, Error> {
    let stop = Stop::listen()?;
    let mut done: Vec<Option<Done>> = work.cells.iter().map(|_| None).collect();
    let finished_runs = start(work, jobs);
    let mut left = done.len();
    while left > 0 {
        match finished_runs.recv_timeout(LOOK) {
            Ok((at, result)) => {
                let finished = result?;
                kept.add(&finished.run)?;
                done[at] = Some(finished);
                left -= 1;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::Failure("a run failed".into()));
            }
        }
        if stop.wanted() {
            return Err(kept.interrupted(left));
        }
    }
    Ok(done.into_iter().flatten().collect())
}

fn start(work: Work, jobs: usize) -> Receiver<Finished> {
    let (sender, finished_runs) = channel();
    let threads = jobs.min(work.cells.len());
    let (work, next) = (Arc::new(work), Arc::new(AtomicUsize::new(0)));
    for _ in 0..threads {
        let (work, next, sender) = (Arc::clone(&work), Arc::clone(&next), sender.clone());
        std::thread::spawn(move || worker(&work, &next, &sender));
    }
    finished_runs
}

fn worker(work: &Work, next: &AtomicUsize, sender: &Sender<Finished>) {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some((cell, gather)) = work.cells.get(at) else { return };
        let result = cell::run(&work.matrix, *cell, *gather, &work.clock);
        let result = result.map(|(run, pictures)| Done { run, pictures });
        if sender.send((at, result)).is_err() {
            return;
        }
    }
}
