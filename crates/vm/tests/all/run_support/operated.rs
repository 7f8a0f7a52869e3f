// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine whose functions are the operations of one map.

use super::asm::*;
use super::{Builder, Hosted};
use rota_object::image::MapDef;

/// Functions `lookup(key) -> value or -1`, `update(key, value, flags)`, `delete(key)`
/// on a map of 8-byte keys (4-byte ones read the low half) and 8-byte values.
pub fn operated(def: MapDef) -> Hosted {
    let key_pointer = || {
        vec![
            store(DW, 10, -8, 1),
            movr(6, 2),
            movr(7, 3),
            movr(2, 10),
            alu64(ADD, 2, -8),
            map_handle(1, 0),
        ]
    };
    let with = |rest: Vec<Line>| key_pointer().into_iter().chain(rest).collect::<Vec<_>>();
    Builder::new()
        .map(def)
        .function(
            "lookup",
            with(vec![
                helper(1),
                jump64(JNE, 0, 0, 2),
                mov(0, -1),
                exit(),
                load(DW, 0, 0, 0),
                exit(),
            ]),
        )
        .function(
            "update",
            with(vec![
                store(DW, 10, -16, 6),
                movr(3, 10),
                alu64(ADD, 3, -16),
                movr(4, 7),
                helper(2),
                exit(),
            ]),
        )
        .function("delete", with(vec![helper(3), exit()]))
        .function(
            "push",
            vec![
                store(DW, 10, -8, 1),
                movr(3, 2),
                movr(2, 10),
                alu64(ADD, 2, -8),
                map_handle(1, 0),
                helper(87),
                exit(),
            ],
        )
        .function(
            "pop",
            vec![
                movr(2, 10),
                alu64(ADD, 2, -8),
                map_handle(1, 0),
                helper(88),
                jump64(JNE, 0, 0, 1),
                load(DW, 0, 10, -8),
                exit(),
            ],
        )
        .function(
            "peek",
            vec![
                movr(2, 10),
                alu64(ADD, 2, -8),
                map_handle(1, 0),
                helper(89),
                jump64(JNE, 0, 0, 1),
                load(DW, 0, 10, -8),
                exit(),
            ],
        )
        .start()
}

impl Hosted {
    pub fn answer(&mut self, func: u32, args: &[u64]) -> i64 {
        self.call(func, args).expect("no fault").r0 as i64
    }
    pub fn lookup(&mut self, key: u64) -> i64 {
        self.answer(0, &[key])
    }
    pub fn update(&mut self, key: u64, value: u64, flags: u64) -> i64 {
        self.answer(1, &[key, value, flags])
    }
    pub fn delete(&mut self, key: u64) -> i64 {
        self.answer(2, &[key])
    }
}
