// SPDX-License-Identifier: MIT OR Apache-2.0
//! What schedulers can tell of how a kernel was built and set.

use std::fmt;

/// When a kernel preempts (`preempt_modes` in `kernel/sched/core.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preempt {
    /// At once, but not in the kernel.
    None,
    /// At once; in the kernel where that says so.
    Voluntary,
    /// At once, in the kernel, too.
    Full,
    /// A task of the fair class at its next tick (`resched_curr_lazy()`).
    Lazy,
}

impl Preempt {
    /// All modes.
    pub const ALL: [Preempt; 4] = [Preempt::None, Preempt::Voluntary, Preempt::Full, Preempt::Lazy];

    /// Its name, as in `preempt=` of the kernel's command line.
    pub fn name(self) -> &'static str {
        match self {
            Preempt::None => "none",
            Preempt::Voluntary => "voluntary",
            Preempt::Full => "full",
            Preempt::Lazy => "lazy",
        }
    }

    /// The mode of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Whether a task that runs makes way at once, not at its next tick. Tasks run in user space
    /// here, where modes do not differ otherwise.
    pub fn is_at_once(self) -> bool {
        self != Preempt::Lazy
    }
}

impl fmt::Display for Preempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A release of Linux, without its patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// The first number.
    pub major: u16,
    /// The second one.
    pub minor: u16,
}

impl Release {
    /// Of its name, as `uname -r` has it: `6.18`, `6.18.44-1-amd64`, `7.3~rc1`.
    pub fn find(name: &str) -> Option<Self> {
        let (major, rest) = name.split_once('.')?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = |text: &str| text.parse().ok().filter(|_| !text.starts_with('+'));
        Some(Self { major: number(major)?, minor: number(&rest[..end])? })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// How a kernel was built and set, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The release whose fair class it has.
    pub release: Option<Release>,
    /// Timer ticks per second (`CONFIG_HZ`).
    pub hz: Option<u32>,
    /// When it preempts.
    pub preempt: Option<Preempt>,
    /// The slice of a task of the fair class that requests none, with all its CPUs
    /// (`base_slice_ns` in `/sys/kernel/debug/sched`).
    pub base_slice_ns: Option<u64>,
}

impl Settings {
    /// These; what they do not say is as in others.
    #[must_use]
    pub fn or(self, others: Settings) -> Self {
        Self {
            release: self.release.or(others.release),
            hz: self.hz.or(others.hz),
            preempt: self.preempt.or(others.preempt),
            base_slice_ns: self.base_slice_ns.or(others.base_slice_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_release_is_the_first_two_numbers_of_its_name() {
        let of = |name| Release::find(name).map(|release| (release.major, release.minor));

        assert_eq!(of("6.18.44-1-amd64"), Some((6, 18)));
        assert_eq!(of("7.2"), Some((7, 2)));
        assert_eq!(of("7.3~rc1"), Some((7, 3)));
        for name in ["", "7", "7.", ".2", "seven.two", "+7.2", "7.+2", "70000.1"] {
            assert_eq!(of(name), None, "{name:?}");
        }
        assert!(Release::find("6.18") < Release::find("7.2"));
        assert!(Release::find("6.9") < Release::find("6.12"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_release_or_none(name in ".{0,12}", major: u16, minor: u16) {
            let _ = Release::find(&name);
            let release = Release { major, minor };
            prop_assert_eq!(Release::find(&release.to_string()), Some(release));
        }
    }
}
