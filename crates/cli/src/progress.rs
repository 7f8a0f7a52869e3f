// SPDX-License-Identifier: MIT OR Apache-2.0
//! A progress bar on the terminal, for what takes longer than two seconds; a line every ten
//! seconds where there is no terminal.

use crate::output::messages;
use crate::stop::Stop;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rota_trace::{Event, Sink};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(2);
/// Between lines where there is no terminal.
const QUIET: Duration = Duration::from_secs(10);
const REFRESH: Duration = Duration::from_millis(100);
const TEMPLATE: &str = "{bar:40} {percent} %, {eta} to go";

/// Simulated time that all runs together have passed, and what ends them early.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    passed_ns: AtomicU64,
    stop: Stop,
}

/// Advances a [`Clock`] by the events of one run.
pub(crate) struct Ticker<'a> {
    clock: &'a Clock,
    last_ns: u64,
}

impl Clock {
    /// Of runs that end early once `stop` is wanted.
    pub(crate) fn stopped_by(stop: &Stop) -> Self {
        Clock { passed_ns: AtomicU64::new(0), stop: stop.clone() }
    }

    /// For one run.
    pub(crate) fn ticker(&self) -> Ticker<'_> {
        Ticker { clock: self, last_ns: 0 }
    }
}

impl Sink for Ticker<'_> {
    fn event(&mut self, event: &Event) {
        if event.time_ns > self.last_ns {
            self.clock.passed_ns.fetch_add(event.time_ns - self.last_ns, Ordering::Relaxed);
            self.last_ns = event.time_ns;
        }
    }

    fn has_enough(&self) -> bool {
        self.clock.stop.wanted()
    }
}

/// Does `work`, which moves the clock from 0 to `end_ns`.
pub(crate) fn show<T>(clock: &Clock, end_ns: u64, work: impl FnOnce() -> T) -> T {
    show_position(&|| (clock.passed_ns.load(Ordering::Relaxed), end_ns), work)
}

/// Does `work`, of which `position` says how much is done, and how much there is.
pub(crate) fn show_position<T>(
    position: &(dyn Fn() -> (u64, u64) + Sync),
    work: impl FnOnce() -> T,
) -> T {
    let (done, wait) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if !std::io::stderr().is_terminal() {
                lines(&wait, QUIET, position, &mut |line| messages::line(line));
                return;
            }
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

/// A line every so often until the work is done, for a log.
fn lines(
    wait: &Receiver<()>,
    every: Duration,
    position: &dyn Fn() -> (u64, u64),
    print: &mut dyn FnMut(&str),
) {
    let start = Instant::now();
    while wait.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        print(&line(start.elapsed(), position()));
    }
}

/// `progress: 40 %, 1m 20s so far, about 2m 0s to go`.
fn line(passed: Duration, (done, all): (u64, u64)) -> String {
    let part = if all == 0 { 0.0 } else { (done as f64 / all as f64).min(1.0) };
    let time = |seconds: f64| match seconds.round() as u64 {
        s if s < 60 => format!("{s}s"),
        s if s < 3600 => format!("{}m {}s", s / 60, s % 60),
        s => format!("{}h {}m", s / 3600, s % 3600 / 60),
    };
    let passed = passed.as_secs_f64();
    let left = match part {
        // Of nothing nothing follows.
        part if part < 0.001 => String::new(),
        part => format!(", about {} to go", time(passed * (1.0 - part) / part)),
    };
    format!("progress: {} %, {} so far{left}", (part * 100.0) as u32, time(passed))
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
        assert_eq!(clock.passed_ns.load(Ordering::Relaxed), 18);
    }

    #[test]
    fn a_log_gets_a_line_now_and_then_until_the_work_is_done() {
        let (done, wait) = channel::<()>();
        let mut printed = Vec::new();
        let mut done = Some(done);
        lines(&wait, Duration::from_millis(1), &|| (1, 4), &mut |line| {
            printed.push(line.to_owned());
            if printed.len() == 3 {
                done.take();
            }
        });
        assert_eq!(printed.len(), 3);
        assert!(printed[0].starts_with("progress: 25 %, 0s so far, about "), "{printed:?}");
    }

    #[test]
    fn a_line_tells_what_is_done_and_what_is_left() {
        let at = |seconds, done, all| line(Duration::from_secs(seconds), (done, all));
        assert_eq!(at(80, 2, 5), "progress: 40 %, 1m 20s so far, about 2m 0s to go");
        assert_eq!(at(10, 0, 5), "progress: 0 %, 10s so far");
        assert_eq!(at(10, 0, 0), "progress: 0 %, 10s so far");
        assert_eq!(at(7200, 1, 2), "progress: 50 %, 2h 0m so far, about 2h 0m to go");
    }
}
