// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel to simulate as one value: types, functions, version and rules.

mod release;
mod rules;
mod settings;
mod shown;

pub use rules::Rules;
pub use settings::{Preempt, Release, Settings};

use crate::config::DEFAULT_HZ;
use crate::kernel_objects::KSYMS;
use crate::kfuncs::{renamed, table};
use crate::layout;
use rota_object::btf::{Btf, Bundled, Kind};
use rota_object::link;
use std::ops::RangeInclusive;
use std::sync::Arc;
use thiserror::Error;

/// A release whose types are not bundled.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("kernel {release}: its types are not bundled, expected one of {}", Kernel::releases().join(", "))]
pub struct UnknownKernel {
    /// What was asked for.
    pub release: String,
}

/// A kernel to simulate.
#[derive(Clone, Debug)]
pub struct Kernel {
    release: &'static str,
    version: [u8; 3],
    hz: u32,
    preempt: Option<Preempt>,
    base_slice_ns: Option<u64>,
    fair_release: Option<Release>,
    given: Arc<Btf>,
    btf: Arc<Btf>,
    rules: Rules,
}

/// Types as the machine lays them out.
struct LaidOut(Arc<Btf>);

impl Default for Kernel {
    /// The reference kernel: Linux 7.2.
    fn default() -> Self {
        Self::of_bundled(Bundled::reference())
    }
}

impl Kernel {
    /// A release whose types are bundled: `7.2`.
    pub fn bundled(release: &str) -> Result<Self, UnknownKernel> {
        let found = Bundled::find(release).map(Self::of_bundled);
        found.ok_or_else(|| UnknownKernel { release: release.to_string() })
    }

    /// The releases whose types are bundled, the oldest first.
    pub fn releases() -> Vec<&'static str> {
        Bundled::all().iter().map(|kernel| kernel.release).collect()
    }

    fn of_bundled(kernel: &Bundled) -> Self {
        Self { version: kernel.version, release: kernel.release, ..Self::of_btf(kernel.btf()) }
    }

    /// The kernel that has these types. They do not say of which version they are: it counts as
    /// the newest release whose sched_ext they have, as its first version (`7.2.0`).
    pub fn of_btf(given: Arc<Btf>) -> Self {
        let laid_out = given.derived(|given| LaidOut(Arc::new(layout::laid_out(given))));
        let btf = Arc::clone(&laid_out.0);
        let (release, version) = release::of(&btf);
        let rules = Rules::of(&btf);
        let (hz, preempt, base_slice_ns, fair_release) = (DEFAULT_HZ, None, None, None);
        Self { release, version, hz, preempt, base_slice_ns, fair_release, given, btf, rules }
    }

    /// The same kernel with so many ticks per second (`CONFIG_HZ`); 250 if nothing is said.
    #[must_use]
    pub fn with_hz(self, hz: u32) -> Self {
        Self { hz, ..self }
    }

    /// The same kernel with what is known of how one was built and set.
    #[must_use]
    pub fn with_settings(self, settings: &Settings) -> Self {
        let Settings { release, hz, preempt, base_slice_ns } = *settings;
        let (fair_release, hz) = (release, hz.unwrap_or(self.hz));
        Self { fair_release, hz, preempt, base_slice_ns, ..self }
    }

    /// The release whose fair class it has: its own, unless its settings say otherwise.
    pub fn fair_release(&self) -> Release {
        let [major, minor, _] = self.version.map(u16::from);
        self.fair_release.unwrap_or(Release { major, minor })
    }

    /// When it preempts; `None`: as policies have it.
    pub fn preempt(&self) -> Option<Preempt> {
        self.preempt
    }

    /// The base slice of its fair class; `None`: as policies have it.
    pub fn base_slice_ns(&self) -> Option<u64> {
        self.base_slice_ns
    }

    /// Its release: `7.2`.
    pub fn release(&self) -> &'static str {
        self.release
    }

    /// Ticks per second.
    pub fn hz(&self) -> u32 {
        self.hz
    }

    /// Its types, by the same ids as those that were given. Where the machine keeps few members of a
    /// struct of which there is one for each task, these come first: hosted code finds them by these
    /// types, as it does in any kernel.
    pub fn btf(&self) -> &Arc<Btf> {
        &self.btf
    }

    /// Its types as they were given.
    pub fn given_btf(&self) -> &Arc<Btf> {
        &self.given
    }

    /// What it does otherwise than others.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    fn has_func(&self, name: &str) -> bool {
        self.btf.find(Kind::Func, name).is_some()
    }
}

impl link::Kernel for Kernel {
    /// Those that its types have, and the machine.
    fn kfunc(&self, name: &str) -> Option<RangeInclusive<u8>> {
        let row = table().kfunc(name)?.arity.clone();
        self.has_func(name).then_some(row)
    }

    fn no_kfunc(&self, name: &str) -> String {
        let release = self.release;
        if self.has_func(name) {
            return format!(
                "kernel function '{name}' of Linux {release} is not among those simulated"
            );
        }
        let lacks = format!("Linux {release} has no kernel function '{name}'");
        let instead: Vec<_> =
            renamed::other_names(name).filter(|other| self.has_func(other)).collect();
        let having = |kernel: &&Bundled| kernel.btf().find(Kind::Func, name).is_some();
        let others: Vec<_> =
            Bundled::all().iter().filter(having).map(|kernel| kernel.release).collect();
        if !instead.is_empty() {
            let instead = instead.join(" and ");
            let have = match others[..] {
                [] => String::new(),
                _ => format!(" (that is of {})", others.join(", ")),
            };
            return format!("{lacks}{have}, but {instead} in its place");
        }
        match others[..] {
            [] => format!("kernel function '{name}' is unknown"),
            [only] => format!("{lacks}, which {only} has"),
            _ => format!("{lacks}, which {} have", others.join(", ")),
        }
    }

    fn has_ksym(&self, name: &str) -> bool {
        KSYMS.contains(&name)
    }

    fn kconfig(&self, name: &str) -> Option<u64> {
        match name {
            "CONFIG_SMP"
            | "CONFIG_SCHED_CLASS_EXT"
            | "CONFIG_CGROUPS"
            | "CONFIG_FAIR_GROUP_SCHED" => Some(1),
            "CONFIG_HZ" => Some(u64::from(self.hz)),
            "CONFIG_NR_CPUS" => Some(8192),
            "CONFIG_SCHED_CORE" => {
                Some(self.btf.member_at("task_struct", "core_cookie").is_some().into())
            }
            "CONFIG_PREEMPT_RCU" => Some(0),
            _ => None,
        }
    }

    fn kernel_version(&self) -> u32 {
        let [major, minor, patch] = self.version.map(u32::from);
        major << 16 | minor << 8 | patch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_object::link::Kernel as _;

    #[test]
    fn types_tell_the_release_that_they_are_bundled_as() {
        for kernel in Bundled::all() {
            let found = Kernel::of_btf(kernel.btf());
            let [major, minor, _] = kernel.version;
            assert_eq!((found.release, found.version), (kernel.release, [major, minor, 0]));
        }
    }

    #[test]
    fn the_reference_kernel_has_every_function_of_the_machine_that_any_kernel_has() {
        let reference = Kernel::default();
        assert_eq!((reference.release(), reference.hz()), ("7.2", 250));
        assert_eq!(reference.kernel_version(), 7 << 16 | 2 << 8 | 12);
        let gone: Vec<_> =
            table().kfunc_names().filter(|name| reference.kfunc(name).is_none()).collect();
        let renamed = renamed::PAIRS.iter().map(|(old, _)| *old).collect::<Vec<_>>();
        assert!(gone.iter().all(|name| renamed.contains(name)), "{gone:?}");
    }

    #[test]
    fn every_function_of_the_machine_is_in_some_kernel() {
        let all: Vec<_> = Bundled::all().iter().map(Kernel::of_bundled).collect();
        let nowhere: Vec<_> = table()
            .kfunc_names()
            .filter(|name| !all.iter().any(|kernel| kernel.kfunc(name).is_some()))
            .collect();
        assert!(nowhere.is_empty(), "{nowhere:?}");
    }

    #[test]
    fn an_unknown_release_is_refused_with_those_that_there_are() {
        let error = Kernel::bundled("6.11").unwrap_err().to_string();
        assert!(error.ends_with("expected one of 6.12, 6.16, 6.19, 7.0, 7.2, 7.3"), "{error}");
    }
}
