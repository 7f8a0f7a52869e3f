// SPDX-License-Identifier: MIT OR Apache-2.0
//! A progress bar on the terminal, for what takes longer than two seconds.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rota_trace::{Event, Sink};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(2);
const REFRESH: Duration = Duration::from_millis(100);
const TEMPLATE: &str = "{bar:40} {percent} %, {eta} to go";

/// Simulated time that all runs together have passed.
#[derive(Debug, Default)]
pub(crate) struct Clock(AtomicU64);

/// Advances a [`Clock`] by the events of one run.
pub(crate) struct Ticker<'a> {
    clock: &'a Clock,
    last_ns: u64,
}

impl Clock {
    /// For one run.
    pub(crate) fn ticker(&self) -> Ticker<'_> {
        Ticker { clock: self, last_ns: 0 }
    }
}

impl Sink for Ticker<'_> {
    fn event(&mut self, event: &Event) {
        if event.time_ns > self.last_ns {
            self.clock.0.fetch_add(event.time_ns - self.last_ns, Ordering::Relaxed);
            self.last_ns = event.time_ns;
        }
    }
}

/// Does `work`, which moves the clock from 0 to `end_ns`.
pub(crate) fn show<T>(clock: &Clock, end_ns: u64, work: impl FnOnce() -> T) -> T {
    show_position(&|| (clock.0.load(Ordering::Relaxed), end_ns), work)
}

/// Does `work`, of which `position` says how much is done, and how much there is.
pub(crate) fn show_position<T>(
    position: &(dyn Fn() -> (u64, u64) + Sync),
    work: impl FnOnce() -> T,
) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let (done, wait) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                bar.set_style(style);
            }
            while wait.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
                let (done, all) = position();
                bar.set_length(all);
                bar.set_position(done);
            }
            bar.finish_and_clear();
        });
        let result = work();
        drop(done);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_trace::EventKind;

    #[test]
    fn the_clock_adds_up_the_time_of_all_runs() {
        let clock = Clock::default();
        let at = |time_ns| Event { time_ns, cpu: None, kind: EventKind::Exit { pid: 1 } };
        let (mut one, mut two) = (clock.ticker(), clock.ticker());
        one.event(&at(10));
        two.event(&at(3));
        one.event(&at(10));
        one.event(&at(15));
        assert_eq!(clock.0.load(Ordering::Relaxed), 18);
    }
}
