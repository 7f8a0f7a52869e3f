// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy in the kernel, as the control socket sees it.

use super::protocol::{Changed, Changes, Description, Refusal, Share, Switch, Switching, Tunable};
use super::server::Controlled;
use crate::stats::{RunStats, Sample, Sampler};
use crate::{Attached, SHARES_MAP};
use libbpf_rs::{ErrorKind, MapCore, MapFlags};
use rota_object::image::{Image, Variable};
use rota_object::settings::Patch;

/// Largest share that policies take.
pub const MAX_SHARE: u64 = 1_000_000;

/// Looks after one policy, over all its restarts, and then after the one that takes its place.
#[derive(Debug)]
pub struct Operator {
    policy: String,
    source: String,
    /// Why another one did not take its place.
    not_switched: Option<String>,
    /// Counts while somebody watches, or always.
    run_stats: Option<RunStats>,
    always: bool,
}

/// Loads another policy, and tells its name.
pub type Loader<'a> = &'a mut dyn FnMut(&Switch) -> Result<String, Refusal>;

/// The policy while it is attached.
pub struct Operated<'a> {
    operator: &'a mut Operator,
    attached: &'a Attached,
    loader: Loader<'a>,
}

impl Operator {
    /// For a policy of this name; `source` is `shipped` or its file.
    pub fn new(policy: &str, source: &str) -> Self {
        let (policy, source) = (policy.into(), source.into());
        Self { policy, source, not_switched: None, run_stats: None, always: false }
    }

    /// Looks after another policy from now on.
    pub fn follow(&mut self, policy: &str, source: &str) {
        (self.policy, self.source, self.not_switched) = (policy.into(), source.into(), None);
    }

    /// Says from now on why another policy could not take over.
    pub fn stays(&mut self, because: String) {
        self.not_switched = Some(because);
    }

    /// Counts runs and times of callbacks from now on, whether somebody watches or not.
    pub fn always_count(&mut self) -> std::io::Result<()> {
        if self.run_stats.is_none() {
            self.run_stats = Some(RunStats::enable()?);
        }
        self.always = true;
        Ok(())
    }

    /// The policy that is attached now, and what loads another one.
    pub fn on<'a>(&'a mut self, attached: &'a Attached, loader: Loader<'a>) -> Operated<'a> {
        Operated { operator: self, attached, loader }
    }

    /// Totals of the policy that is attached now.
    pub fn sample(&self, attached: &Attached) -> Sample {
        Sampler::new(&self.policy, attached.image()).sample(attached)
    }

    /// The policy that is attached now, with its present tunables.
    pub fn describe(&self, attached: &Attached) -> Description {
        let image = attached.image();
        let documented = image.tunables();
        let shown = if documented.is_empty() { image.options() } else { documented };
        let tunable = |t: rota_object::settings::Tunable| Tunable {
            value: value(attached, &t.name).unwrap_or(t.default),
            name: t.name,
            live: t.live,
            ctype: t.ctype,
            min: t.min,
            max: t.max,
            unit: t.unit,
            values: t.values,
            help: t.help,
        };
        Description {
            policy: self.policy.clone(),
            source: self.source.clone(),
            pid: std::process::id(),
            tunables: shown.into_iter().map(tunable).collect(),
            not_switched: self.not_switched.clone(),
        }
    }
}

/// The present value of a global variable, as `--set` takes it.
fn value(attached: &Attached, name: &str) -> Option<String> {
    let image = attached.image();
    let variable = image.variables.iter().find(|v| v.name == name)?;
    Some(image.text_in(variable, &attached.read_variable(name)?))
}

impl Controlled for Operated<'_> {
    fn describe(&self) -> Description {
        self.operator.describe(self.attached)
    }

    fn change(&mut self, changes: &Changes) -> Result<Changed, Refusal> {
        let image = self.attached.image();
        let mut patches = Vec::new();
        for (name, value) in &changes.tunables {
            let patch = image.live_patch(name, value).map_err(Refusal::input)?;
            patches.push((name, patch));
        }
        for share in &changes.shares {
            self.check(share)?;
        }
        let mut changed = Changed::default();
        for (name, patch) in patches {
            let (before, now) = self.apply(&patch)?;
            changed.tunables.push((name.clone(), before, now));
        }
        for share in &changes.shares {
            self.give(share)?;
            changed.shares.push(*share);
        }
        Ok(changed)
    }

    fn switch(&mut self, to: &Switch) -> Result<Switching, Refusal> {
        let to = (self.loader)(to)?;
        Ok(Switching { from: self.operator.policy.clone(), to })
    }

    fn stats(&mut self) -> Result<Sample, Refusal> {
        Ok(self.operator.sample(self.attached))
    }

    fn watched(&mut self, by_somebody: bool) {
        if by_somebody && self.operator.run_stats.is_none() {
            // Without the privilege the callbacks are missing, and the rest is told.
            self.operator.run_stats = RunStats::enable().ok();
        }
        if !by_somebody && !self.operator.always {
            self.operator.run_stats = None;
        }
    }
}

impl Operated<'_> {
    /// Writes a tunable; its value before and now.
    fn apply(&self, patch: &Patch) -> Result<(String, String), Refusal> {
        let image = self.attached.image();
        let gone = || Refusal::failure("the policy's variables cannot be reached");
        let variable = patched(image, patch).ok_or_else(gone)?;
        let before = self.attached.read_variable(&variable.name).ok_or_else(gone)?;
        let mut now = before.clone();
        let start = (patch.offset - variable.offset) as usize;
        let place = now.get_mut(start..start + patch.bytes.len()).ok_or_else(gone)?;
        place.copy_from_slice(&patch.bytes);
        self.attached.write_variable(&variable.name, &now).map_err(Refusal::failure)?;
        Ok((image.text_in(variable, &before), image.text_in(variable, &now)))
    }

    /// Can a thread be given a share?
    fn check(&self, share: &Share) -> Result<(), Refusal> {
        let Share { pid, share } = *share;
        if !self.attached.object().maps().any(|m| m.name() == SHARES_MAP) {
            let policy = &self.operator.policy;
            let what = format!("{policy} supports no shares: it has no map {SHARES_MAP}");
            return Err(Refusal::input(what));
        }
        if let Some(share) = share.filter(|s| !(1..=MAX_SHARE).contains(s)) {
            let what =
                format!("share {share} of pid {pid} is out of range, expected 1 to {MAX_SHARE}");
            return Err(Refusal::input(what));
        }
        if share.is_some() && !std::path::Path::new(&format!("/proc/{pid}")).exists() {
            return Err(Refusal::input(format!("no thread has the pid {pid}")));
        }
        Ok(())
    }

    fn give(&self, share: &Share) -> Result<(), Refusal> {
        let mut maps = self.attached.object().maps();
        let Some(map) = maps.find(|m| m.name() == SHARES_MAP) else { return Ok(()) };
        let key = share.pid.to_le_bytes();
        let done = match share.share {
            Some(share) => map.update(&key, &share.to_le_bytes(), MapFlags::ANY),
            None => match map.delete(&key) {
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
                done => done,
            },
        };
        done.map_err(|e| Refusal::failure(format!("share of pid {}: {e}", share.pid)))
    }
}

/// The variable that a patch lies in.
fn patched<'a>(image: &'a Image, patch: &Patch) -> Option<&'a Variable> {
    let end = patch.offset.checked_add(patch.bytes.len() as u32)?;
    image
        .variables
        .iter()
        .find(|v| v.map == patch.map && v.offset <= patch.offset && end <= v.offset + v.size)
}
