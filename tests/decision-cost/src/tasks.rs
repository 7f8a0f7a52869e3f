// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real tasks for policies to look up and keep storage for: threads that sleep.

use crate::failure::Failure;
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

/// Enough to wait on a lock.
const STACK_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
struct End {
    reached: Mutex<bool>,
    changed: Condvar,
}

/// Sleeping threads of this process. They end when this is dropped.
#[derive(Debug)]
pub struct SleepingTasks {
    pids: Vec<u32>,
    end: Arc<End>,
    threads: Vec<JoinHandle<()>>,
}

impl SleepingTasks {
    /// Starts `count` threads.
    pub fn start(count: usize) -> Result<Self, Failure> {
        let end = Arc::new(End::default());
        let mut tasks = Self { pids: Vec::with_capacity(count), end, threads: Vec::new() };
        let (send, receive) = mpsc::channel();
        for started in 0..count {
            let (end, send) = (Arc::clone(&tasks.end), send.clone());
            let sleep = move || {
                let pid = rustix::thread::gettid().as_raw_nonzero().get();
                let _ = send.send(pid.unsigned_abs());
                let Ok(reached) = end.reached.lock() else { return };
                drop(end.changed.wait_while(reached, |reached| !*reached));
            };
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(sleep);
            tasks.threads.push(thread.map_err(|e| {
                Failure::Unavailable(format!("cannot start thread {started} of {count}: {e}"))
            })?);
        }
        tasks.pids.extend(receive.iter().take(count));
        tasks.pids.sort_unstable();
        Ok(tasks)
    }

    /// Their pids, ascending.
    pub fn pids(&self) -> &[u32] {
        &self.pids
    }
}

impl Drop for SleepingTasks {
    fn drop(&mut self) {
        if let Ok(mut reached) = self.end.reached.lock() {
            *reached = true;
        }
        self.end.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
