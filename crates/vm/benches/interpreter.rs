// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nanoseconds per instruction: an arithmetic loop, a loop over an array map, a loop
//! over a hash map, and calls of a kernel function, each beside the same in Rust.

#![allow(missing_docs)] // criterion's macros define a function without any

#[path = "../tests/all/run_support/mod.rs"]
mod run_support;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use rota_object::image::map_type;
use run_support::asm::*;
use run_support::{map, Builder, Hosted};
use std::collections::HashMap;
use std::hint::black_box;

const ROUNDS: u64 = 1000;

/// A hash of the numbers below `n`: five instructions a round.
fn arithmetic() -> Hosted {
    Builder::new()
        .function(
            "arithmetic",
            vec![
                mov(0, 0),
                mov(2, 0),
                alu64r(XOR, 0, 2),
                alu64(MUL, 0, 31),
                alu32r(ADD, 0, 2),
                alu64(ADD, 2, 1),
                jump64r(JLT, 2, 1, -5),
                exit(),
            ],
        )
        .start()
}

fn arithmetic_in_rust(n: u64) -> u64 {
    let mut sum = 0u64;
    let mut at = 0;
    while at < black_box(n) {
        sum = (sum ^ at).wrapping_mul(31);
        sum = u64::from((sum as u32).wrapping_add(at as u32));
        at += 1;
    }
    sum
}

/// Adds 1 to the value of key `round & 63`.
fn lookups(kind: u32) -> Hosted {
    let mut machine = Builder::new()
        .map(map("values", kind, 4, 8, 64))
        .function(
            "lookups",
            vec![
                movr(6, 1),
                mov(7, 0),
                movr(1, 7),
                alu64(AND, 1, 63),
                store(W, 10, -4, 1),
                movr(2, 10),
                alu64(ADD, 2, -4),
                map_handle(1, 0),
                helper(1),
                jump64(JEQ, 0, 0, 3),
                load(DW, 1, 0, 0),
                alu64(ADD, 1, 1),
                store(DW, 0, 0, 1),
                alu64(ADD, 7, 1),
                jump64r(JLT, 7, 6, -14),
                mov(0, 0),
                exit(),
            ],
        )
        .start();
    let values = machine.runtime.map("values").expect("defined above");
    for key in 0u32..64 {
        let (host, key) = (&mut machine.host, key.to_le_bytes());
        machine.runtime.map_put(host, values, &key, &[0; 8]).expect("there is room");
    }
    machine
}

/// Loops over `bpf_iter_num_next`.
fn kfunc_calls() -> Hosted {
    Builder::new()
        .function(
            "kfunc_calls",
            vec![
                movr(3, 1),
                mov(2, 0),
                movr(1, 10),
                alu64(ADD, 1, -8),
                kfunc("bpf_iter_num_new"),
                movr(1, 10),
                alu64(ADD, 1, -8),
                kfunc("bpf_iter_num_next"),
                jump64(JNE, 0, 0, -4),
                exit(),
            ],
        )
        .start()
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("interpreter");
    let programs = [
        ("arithmetic", arithmetic()),
        ("array lookup", lookups(map_type::ARRAY)),
        ("hash lookup", lookups(map_type::HASH)),
        ("kfunc call", kfunc_calls()),
    ];
    for (name, mut machine) in programs {
        let instructions = machine.call(0, &[ROUNDS]).expect("runs").instructions;
        println!("{name}: {} instructions a round, costs included", instructions / ROUNDS);
        group.throughput(Throughput::Elements(ROUNDS));
        group.bench_function(name, |b| b.iter(|| machine.call(0, &[ROUNDS])));
    }
    group
        .bench_function("arithmetic in Rust", |b| b.iter(|| arithmetic_in_rust(black_box(ROUNDS))));
    let mut values = vec![0u64; 64];
    group.bench_function("array in Rust", |b| {
        b.iter(|| {
            for round in 0..black_box(ROUNDS) {
                if let Some(value) = values.get_mut(black_box(round as usize & 63)) {
                    *value += 1;
                }
            }
        });
    });
    let mut table: HashMap<u32, u64> = (0..64).map(|key| (key, 0)).collect();
    group.bench_function("hash in Rust", |b| {
        b.iter(|| {
            for round in 0..black_box(ROUNDS) {
                if let Some(value) = table.get_mut(&black_box(round as u32 & 63)) {
                    *value += 1;
                }
            }
        });
    });
    group.throughput(Throughput::Elements(1));
    let mut empty = Builder::new().function("empty", vec![mov(0, 0), exit()]).start();
    group.bench_function("empty call", |b| b.iter(|| empty.call(0, &[])));
}

/// What runs the code of `run_support`'s machines.
fn engine() -> Option<std::sync::Arc<dyn rota_vm::engine::Engine>> {
    None
}

criterion_group!(benches, bench);
criterion_main!(benches);
