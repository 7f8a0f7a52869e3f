// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs on several threads, with results in the order of the jobs.

use crate::error::Error;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Does every job; the first error in the order of jobs ends it.
pub(crate) fn map<J: Sync, R: Send>(
    threads: NonZero<usize>,
    jobs: &[J],
    work: impl Fn(&J) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<R, Error>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(jobs.len()) {
            scope.spawn(|| loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(at) else { return };
                let result = work(job);
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

    #[test]
    fn results_come_in_the_order_of_jobs() {
        let jobs: Vec<u64> = (0..100).collect();
        for threads in [1, 2, 7] {
            let threads = NonZero::new(threads).expect("not 0");
            let squares = map(threads, &jobs, |job| Ok(job * job)).expect("no job fails");
            assert!(squares.iter().zip(&jobs).all(|(square, job)| *square == job * job));
        }
    }

    #[test]
    fn an_error_is_told() {
        let jobs = [1, 2, 3];
        let threads = NonZero::new(2).expect("not 0");
        let fail = |job: &i32| match job {
            2 => Err(Error::Failure("two".into())),
            job => Ok(*job),
        };
        assert_eq!(map(threads, &jobs, fail).expect_err("job 2 fails").to_string(), "two");
    }
}
