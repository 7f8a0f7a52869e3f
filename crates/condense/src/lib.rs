// SPDX-License-Identifier: MIT OR Apache-2.0
//! A long workload as a small one with the same statistics.
//!
//! The long one is played once, and [`Watched`] sees what its tasks do. Of that a part is taken in
//! which kinds of tasks have about the CPU time and the wakeups that they have over all, and made a
//! loop: who wakes and forks what, in which order, is that of the part. How long tasks run and sleep
//! is that of the whole: the n-th shortest run of a kind in the part becomes the mean of the n-th
//! part of all its runs, so that means and quantiles are kept.
//!
//! In each round of the loop every wait has one post. A wait at its begin, of which the post was
//! before the part, takes the post of an unmatched one at the end, of the same kinds of tasks; for
//! the first round a task that only starts the others posts it. Without those edges posts come before
//! their waits in time, and with them each circle of waits has a post in it: so the loop cannot
//! deadlock.

mod edges;
mod fit;
mod lengths;
mod life;
mod part;
mod text;
mod watch;

pub use fit::{condense, Condensed, Request};
pub use text::Settings;
pub use watch::Watched;

/// The kind of a task, from its name: without the number at its end, which may be a pid.
pub fn kind(name: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once('-') {
        Some((kind, number)) if !kind.is_empty() && is_number(number) => kind,
        _ => name,
    }
}
