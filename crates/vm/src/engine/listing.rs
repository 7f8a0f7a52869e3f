// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoded code in a form that compilers read.

use std::ops::Range;

/// The decoded functions of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Instructions of each function. The last of each is never gone beyond.
    pub functions: Vec<Range<usize>>,
    /// Regions that are there as long as the program can run.
    pub kept: Vec<Kept>,
    /// All instructions. Targets of jumps are indexes of instructions of the same function.
    pub insns: Vec<Insn>,
}

/// A region that stays as it is: loads of all of its bytes are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its number.
    pub region: u32,
    /// Its size.
    pub bytes: u32,
    /// Stores are allowed, too.
    pub storable: bool,
}

/// An operation on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Unsigned quotient; 0 if by 0.
    Div,
    /// Unsigned remainder; the dividend if by 0.
    Mod,
    /// Bits in either.
    Or,
    /// Bits in both.
    And,
    /// Bits in one of them.
    Xor,
    /// The second operand.
    Mov,
    /// Shift to the left, by as many bits as the second operand has modulo the width.
    Lsh,
    /// Shift to the right, likewise.
    Rsh,
    /// Shift to the right that keeps the sign, likewise.
    Arsh,
}

/// A change of bytes in memory, which are a number `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `n + src`; `src` becomes `n` if it fetches.
    Add {
        /// It does.
        fetch: bool,
    },
    /// `n | src`, likewise.
    Or {
        /// It does.
        fetch: bool,
    },
    /// `n & src`, likewise.
    And {
        /// It does.
        fetch: bool,
    },
    /// `n ^ src`, likewise.
    Xor {
        /// It does.
        fetch: bool,
    },
    /// `src`, which becomes `n`.
    Exchange,
    /// `src` if `n` is r0, else `n`; r0 becomes `n`.
    CompareExchange,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater, of signed numbers.
    SignedGt,
    /// Greater or equal, of signed numbers.
    SignedGe,
    /// Less, of signed numbers.
    SignedLt,
    /// Less or equal, of signed numbers.
    SignedLe,
    /// A common bit.
    Common,
}

/// The second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Reg(u8),
    /// A number.
    Imm(u64),
}

/// A helper that compiled code can do itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simple {
    /// `bpf_spin_lock`: the 4 bytes at r1 go from 0 to 1.
    Lock,
    /// `bpf_spin_unlock`: they go from anything else to 0.
    Unlock,
    /// `bpf_ktime_get_ns`: [`View::now_ns`](super::View::now_ns).
    Clock,
    /// `bpf_get_smp_processor_id`: [`View::cpu`](super::View::cpu).
    Cpu,
    /// `bpf_task_storage_get` and its like: of what r2 owns in the map r1, with the flags in r4
    /// ([`MapView::values`](super::MapView::values)).
    Owned,
    /// `bpf_map_lookup_percpu_elem`: the address of the element of the array r1 whose index is the 4
    /// bytes at r2, of the CPU r3.
    OfCpu,
    /// Nothing; the result is 0.
    Nothing,
    /// The result is r1.
    First,
}

/// One instruction. Each counts one, those with a `cost` that in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insn {
    /// `dst = dst OP by`. If it is not `wide`, on the low halves, and the high half becomes 0.
    Alu {
        /// What is done.
        op: Alu,
        /// 64 bits.
        wide: bool,
        /// First operand and result.
        dst: u8,
        /// Second operand.
        by: Operand,
    },
    /// `dst = -dst`, of the low half if not `wide`.
    Neg {
        /// 64 bits.
        wide: bool,
        /// Operand and result.
        dst: u8,
    },
    /// `dst` is the low `bits` of `src` with their sign extended, to 32 bits if not `wide`.
    SignExtend {
        /// To 64 bits.
        wide: bool,
        /// 8, 16 or 32.
        bits: u8,
        /// Result.
        dst: u8,
        /// Operand.
        src: u8,
    },
    /// The low `bits` of `dst` in the opposite order of bytes.
    Swap {
        /// 16, 32 or 64.
        bits: u8,
        /// Operand and result.
        dst: u8,
    },
    /// Goes on at `target`.
    Jump {
        /// Index of an instruction.
        target: usize,
    },
    /// Goes on at `target` if `left TEST right` holds, of the low halves if not `wide`.
    Branch {
        /// What is compared.
        test: Test,
        /// 64 bits.
        wide: bool,
        /// First operand.
        left: u8,
        /// Second operand.
        right: Operand,
        /// Index of an instruction.
        target: usize,
    },
    /// Goes on at `target` once the frame's loops are used up ([`FrameStack::loops_left`](super::FrameStack::loops_left)).
    MayGoto {
        /// Index of an instruction.
        target: usize,
    },
    /// `dst` is what is at `base + offset`.
    Load {
        /// An address below [`FIRST_ADDRESS`](super::FIRST_ADDRESS) is a fault.
        nullable: bool,
        /// 1, 2, 4 or 8.
        bytes: u32,
        /// Its sign is extended.
        signed: bool,
        /// Result.
        dst: u8,
        /// Address.
        base: u8,
        /// What is added to it.
        offset: i32,
    },
    /// Stores at `base + offset`.
    Store {
        /// 1, 2, 4 or 8.
        bytes: u32,
        /// Address.
        base: u8,
        /// What is added to it.
        offset: i32,
        /// The low bytes of this are stored.
        value: Operand,
    },
    /// What is at `base + offset` is changed.
    Change {
        /// 4 or 8.
        bytes: u32,
        /// How.
        how: Change,
        /// Address.
        base: u8,
        /// What is added to it.
        offset: i32,
        /// Operand.
        src: u8,
    },
    /// `r0` is the address of the element of an array whose index is the 4 bytes at r2, or 0.
    Lookup {
        /// Address of the first.
        base: u64,
        /// Number of elements.
        entries: u32,
        /// Bytes from one to the next.
        stride: u32,
        /// Bytes from one CPU's to the next CPU's.
        cpu_stride: u32,
        /// Instructions.
        cost: u32,
    },
    /// A pointer into the arena at `arena`, of which the low half of `src` is the offset; 0 stays 0.
    ToArena {
        /// Address.
        arena: u64,
        /// Result.
        dst: u8,
        /// Operand.
        src: u8,
    },
    /// `dst` is `src`, or 0 if that has a low half of 0.
    FromArena {
        /// Result.
        dst: u8,
        /// Operand.
        src: u8,
    },
    /// Calls a function of the listing.
    Call {
        /// Its index.
        function: usize,
    },
    /// Calls a helper or kernel function ([`Guest::call`](super::Guest::call)).
    CallHost {
        /// Its number among those that the program calls.
        callee: u32,
        /// Instructions, unless the callee charges more.
        cost: u32,
        /// What it does, if that is known. Whatever it does not do is the host's.
        simple: Option<Simple>,
    },
    /// Returns.
    Exit,
    /// Anything else ([`Guest::step`](super::Guest::step)). It reads no other registers than these and
    /// r0, and changes no others.
    Other {
        /// Register.
        dst: u8,
        /// Register.
        src: u8,
    },
}
