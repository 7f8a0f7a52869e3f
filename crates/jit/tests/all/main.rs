// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled code does what the interpreter does: the tests of the interpreter, with code that is
//! compiled, and runs of both that leave the same.

#![cfg(target_arch = "x86_64")]

#[path = "../../../object/tests/all/fixture/mod.rs"]
mod fixture;
#[path = "../../../vm/tests/all/run_callbacks.rs"]
mod run_callbacks;
#[path = "../../../vm/tests/all/run_cpumask.rs"]
mod run_cpumask;
#[path = "../../../vm/tests/all/run_elements.rs"]
mod run_elements;
#[path = "../../../vm/tests/all/run_fold.rs"]
mod run_fold;
#[path = "../../../vm/tests/all/run_helpers.rs"]
mod run_helpers;
#[path = "../../../vm/tests/all/run_isa.rs"]
mod run_isa;
#[path = "../../../vm/tests/all/run_map_models.rs"]
mod run_map_models;
#[path = "../../../vm/tests/all/run_maps.rs"]
mod run_maps;
#[path = "../../../vm/tests/all/run_maps_rare.rs"]
mod run_maps_rare;
#[path = "../../../vm/tests/all/run_memory.rs"]
mod run_memory;
#[path = "../../../vm/tests/all/run_object.rs"]
mod run_object;
#[path = "../../../vm/tests/all/run_objects.rs"]
mod run_objects;
#[path = "../../../vm/tests/all/run_support/mod.rs"]
mod run_support;

mod addresses;
mod both;
mod counts;
mod kept;
mod random_programs;

use rota_jit::Jit;
use rota_vm::engine::Engine;
use std::sync::Arc;

/// Of the crate that has the tests.
const FIXTURES: &str = "../vm/tests/fixtures";

/// What runs code unless a test says it.
fn engine() -> Option<Arc<dyn Engine>> {
    Some(Arc::new(Jit::at_once()))
}
