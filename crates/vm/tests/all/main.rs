// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tests of the BPF host, in one program: each one more is linked for seconds.

#[path = "../../../object/tests/all/fixture/mod.rs"]
mod fixture;
mod log2;
mod run_callbacks;
mod run_cpumask;
mod run_elements;
mod run_fold;
mod run_helpers;
mod run_isa;
mod run_map_models;
mod run_maps;
mod run_maps_rare;
mod run_memory;
mod run_object;
mod run_objects;
mod run_random;
mod run_support;

use rota_vm::engine::Engine;
use std::sync::Arc;

/// Of the crate.
const FIXTURES: &str = "tests/fixtures";

/// The interpreter runs the code; crates/jit has the same tests for its engine.
fn engine() -> Option<Arc<dyn Engine>> {
    None
}
