// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which policy is loaded, and with which settings.

use super::args::RunArgs;
use crate::error::Error;
use crate::object::{self, Found};
use crate::source::Compiler;
use rota_kernel::control::{Description, Switch};
use rota_kernel::Attached;
use rota_machine::kernel::Kernel;
use std::path::PathBuf;

/// A policy with its settings, which can change while it runs, and hold for the next start.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) found: Found,
    /// What its own loader would set.
    pub(crate) manifest: Option<PathBuf>,
    /// Tunables.
    pub(crate) set: Vec<(String, String)>,
    /// Shares of threads.
    pub(crate) shares: Vec<(u32, u64)>,
}

impl Choice {
    /// As the command line has it.
    pub(crate) fn of(args: &RunArgs, found: Found) -> Self {
        let (manifest, set) = (args.manifest.clone(), args.set.clone());
        Self { found, manifest, set, shares: args.shares.clone() }
    }

    /// As a client of the control socket asks for. Shares end with the policy that had them.
    pub(crate) fn switched(args: &RunArgs, to: &Switch) -> Result<Self, Error> {
        let (found, manifest) = (find(args, &to.policy)?, to.manifest.as_ref().map(PathBuf::from));
        Ok(Self { found, manifest, set: to.tunables.clone(), shares: Vec::new() })
    }

    /// Takes over what was changed meanwhile: the last values of live tunables, and the
    /// shares.
    pub(crate) fn keep(&mut self, description: &Description, attached: &Attached) {
        let live = description.tunables.iter().filter(|t| t.live);
        self.set.extend(live.map(|t| (t.name.clone(), t.value.clone())));
        self.shares = attached.shares();
    }
}

/// The object of a policy for this kernel.
pub(crate) fn find(args: &RunArgs, policy: &str) -> Result<Found, Error> {
    // A source is compiled for the running kernel, as far as its types can be read yet.
    let types = rota_kernel::kernel_btf().map_or_else(|_| Kernel::default(), Kernel::of_btf);
    let found = object::find(policy, Compiler { include: &args.include, kernel: &types })?;
    if rota_sim::is_bundle(&found.bytes) {
        let what = "a bundle is for simulated machines; in a kernel run the program itself";
        return Err(Error::input(format!("{}: {what}", found.called())));
    }
    Ok(found)
}
