// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interpreter's instruction: decoded once, 16 bytes, jumps and calls resolved.
//!
//! `code` is the ISA's opcode byte wherever that byte alone says what to do; forms
//! that the ISA tells apart by `off`, `imm` or `src` get bytes that the ISA leaves free.

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    /// One of [`code`].
    pub(crate) code: u8,
    /// Destination register.
    pub(crate) dst: u8,
    /// Source register.
    pub(crate) src: u8,
    /// Displacement of a memory access, or index of the op that a jump goes to.
    pub(crate) off: i32,
    /// Immediate, extended to the width of the operation; or an index, see [`code`].
    pub(crate) imm: u64,
}

/// Fields of an opcode byte (Documentation/bpf/standardization/instruction-set.rst).
pub(crate) mod field {
    /// What kind of instruction it is, see [`super::class`].
    pub(crate) const CLASS: u8 = 0x07;
    /// Of arithmetic and jumps: the operand is `src`, not the immediate.
    pub(crate) const FROM_REGISTER: u8 = 0x08;
    /// Of arithmetic and jumps: what is done.
    pub(crate) const OPERATION: u8 = 0xf0;
    /// Of loads and stores: how many bytes, see [`super::size`].
    pub(crate) const SIZE: u8 = 0x18;
    /// Of loads and stores: how, see [`super::mode`].
    pub(crate) const MODE: u8 = 0xe0;
}

/// Values of [`field::CLASS`].
pub(crate) mod class {
    pub(crate) const LD: u8 = 0;
    pub(crate) const LDX: u8 = 1;
    pub(crate) const ST: u8 = 2;
    pub(crate) const STX: u8 = 3;
    pub(crate) const ALU32: u8 = 4;
    pub(crate) const JMP: u8 = 5;
    pub(crate) const JMP32: u8 = 6;
    pub(crate) const ALU64: u8 = 7;
}

/// Values of [`field::SIZE`].
pub(crate) mod size {
    pub(crate) const W: u8 = 0x00;
    pub(crate) const H: u8 = 0x08;
    pub(crate) const B: u8 = 0x10;
    pub(crate) const DW: u8 = 0x18;
}

/// Values of [`field::MODE`].
pub(crate) mod mode {
    /// Plain.
    pub(crate) const MEM: u8 = 0x60;
    /// A load that extends the sign.
    pub(crate) const MEM_SIGNED: u8 = 0x80;
    pub(crate) const ATOMIC: u8 = 0xc0;
}

/// Values of [`field::OPERATION`] of arithmetic that `decode` tells apart by more than it.
pub(crate) mod operation {
    pub(crate) const DIV: u8 = 0x30;
    pub(crate) const NEG: u8 = 0x80;
    pub(crate) const MOD: u8 = 0x90;
    pub(crate) const MOV: u8 = 0xb0;
    pub(crate) const ARSH: u8 = 0xc0;
    pub(crate) const END: u8 = 0xd0;
}

/// Values of [`field::OPERATION`] of jumps that ask something: all but these five.
pub(crate) mod jump {
    pub(crate) const JA: u8 = 0x00;
    pub(crate) const CALL: u8 = 0x80;
    pub(crate) const EXIT: u8 = 0x90;
    pub(crate) const MAY_GOTO: u8 = 0xe0;
    pub(crate) const UNUSED: u8 = 0xf0;
}

/// The immediate of an atomic instruction.
pub(crate) mod atomic {
    pub(crate) const ADD: i32 = 0x00;
    pub(crate) const OR: i32 = 0x40;
    pub(crate) const AND: i32 = 0x50;
    pub(crate) const XOR: i32 = 0xa0;
    /// The old value goes to `src`.
    pub(crate) const FETCH: i32 = 0x01;
    pub(crate) const EXCHANGE: i32 = 0xe0 | FETCH;
    pub(crate) const COMPARE_EXCHANGE: i32 = 0xf0 | FETCH;
    /// Not read-modify-write: `smp_load_acquire()` into `dst`, `smp_store_release()`.
    pub(crate) const LOAD_ACQUIRE: i32 = 0x100;
    pub(crate) const STORE_RELEASE: i32 = 0x110;
}

/// Values of [`Op::code`].
pub(crate) mod code {
    // The ISA's own bytes.
    pub(crate) const ADD64_K: u8 = 0x7;
    pub(crate) const ADD64_X: u8 = 0xf;
    pub(crate) const ADD32_K: u8 = 0x4;
    pub(crate) const ADD32_X: u8 = 0xc;
    pub(crate) const SUB64_K: u8 = 0x17;
    pub(crate) const SUB64_X: u8 = 0x1f;
    pub(crate) const SUB32_K: u8 = 0x14;
    pub(crate) const SUB32_X: u8 = 0x1c;
    pub(crate) const MUL64_K: u8 = 0x27;
    pub(crate) const MUL64_X: u8 = 0x2f;
    pub(crate) const MUL32_K: u8 = 0x24;
    pub(crate) const MUL32_X: u8 = 0x2c;
    pub(crate) const DIV64_K: u8 = 0x37;
    pub(crate) const DIV64_X: u8 = 0x3f;
    pub(crate) const DIV32_K: u8 = 0x34;
    pub(crate) const DIV32_X: u8 = 0x3c;
    pub(crate) const OR64_K: u8 = 0x47;
    pub(crate) const OR64_X: u8 = 0x4f;
    pub(crate) const OR32_K: u8 = 0x44;
    pub(crate) const OR32_X: u8 = 0x4c;
    pub(crate) const AND64_K: u8 = 0x57;
    pub(crate) const AND64_X: u8 = 0x5f;
    pub(crate) const AND32_K: u8 = 0x54;
    pub(crate) const AND32_X: u8 = 0x5c;
    pub(crate) const LSH64_K: u8 = 0x67;
    pub(crate) const LSH64_X: u8 = 0x6f;
    pub(crate) const LSH32_K: u8 = 0x64;
    pub(crate) const LSH32_X: u8 = 0x6c;
    pub(crate) const RSH64_K: u8 = 0x77;
    pub(crate) const RSH64_X: u8 = 0x7f;
    pub(crate) const RSH32_K: u8 = 0x74;
    pub(crate) const RSH32_X: u8 = 0x7c;
    pub(crate) const MOD64_K: u8 = 0x97;
    pub(crate) const MOD64_X: u8 = 0x9f;
    pub(crate) const MOD32_K: u8 = 0x94;
    pub(crate) const MOD32_X: u8 = 0x9c;
    pub(crate) const XOR64_K: u8 = 0xa7;
    pub(crate) const XOR64_X: u8 = 0xaf;
    pub(crate) const XOR32_K: u8 = 0xa4;
    pub(crate) const XOR32_X: u8 = 0xac;
    pub(crate) const MOV64_K: u8 = 0xb7;
    pub(crate) const MOV64_X: u8 = 0xbf;
    pub(crate) const MOV32_K: u8 = 0xb4;
    pub(crate) const MOV32_X: u8 = 0xbc;
    pub(crate) const ARSH64_K: u8 = 0xc7;
    pub(crate) const ARSH64_X: u8 = 0xcf;
    pub(crate) const ARSH32_K: u8 = 0xc4;
    pub(crate) const ARSH32_X: u8 = 0xcc;
    pub(crate) const NEG64: u8 = 0x87;
    pub(crate) const NEG32: u8 = 0x84;
    pub(crate) const JA: u8 = 0x05;
    pub(crate) const JEQ64_K: u8 = 0x15;
    pub(crate) const JEQ64_X: u8 = 0x1d;
    pub(crate) const JEQ32_K: u8 = 0x16;
    pub(crate) const JEQ32_X: u8 = 0x1e;
    pub(crate) const JGT64_K: u8 = 0x25;
    pub(crate) const JGT64_X: u8 = 0x2d;
    pub(crate) const JGT32_K: u8 = 0x26;
    pub(crate) const JGT32_X: u8 = 0x2e;
    pub(crate) const JGE64_K: u8 = 0x35;
    pub(crate) const JGE64_X: u8 = 0x3d;
    pub(crate) const JGE32_K: u8 = 0x36;
    pub(crate) const JGE32_X: u8 = 0x3e;
    pub(crate) const JSET64_K: u8 = 0x45;
    pub(crate) const JSET64_X: u8 = 0x4d;
    pub(crate) const JSET32_K: u8 = 0x46;
    pub(crate) const JSET32_X: u8 = 0x4e;
    pub(crate) const JNE64_K: u8 = 0x55;
    pub(crate) const JNE64_X: u8 = 0x5d;
    pub(crate) const JNE32_K: u8 = 0x56;
    pub(crate) const JNE32_X: u8 = 0x5e;
    pub(crate) const JSGT64_K: u8 = 0x65;
    pub(crate) const JSGT64_X: u8 = 0x6d;
    pub(crate) const JSGT32_K: u8 = 0x66;
    pub(crate) const JSGT32_X: u8 = 0x6e;
    pub(crate) const JSGE64_K: u8 = 0x75;
    pub(crate) const JSGE64_X: u8 = 0x7d;
    pub(crate) const JSGE32_K: u8 = 0x76;
    pub(crate) const JSGE32_X: u8 = 0x7e;
    pub(crate) const JLT64_K: u8 = 0xa5;
    pub(crate) const JLT64_X: u8 = 0xad;
    pub(crate) const JLT32_K: u8 = 0xa6;
    pub(crate) const JLT32_X: u8 = 0xae;
    pub(crate) const JLE64_K: u8 = 0xb5;
    pub(crate) const JLE64_X: u8 = 0xbd;
    pub(crate) const JLE32_K: u8 = 0xb6;
    pub(crate) const JLE32_X: u8 = 0xbe;
    pub(crate) const JSLT64_K: u8 = 0xc5;
    pub(crate) const JSLT64_X: u8 = 0xcd;
    pub(crate) const JSLT32_K: u8 = 0xc6;
    pub(crate) const JSLT32_X: u8 = 0xce;
    pub(crate) const JSLE64_K: u8 = 0xd5;
    pub(crate) const JSLE64_X: u8 = 0xdd;
    pub(crate) const JSLE32_K: u8 = 0xd6;
    pub(crate) const JSLE32_X: u8 = 0xde;
    pub(crate) const EXIT: u8 = 0x95;
    pub(crate) const LDDW: u8 = 0x18;
    pub(crate) const LDX_B: u8 = 0x71;
    pub(crate) const LDXS_B: u8 = 0x91;
    pub(crate) const ST_B: u8 = 0x72;
    pub(crate) const STX_B: u8 = 0x73;
    pub(crate) const LDX_H: u8 = 0x69;
    pub(crate) const LDXS_H: u8 = 0x89;
    pub(crate) const ST_H: u8 = 0x6a;
    pub(crate) const STX_H: u8 = 0x6b;
    pub(crate) const LDX_W: u8 = 0x61;
    pub(crate) const LDXS_W: u8 = 0x81;
    pub(crate) const ST_W: u8 = 0x62;
    pub(crate) const STX_W: u8 = 0x63;
    pub(crate) const LDX_DW: u8 = 0x79;
    pub(crate) const ST_DW: u8 = 0x7a;
    pub(crate) const STX_DW: u8 = 0x7b;

    /// Atomics of each width; `imm` holds the ISA's operation.
    pub(crate) const ATOMIC_B: u8 = 0xd3;
    pub(crate) const ATOMIC_H: u8 = 0xcb;
    pub(crate) const ATOMIC_W: u8 = 0xc3;
    pub(crate) const ATOMIC_DW: u8 = 0xdb;
    /// Call of a BPF function; `off` is the op it starts at.
    pub(crate) const CALL: u8 = 0x85;
    /// `may_goto`: jumps once the frame's loop budget is used up.
    pub(crate) const MAY_GOTO: u8 = 0xe5;

    // Bytes that the ISA does not use.
    pub(crate) const SDIV64_K: u8 = 0x0;
    pub(crate) const SDIV64_X: u8 = 0x8;
    pub(crate) const SDIV32_K: u8 = 0x10;
    pub(crate) const SDIV32_X: u8 = 0x20;
    pub(crate) const SMOD64_K: u8 = 0x28;
    pub(crate) const SMOD64_X: u8 = 0x30;
    pub(crate) const SMOD32_K: u8 = 0x38;
    pub(crate) const SMOD32_X: u8 = 0x40;
    /// Sign-extending moves: width of the result, width of the source.
    pub(crate) const MOVSX64_B: u8 = 0x48;
    pub(crate) const MOVSX64_H: u8 = 0x50;
    pub(crate) const MOVSX64_W: u8 = 0x58;
    pub(crate) const MOVSX32_B: u8 = 0x60;
    pub(crate) const MOVSX32_H: u8 = 0x68;
    /// Byte swaps.
    pub(crate) const SWAP16: u8 = 0x70;
    pub(crate) const SWAP32: u8 = 0x78;
    pub(crate) const SWAP64: u8 = 0x80;
    /// Arena pointer from user form to kernel form.
    pub(crate) const CAST_KERN: u8 = 0x88;
    /// Arena pointer from kernel form to user form.
    pub(crate) const CAST_USER: u8 = 0x90;
    /// Call of a helper or kernel function; `imm` indexes `Program::callees`, `off` is the
    /// helper's number.
    pub(crate) const CALL_HOST: u8 = 0x98;
    /// `bpf_map_lookup_elem` of a known array, which the kernel also inlines; `imm` is
    /// the map's number.
    pub(crate) const LOOKUP_ARRAY: u8 = 0xa0;
    /// A fault when reached; `imm` indexes `Program::traps`.
    pub(crate) const TRAP: u8 = 0xa8;
    // A load of which the low byte of `imm` says the code, through an argument that may be NULL:
    // the rest of `imm` is the index of its name.
    pub(crate) const LOAD_NULLABLE: u8 = 0x99;
    /// Nothing, and not counted: exists only while decoding.
    pub(crate) const NOP: u8 = 0xb0;
}

/// Whether `off` of such an op is the index of an op of the same function.
pub(super) fn is_jump(op: u8) -> bool {
    let class = op & field::CLASS;
    op == code::MAY_GOTO
        || op == code::JA
        || ((class == class::JMP || class == class::JMP32) && op != code::CALL && op != code::EXIT)
}

/// Whether the op loads with `smp_load_acquire()`.
fn loads_atomically(op: Op) -> bool {
    op.code & field::MODE == mode::ATOMIC && op.imm == atomic::LOAD_ACQUIRE as u64
}

/// Width and base register of a memory access: `(base, bytes)`.
pub(super) fn accessed(op: Op) -> Option<(u8, i32)> {
    let size = match op.code & field::SIZE {
        size::B => 1,
        size::H => 2,
        size::W => 4,
        _ => 8,
    };
    match op.code & field::CLASS {
        class::LDX => Some((op.src, size)),
        class::ST => Some((op.dst, size)),
        class::STX if loads_atomically(op) => Some((op.src, size)),
        class::STX => Some((op.dst, size)),
        _ => None,
    }
}

/// Whether the op's `dst` is a register that it changes.
pub(super) fn writes_dst(op: Op) -> bool {
    match op.code & field::CLASS {
        class::LDX | class::ALU32 | class::ALU64 => true,
        class::LD => op.code < code::CALL_HOST,
        class::STX => loads_atomically(op),
        _ => false,
    }
}
