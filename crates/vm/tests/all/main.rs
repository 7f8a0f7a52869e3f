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
