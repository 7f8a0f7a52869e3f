// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any bytes as an object file, from damaged ones of policies on: load it and run it on a machine
//! with two cores of two CPUs for 10 ms.
#![no_main]

mod damage;
mod load;
mod object_parts;
mod simulation;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::run::RunError;
use rota_machine::topology::Topology;
use rota_sim::{Policy, SimError};

const RUN_NS: u64 = 10_000_000;
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match damage::damage(&mut data[..size], seed, object_parts::parts, 4) {
        true => size,
        // It is no longer an ELF file, or its turn for anything.
        false => fuzzer_mutate(data, size, max_size),
    }
});

fuzz_target!(|bytes: &[u8]| {
    let mut config = Config::new(Topology::new(4, 2, 4, 4).expect("a machine"), RUN_NS);
    config.audit = true;
    let Ok(policy) = Policy::link("fuzz", bytes, &Kernel::default().with_hz(config.hz)) else {
        return;
    };
    let _ = (policy.image().options(), policy.image().statistics());
    if let Err(error @ SimError::Run(RunError::Kernel(_))) =
        simulation::run(&policy, config, load::mixed())
    {
        panic!("{error}");
    }
});
