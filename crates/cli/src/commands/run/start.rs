// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an object to a policy that schedules this machine.

use super::args::RunArgs;
use super::fill;
use crate::error::Error;
use crate::object::Found;
use crate::output::messages;
use crate::prepare::{self, Prepared};
use rota_kernel::control::Description;
use rota_kernel::{sysfs, Attached, Configuration, LoadError, LoadOptions, Scheduler, Topology};
use rota_manifest::CpuFacts;
use rota_object::btf::Btf;
use std::sync::Arc;

/// What can change while a policy runs, and holds for the next start.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// Tunables.
    set: Vec<(String, String)>,
    /// Shares of threads.
    shares: Vec<(u32, u64)>,
}

impl Settings {
    /// As the command line has them.
    pub(crate) fn of(args: &RunArgs) -> Self {
        Self { set: args.set.clone(), shares: args.shares.clone() }
    }

    /// Takes over what was changed meanwhile: the last values of live tunables, and the
    /// shares.
    pub(crate) fn keep(&mut self, description: &Description, attached: &Attached) {
        let live = description.tunables.iter().filter(|t| t.live);
        self.set.extend(live.map(|t| (t.name.clone(), t.value.clone())));
        self.shares = attached.shares();
    }
}

/// Links, sets up, loads and attaches. Done anew for each restart: CPUs may have changed.
pub(crate) fn start(
    args: &RunArgs,
    settings: &Settings,
    found: &Found,
    kernel: &Arc<Btf>,
) -> Result<Attached, Error> {
    let hotplug_seq = sysfs::hotplug_seq();
    let mut image = rota_kernel::link(&found.bytes, found.called(), kernel)?;
    if let Some(hz) = Configuration::read().and_then(|configuration| configuration.hz) {
        image.follow_tick(hz);
    }
    let topology = Topology::read();
    image.set_topology(&topology.described())?;
    let Prepared { setup, note } =
        prepare::setup(args.manifest.as_deref(), &facts(topology), &image)?;
    note.iter().for_each(|note| messages::line(&format!("note: {note}")));
    if !setup.timed.is_empty() {
        let what = "its manifest runs programs while it schedules (at, every): those are for \
                    simulated machines only";
        return Err(Error::input(format!("{}: {what}", image.name)));
    }
    rota_sim::prepare(&mut image, &setup, &settings.set)?;
    let options = LoadOptions {
        settings: Vec::new(), // made above, together with the manifest's
        shares: settings.shares.clone(),
        partial: args.partial,
        exit_dump_len: args.exit_dump_len.unwrap_or(0),
        hotplug_seq,
        verbose: args.verbose,
    };
    let said_all = |error: LoadError| {
        if args.verbose {
            messages::text(error.log().trim_end());
        }
        Error::from(error)
    };
    let scheduler = Scheduler::with_image(&found.bytes, image, &options);
    let loaded = scheduler.load().map_err(said_all)?;
    if args.verbose {
        messages::text(loaded.log().trim_end());
        for (program, insns) in loaded.verified() {
            messages::line(&format!("verifier: {program}: {insns} instructions followed"));
        }
    }
    fill::loaded(&loaded, &setup)?;
    loaded.attach().map_err(said_all)
}

/// What a scheduler's own loader would read from this machine.
fn facts(topology: Topology) -> CpuFacts {
    let Topology { core, llc, node, .. } = topology;
    CpuFacts { core, llc, node }
}
