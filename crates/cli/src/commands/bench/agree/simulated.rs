// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same load in the simulator, on a machine like this computer, under `eevdf`.

use super::loads::Played as Load;
use crate::commands::bench::computer::Computer;
use crate::error::Error;
use crate::object;
use rota_machine::config::{Config, Costs};
use rota_machine::interruption::Interruption;
use rota_machine::lab::Lab;
use rota_measure::GroupNumbers;
use rota_sim::{Simulation, Watchers};

/// The player's threads exist before the start, and wake up then: they are not placed as new ones.
const OLD_TASKS: [&str; 2] = ["no_place_deadline_initial=true", "no_balance_fork=true"];

/// The player's work is all the CPU time that the kernel charges to a thread, switches and wakeups
/// included, so these cost nothing here. Tasks of others, which are no part of the load, have the CPUs
/// when they had them in the live run.
pub(super) fn run(
    load: &Load,
    seed: u64,
    computer: &Computer,
    interruptions: Vec<Interruption>,
) -> Result<Vec<GroupNumbers>, Error> {
    let kernel = computer.simulated();
    let mut policy = object::link_shipped(rota_catalog::find("eevdf")?, &kernel)?;
    let mut set = vec![format!("seed={seed}")];
    set.extend(OLD_TASKS.map(str::to_owned));
    set.extend(computer.tunables());
    for (name, value) in set.iter().filter_map(|set| set.split_once('=')) {
        policy.set(name, value)?;
    }
    let mut config = Config::new(computer.topology()?, load.duration_ns);
    config.hz = computer.hz;
    config.costs = Costs::none();
    config.warmup_ns = load.warmup_ns;
    (config.seed, config.shuffle_ties) = (seed, true);
    let lab = Lab { starts_keep_order: true, enq_exiting: true, interruptions, ..Lab::default() };
    config.lab = Some(lab);
    let measured = Simulation::new(&policy, &load.workload, config).measure(Watchers::default())?;
    if measured.outcome.exit.kind.is_error() {
        let exit = &measured.outcome.exit;
        return Err(Error::Failure(format!("{}: eevdf was ejected: {exit}", load.name)));
    }
    Ok(measured.groups)
}
