// SPDX-License-Identifier: MIT OR Apache-2.0
use super::translate;
use crate::liveness::Liveness;
use proptest::prelude::*;
use rota_vm::engine::{Alu, Change, Insn, Kept, Listing, Operand, Simple, Test};

/// Numbers that some forms of instructions have no room for.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        any::<i32>().prop_map(|number| number as u64),
        prop::sample::select(vec![0, 1, 0x7f, 0x80, 0xff, 0x8000, 1 << 31, u64::MAX, 1 << 63]),
    ]
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![(0u8..11).prop_map(Operand::Reg), number().prop_map(Operand::Imm)]
}

fn alu() -> impl Strategy<Value = Alu> {
    use Alu::*;
    prop::sample::select(vec![Add, Sub, Mul, Div, Mod, Or, And, Xor, Mov, Lsh, Rsh, Arsh])
}

fn test() -> impl Strategy<Value = Test> {
    use Test::*;
    let all = vec![Eq, Ne, Gt, Ge, Lt, Le, SignedGt, SignedGe, SignedLt, SignedLe, Common];
    prop::sample::select(all)
}

fn change() -> impl Strategy<Value = Change> {
    any::<bool>().prop_flat_map(|fetch| {
        prop::sample::select(vec![
            Change::Add { fetch },
            Change::Or { fetch },
            Change::And { fetch },
            Change::Xor { fetch },
            Change::Exchange,
            Change::CompareExchange,
        ])
    })
}

fn simple() -> impl Strategy<Value = Option<Simple>> {
    use Simple::*;
    prop::option::of(prop::sample::select(vec![
        Lock, Unlock, Clock, Cpu, Owned, OfCpu, Nothing, First,
    ]))
}

/// Any instruction of a function of so many.
fn insn(count: usize) -> impl Strategy<Value = Insn> {
    let (reg, bytes) = (|| 0u8..11, || prop::sample::select(vec![1u32, 2, 4, 8]));
    let (wide, target) = (any::<bool>, move || 0..count);
    prop_oneof![
        (alu(), wide(), reg(), operand()).prop_map(|(op, wide, dst, by)| Insn::Alu {
            op,
            wide,
            dst,
            by
        }),
        (wide(), reg()).prop_map(|(wide, dst)| Insn::Neg { wide, dst }),
        (wide(), prop::sample::select(vec![8u8, 16, 32]), reg(), reg())
            .prop_map(|(wide, bits, dst, src)| Insn::SignExtend { wide, bits, dst, src }),
        (prop::sample::select(vec![16u8, 32, 64]), reg())
            .prop_map(|(bits, dst)| Insn::Swap { bits, dst }),
        target().prop_map(|target| Insn::Jump { target }),
        (test(), wide(), reg(), operand(), target()).prop_map(
            |(test, wide, left, right, target)| Insn::Branch { test, wide, left, right, target }
        ),
        target().prop_map(|target| Insn::MayGoto { target }),
        (bytes(), [wide(), wide()], reg(), 0u8..10, any::<i32>()).prop_map(
            |(bytes, [signed, nullable], dst, base, offset)| Insn::Load {
                nullable,
                bytes,
                signed,
                dst,
                base,
                offset
            }
        ),
        (prop::sample::select(vec![4u32, 8]), change(), reg(), 0u8..10, any::<i32>()).prop_map(
            |(bytes, how, base, src, offset)| Insn::Change { bytes, how, base, offset, src }
        ),
        (bytes(), reg(), any::<i32>(), operand()).prop_map(|(bytes, base, offset, value)| {
            Insn::Store { bytes, base, offset, value }
        }),
        (any::<u64>(), any::<[u32; 4]>()).prop_map(
            |(base, [entries, stride, cpu_stride, cost])| Insn::Lookup {
                base,
                entries,
                stride,
                cpu_stride,
                cost
            }
        ),
        (any::<u64>(), reg(), reg()).prop_map(|(arena, dst, src)| Insn::ToArena {
            arena,
            dst,
            src
        }),
        (reg(), reg()).prop_map(|(dst, src)| Insn::FromArena { dst, src }),
        (0usize..4).prop_map(|function| Insn::Call { function }),
        (any::<[u32; 2]>(), simple()).prop_map(|([callee, cost], simple)| Insn::CallHost {
            callee,
            cost,
            simple
        }),
        Just(Insn::Exit),
        (reg(), reg()).prop_map(|(dst, src)| Insn::Other { dst, src }),
    ]
}

/// The same as a part of so many functions, from an instruction on.
fn moved(insn: Insn, start: usize, functions: usize) -> Insn {
    match insn {
        Insn::Call { function } => Insn::Call { function: function % functions },
        Insn::Jump { target } => Insn::Jump { target: target + start },
        Insn::MayGoto { target } => Insn::MayGoto { target: target + start },
        Insn::Branch { test, wide, left, right, target } => {
            Insn::Branch { test, wide, left, right, target: target + start }
        }
        insn => insn,
    }
}

/// Functions that may call each other. The last instruction of each is not gone beyond.
fn listing() -> impl Strategy<Value = Listing> {
    let function = (1usize..40).prop_flat_map(|count| prop::collection::vec(insn(count), count));
    prop::collection::vec(function, 1..4).prop_map(|functions| {
        let (mut ranges, mut insns, count) = (Vec::new(), Vec::new(), functions.len());
        for function in functions {
            let start = insns.len();
            insns.extend(function.into_iter().map(|insn| moved(insn, start, count)));
            insns.push(Insn::Exit);
            ranges.push(start..insns.len());
        }
        let kept = vec![Kept { region: 0, bytes: 100, storable: true }];
        Listing { functions: ranges, kept, insns }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_instruction_can_be_encoded(listing in listing()) {
        let liveness = Liveness::of(&listing);
        let place = |_: usize| None;

        for function in &listing.functions {
            let code = translate(&listing, &liveness, function, &place);

            prop_assert!(code.as_ref().is_ok_and(|code| !code.is_empty()), "{code:?}");
        }
    }

    #[test]
    fn what_is_read_before_an_instruction_follows_from_what_is_read_behind_it(
        listing in listing(),
    ) {
        let liveness = Liveness::of(&listing);

        prop_assert!(liveness.is_complete(&listing));
    }
}
