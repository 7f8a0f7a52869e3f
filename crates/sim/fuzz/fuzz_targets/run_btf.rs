// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any bytes as the types of the kernel to simulate, from damaged ones of the bundled kernel on:
//! what `--btf` takes. Policies are linked against them and run on a machine laid out by them.
#![no_main]

mod damage;
mod load;
mod simulation;
mod type_parts;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_object::btf::Btf;
use rota_sim::Policy;
use std::sync::Arc;

const RUN_NS: u64 = 3_000_000;
/// One that reads little of the kernel, and one that reads much.
const POLICIES: [&str; 2] = ["fifo", "eevdf"];

// Any policy reads few of the types, so many are changed at once.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match damage::damage(&mut data[..size], seed, type_parts::parts, 30) {
        true => size,
        false => fuzzer_mutate(data, size, max_size),
    }
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(kernel) = Btf::from_file(bytes).map(Arc::new) else { return };
    for name in POLICIES {
        let config = Config::new(Topology::new(4, 2, 4, 4).expect("a machine"), RUN_NS);
        let shipped = rota_catalog::find(name).expect("a policy");
        // A kernel that lacks what is needed, or contradicts itself, is an error.
        let Ok(policy) = Policy::link(name, shipped.object, &Kernel::of_btf(Arc::clone(&kernel)))
        else {
            continue;
        };
        let _ = simulation::run(&policy, config, load::mixed());
    }
});
