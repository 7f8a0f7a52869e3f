// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an object to a policy that the kernel has let in, and that can schedule this machine.

use super::args::RunArgs;
use super::choice::Choice;
use super::fill;
use crate::error::Error;
use crate::machine::this_kernel;
use crate::output::messages;
use crate::prepare::{self, Prepared};
use rota_kernel::{
    sysfs, Attached, Configuration, LoadError, LoadOptions, Loaded, Scheduler, Topology,
};
use rota_manifest::CpuFacts;
use rota_object::btf::Btf;
use std::sync::Arc;

/// Links, sets up and loads. Done anew for each restart: CPUs may have changed.
pub(crate) fn load(args: &RunArgs, choice: &Choice, kernel: &Arc<Btf>) -> Result<Loaded, Error> {
    let found = &choice.found;
    let hotplug_seq = sysfs::hotplug_seq();
    let mut image = rota_kernel::link(&found.bytes, found.called(), kernel)?;
    if let Some(hz) = Configuration::read().and_then(|configuration| configuration.hz) {
        image.follow_tick(hz);
    }
    if let Some(release) = this_kernel().release {
        image.follow_release(release.major, release.minor);
    }
    let topology = Topology::read();
    image.set_topology(&topology.described())?;
    let Prepared { setup, note } =
        prepare::setup(choice.manifest.as_deref(), &facts(topology), &image)?;
    note.iter().for_each(|note| messages::line(&format!("note: {note}")));
    if !setup.timed.is_empty() {
        let what = "its manifest runs programs while it schedules (at, every): those are for \
                    simulated machines only";
        return Err(Error::input(format!("{}: {what}", image.name)));
    }
    rota_sim::prepare(&mut image, &setup, &choice.set)?;
    let options = LoadOptions {
        settings: Vec::new(), // made above, together with the manifest's
        shares: choice.shares.clone(),
        partial: args.partial,
        exit_dump_len: args.exit_dump_len.unwrap_or(0),
        hotplug_seq,
        verbose: args.verbose,
    };
    let scheduler = Scheduler::with_image(&found.bytes, image, &options);
    let loaded = scheduler.load().map_err(|error| said_all(args, error))?;
    if args.verbose {
        messages::text(loaded.log().trim_end());
        for (program, insns) in loaded.verified() {
            messages::line(&format!("verifier: {program}: {insns} instructions followed"));
        }
    }
    fill::loaded(&loaded, &setup)?;
    Ok(loaded)
}

/// From here on it schedules, unless its set-up fails.
pub(crate) fn attach(args: &RunArgs, loaded: Loaded) -> Result<Attached, Error> {
    loaded.attach().map_err(|error| said_all(args, error))
}

fn said_all(args: &RunArgs, error: LoadError) -> Error {
    if args.verbose {
        messages::text(error.log().trim_end());
    }
    error.into()
}

/// What a scheduler's own loader would read from this machine.
fn facts(topology: Topology) -> CpuFacts {
    let Topology { core, llc, node, .. } = topology;
    CpuFacts { core, llc, node }
}
