// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions to bytes. iced's own assembler also finds the shortest form of each jump, which takes
//! longer than all of the rest.

use super::Encoded;
use iced_x86::{Encoder, Instruction, OpKind};

/// Bytes of the distance that ends a jump or call.
const DISTANCE: usize = 4;

/// Bytes that can be put anywhere. The instructions have labels in the places of addresses.
pub(super) fn encode(instructions: &[Instruction]) -> Encoded<Vec<u8>> {
    let mut encoder = Encoder::try_with_capacity(64, instructions.len() * 5)?;
    let mut places = vec![0; 1];
    let mut jumps = Vec::new();
    let mut end = 0;
    for instruction in instructions {
        let label = instruction.ip() as usize;
        if label != 0 {
            if places.len() <= label {
                places.resize(label + 1, 0);
            }
            places[label] = end;
        }
        end += encoder.encode(instruction, 0)?;
        if instruction.op0_kind() == OpKind::NearBranch64 {
            jumps.push((end, instruction.near_branch64() as usize));
        }
    }
    let mut bytes = encoder.take_buffer();
    for (end, label) in jumps {
        let to = places.get(label).copied().unwrap_or_default();
        let distance = to as i32 - end as i32;
        bytes[end - DISTANCE..end].copy_from_slice(&distance.to_le_bytes());
    }
    Ok(bytes)
}
