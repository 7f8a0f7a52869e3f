// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tunables that are the kernel's timer tick, unless a user sets them: tag `follows:tick`.

use super::scalar::Hints;
use crate::image::Image;

/// The tag.
const FOLLOWS_TICK: &str = "follows:tick";

impl Image {
    /// Sets the tunables that follow the tick, in nanoseconds, to that of a kernel with so many per
    /// second, as far as their ranges allow.
    pub fn follow_tick(&mut self, hz: u32) {
        let follows = |tags: &[String]| tags.iter().any(|tag| tag == FOLLOWS_TICK);
        let followers: Vec<(String, u64)> = self
            .variables
            .iter()
            .filter(|variable| follows(&variable.tags))
            .map(|variable| {
                let hints = Hints::of(&variable.name, &variable.tags);
                let bound = |text: Option<&str>| text.and_then(|text| text.parse().ok());
                let (least_ns, most_ns) = (bound(hints.min), bound(hints.max));
                let tick_ns = 1_000_000_000 / u64::from(hz.max(1));
                let tick_ns = tick_ns.max(least_ns.unwrap_or(0)).min(most_ns.unwrap_or(u64::MAX));
                (variable.name.clone(), tick_ns)
            })
            .collect();
        for (name, tick_ns) in followers {
            // An object whose tagged variable is no number keeps what it has.
            let _ = self.set_variable(&name, &tick_ns.to_string());
        }
    }
}
