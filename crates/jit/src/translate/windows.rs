// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of the regions that addresses are in, from one call of the host to the next.

use super::{context_flags, table_flags, Translator};
use crate::context::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types, InstBuilder, Value};
use rota_vm::engine::Window;
use std::collections::HashMap;
use std::mem::{offset_of, size_of};

/// Of the size of a window.
const WINDOW_BITS: i64 = 5;

/// Sums further away from their first operand are not followed.
const FAR: i64 = 1 << 30;

/// Of addresses at a point of the function.
#[derive(Clone, Default)]
pub(super) struct Known {
    /// Values that are another one and a number.
    sums: HashMap<Value, (Value, i64)>,
    windows: HashMap<Value, Place>,
}

/// The region that an address is in. A region that is not there is one without bytes.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Its [`Window`].
    pub(super) window: Value,
    /// Offset in the region.
    pub(super) offset: Value,
    /// Address in this process.
    pub(super) bytes: Value,
    pub(super) loadable: Option<Value>,
    pub(super) storable: Option<Value>,
}

impl Known {
    pub(super) fn note_sum(&mut self, sum: Value, value: Value, distance: i64) {
        let (root, so_far) = self.root(value);
        if let Some(all) = so_far.checked_add(distance).filter(|all| all.abs() < FAR) {
            self.sums.insert(sum, (root, all));
        }
    }

    /// The value that this is a sum of, and the number.
    pub(super) fn root(&self, value: Value) -> (Value, i64) {
        self.sums.get(&value).copied().unwrap_or((value, 0))
    }

    /// The host was called: regions may be others.
    pub(super) fn forget_windows(&mut self) {
        self.windows.clear();
    }

    pub(super) fn learn(&mut self, base: Value, place: Place) {
        self.windows.insert(base, place);
    }
}

impl Translator<'_> {
    /// The region that an address is in.
    pub(super) fn place(&mut self, base: Value) -> Place {
        if let Some(place) = self.known.windows.get(&base) {
            return *place;
        }
        let window = self.window(base);
        let offset = self.b.ins().band_imm(base, i64::from(u32::MAX));
        let field = offset_of!(Window, bytes) as i32;
        let first = self.b.ins().load(types::I64, table_flags(), window, field);
        let bytes = self.b.ins().iadd(first, offset);
        let place = Place { window, offset, bytes, loadable: None, storable: None };
        self.known.learn(base, place);
        place
    }

    /// The window of an address; that of region 0, which is empty, if there is none.
    fn window(&mut self, address: Value) -> Value {
        let id = self.b.ins().ushr_imm(address, 32);
        let field = offset_of!(Context<'_>, window_count) as i32;
        let count = self.b.ins().load(types::I64, context_flags(), self.context, field);
        let exists = self.b.ins().icmp(IntCC::UnsignedLessThan, id, count);
        let zero = self.number(0);
        let id = self.b.ins().select(exists, id, zero);
        self.window_of(id)
    }

    /// The window of a region that exists.
    pub(super) fn window_of(&mut self, id: Value) -> Value {
        const { assert!(size_of::<Window>() == 1 << WINDOW_BITS) };
        let distance = self.b.ins().ishl_imm(id, WINDOW_BITS);
        let windows = self.field(offset_of!(Context<'_>, windows));
        self.b.ins().iadd(windows, distance)
    }

    /// A 32-bit field of a window.
    pub(super) fn size(&mut self, window: Value, field: usize) -> Value {
        self.b.ins().uload32(table_flags(), window, field as i32)
    }
}
