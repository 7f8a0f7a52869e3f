// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any bytes as what is packed in a bundle: read, and run for 3 ms on the machine that it is for, if
//! that has up to 8 CPUs.
#![no_main]

mod load;
mod simulation;

use flate2::write::GzEncoder;
use flate2::Compression;
use libfuzzer_sys::fuzz_target;
use rota_machine::config::Config;
use rota_sim::{Policy, BUNDLE_BEGINS};
use std::io::Write;

const RUN_NS: u64 = 3_000_000;

fuzz_target!(|plain: &[u8]| {
    let mut packed = GzEncoder::new(BUNDLE_BEGINS.to_vec(), Compression::none());
    packed.write_all(plain).expect("memory");
    let bytes = packed.finish().expect("memory");
    let Ok(policy) = Policy::of_bundle("fuzz.rota", &bytes) else { return };
    let topology = policy.topology().expect("a bundle is for a machine").clone();
    if topology.cpus() <= 8 {
        let _ = simulation::run(&policy, Config::new(topology, RUN_NS), load::mixed());
    }
});
