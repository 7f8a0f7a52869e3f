// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guest pointers that are not memory: functions and maps. They live behind region
//! ids that no region ever has, so loading through one is a fault.

use rota_object::image::FuncId;

const FUNCTIONS: u64 = 0x7fff_0001 << 32;
/// The pointer to the first map.
pub const MAPS: u64 = 0x7fff_0002 << 32;

/// Bytes between two handles, so that a pointer into one is none to its neighbour.
pub const STRIDE: u64 = 64;

/// The pointer to a function.
pub fn function(func: FuncId) -> u64 {
    FUNCTIONS + u64::from(func.0) * STRIDE
}

/// The function that a pointer means.
pub fn as_function(pointer: u64) -> Option<FuncId> {
    index(pointer, FUNCTIONS).map(FuncId)
}

/// The pointer to a map, by its number in the runtime.
pub fn map(number: u32) -> u64 {
    MAPS + u64::from(number) * STRIDE
}

/// The map number that a pointer means.
#[inline]
pub fn as_map(pointer: u64) -> Option<u32> {
    index(pointer, MAPS)
}

#[inline]
fn index(pointer: u64, base: u64) -> Option<u32> {
    let distance = pointer.wrapping_sub(base);
    (distance < 1 << 32 && distance % STRIDE == 0).then_some((distance / STRIDE) as u32)
}
