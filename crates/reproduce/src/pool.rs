// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs on several threads, with results in the order of the jobs.

use crate::error::Error;
use crate::progress::Progress;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Threads, and what may stop them.
#[derive(Clone, Copy)]
pub(crate) struct Workers<'a> {
    pub(crate) count: NonZero<usize>,
    pub(crate) progress: &'a Progress,
}

/// Does every job; the first error in the order of jobs ends it, and so does whoever stops the
/// progress, once the jobs under way are done.
pub(crate) fn map<J: Sync, R: Send>(
    threads: Workers<'_>,
    jobs: &[J],
    work: impl Fn(&J) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<R, Error>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.count.get().min(jobs.len()) {
            scope.spawn(|| loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(at) else { return };
                let is_stopped = threads.progress.is_stopped();
                let result = if is_stopped { Err(Error::Interrupted) } else { work(job) };
                if result.is_err() {
                    next.store(jobs.len(), Ordering::Relaxed);
                }
                if let Ok(mut done) = done.lock() {
                    done.push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    #[test]
    fn results_come_in_the_order_of_jobs() {
        let jobs: Vec<u64> = (0..100).collect();
        for threads in [1, 2, 7] {
            let progress = Progress::default();
            let count = NonZero::new(threads).expect("not 0");
            let threads = Workers { count, progress: &progress };
            let squares = map(threads, &jobs, |job| Ok(job * job)).expect("no job fails");
            assert!(squares.iter().zip(&jobs).all(|(square, job)| *square == job * job));
        }
    }

    #[test]
    fn no_job_begins_once_it_is_stopped() {
        let stop = Arc::new(AtomicBool::new(false));
        let progress = Progress::stopped_by(Arc::clone(&stop));
        let threads = Workers { count: NonZero::<usize>::MIN, progress: &progress };
        let begun = AtomicUsize::new(0);
        let result = map(threads, &[1, 2, 3], |job| {
            begun.fetch_add(1, Ordering::Relaxed);
            stop.store(*job == 2, Ordering::Relaxed);
            Ok(())
        });
        assert!(matches!(result, Err(Error::Interrupted)), "{result:?}");
        assert_eq!(begun.into_inner(), 2);
    }

    #[test]
    fn an_error_is_told() {
        let jobs = [1, 2, 3];
        let progress = Progress::default();
        let count = NonZero::new(2).expect("not 0");
        let threads = Workers { count, progress: &progress };
        let fail = |job: &i32| match job {
            2 => Err(Error::Failure("two".into())),
            job => Ok(*job),
        };
        assert_eq!(map(threads, &jobs, fail).expect_err("job 2 fails").to_string(), "two");
    }
}
