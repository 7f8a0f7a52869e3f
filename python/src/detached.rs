// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work without Python's lock, on a thread of its own: Ctrl-C ends it, and a panic of it is an
//! exception.

use crate::errors::{exception, Failure};
use pyo3::prelude::*;
use rota_session::Error;
use rota_trace::{Event, Sink};
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, RecvTimeoutError};
use std::sync::Arc;
use std::time::Duration;

/// How often is looked whether the user wants to stop.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// That of a main thread, on which the command line simulates.
const STACK: usize = 8 << 20;

/// Does the work, and waits for it.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let stop = Stop::default();
    let (sender, mut receiver) = sync_channel(1);
    let of_thread = stop.clone();
    let guarded = move || {
        let done = catch_unwind(AssertUnwindSafe(|| work(&of_thread)));
        // Nobody waits any more after Ctrl-C.
        let _ = sender.send(done);
    };
    spawn(guarded)?;
    loop {
        let waiting = &mut receiver;
        match py.detach(move || waiting.recv_timeout(LOOK)) {
            Ok(Ok(done)) => return done.map_err(|error| exception(&error)),
            Ok(Err(panic)) => return Err(Failure::new_err(words(panic.as_ref()))),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| stop.set())?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new_err("a run ended without a result"))
            }
        }
    }
}

/// Does work that nobody waits for.
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) -> PyResult<()> {
    let thread = std::thread::Builder::new().name("rota".into()).stack_size(STACK).spawn(work);
    let failed = |error| Failure::new_err(format!("cannot start a thread: {error}"));
    thread.map(drop).map_err(failed)
}

/// What a panic said.
pub(crate) fn words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no more is known");
    format!("this is an error in Rota: {said}")
}

/// Whether the user wants the work to end. As a sink it ends a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// What is set once it does.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// It shall.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Sink for Stop {
    fn event(&mut self, _: &Event) {}

    fn wants_events(&self) -> bool {
        false
    }

    fn has_enough(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
