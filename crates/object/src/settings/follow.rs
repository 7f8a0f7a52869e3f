// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tunables that are as the kernel is, unless a user sets them: its timer tick (tag `follows:tick`),
//! its mode of preemption (`follows:preempt`), its base slice (`follows:base_slice`), what it does as
//! kernels before a release do (`follows:before:7.2`).

use super::scalar::Hints;
use crate::image::Image;

/// The tag of what has a value of its own where the base slice is the kernel's.
const WITH_BASE_SLICE: &str = "with_base_slice:";
/// The tag of what is on before a release.
const BEFORE: &str = "follows:before:";

impl Image {
    /// Sets the tunables that follow the tick, in nanoseconds, to that of a kernel with so many per
    /// second, as far as their ranges allow.
    pub fn follow_tick(&mut self, hz: u32) {
        self.follow("follows:tick", 1_000_000_000 / u64::from(hz.max(1)));
    }

    /// Sets the tunables that follow the mode of preemption: on if a kernel preempts at once, off if
    /// it waits for the next tick.
    pub fn follow_preempt(&mut self, at_once: bool) {
        for name in self.tagged("follows:preempt") {
            let _ = self.set_variable(&name, &at_once.to_string());
        }
    }

    /// Sets the tunables that are on before a release to whether a kernel's is before that.
    pub fn follow_release(&mut self, major: u16, minor: u16) {
        let is_before = |tag: &String| {
            let (own_major, own_minor) = tag.strip_prefix(BEFORE)?.split_once('.')?;
            Some((major, minor) < (own_major.parse().ok()?, own_minor.parse().ok()?))
        };
        let found = self.variables.iter().filter_map(|variable| {
            Some((variable.name.clone(), variable.tags.iter().find_map(is_before)?))
        });
        let found: Vec<(String, bool)> = found.collect();
        for (name, is_on) in found {
            let _ = self.set_variable(&name, &is_on.to_string());
        }
    }

    /// Sets the tunables that follow the base slice to that of a kernel, as far as their ranges
    /// allow, and those that say how it is computed from another one (`with_base_slice:VALUE`) to
    /// that value.
    pub fn follow_base_slice(&mut self, ns: u64) {
        self.follow("follows:base_slice", ns);
        let fixed: Vec<(String, String)> = self
            .variables
            .iter()
            .filter_map(|variable| {
                let tags = variable.tags.iter();
                let value = tags.filter_map(|tag| tag.strip_prefix(WITH_BASE_SLICE)).next()?;
                Some((variable.name.clone(), value.to_owned()))
            })
            .collect();
        for (name, value) in fixed {
            let _ = self.set_variable(&name, &value);
        }
    }

    /// Names of the tunables with a tag.
    fn tagged(&self, tag: &str) -> Vec<String> {
        let has = |tags: &[String]| tags.iter().any(|own| own == tag);
        let variables = self.variables.iter().filter(|variable| has(&variable.tags));
        variables.map(|variable| variable.name.clone()).collect()
    }

    /// Sets the times with a tag, within their ranges.
    fn follow(&mut self, tag: &str, ns: u64) {
        for name in self.tagged(tag) {
            let Some(variable) = self.variables.iter().find(|of| of.name == name) else { continue };
            let hints = Hints::of(&variable.name, &variable.tags);
            let bound = |text: Option<&str>| text.and_then(|text| text.parse().ok());
            let (least_ns, most_ns) = (bound(hints.min), bound(hints.max));
            let ns = ns.max(least_ns.unwrap_or(0)).min(most_ns.unwrap_or(u64::MAX));
            // An object whose tagged variable is no number keeps what it has.
            let _ = self.set_variable(&name, &ns.to_string());
        }
    }
}
