// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hostile program calls with whatever it likes.

use crate::caller::{Program, Words};
use crate::object::{in_machine, Loaded};
use proptest::prelude::*;
use rota_object::btf::Btf;

/// Words that mean something in many places: descriptors, sizes, addresses of the caller's memory.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => 0u32..12,
        1 => Just(0x10_0000),
        1 => prop::sample::select(vec![16, 64, 4096, 1 << 10, 1 << 13, 1 << 31, u32::MAX]),
        1 => any::<u32>(),
    ]
}

fn words(values: &[u32]) -> Words {
    let mut words = Words::new(values.len() * 4);
    for (at, value) in values.iter().enumerate() {
        words = words.u32(at * 4, *value);
    }
    words
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_arguments_give_an_answer(
        calls in prop::collection::vec((0u32..40, prop::collection::vec(word(), 0..43)), 1..12),
    ) {
        let mut loaded = Loaded::new();
        for (command, values) in calls {
            if let Ok(reply @ rota_program::bpf::Reply::Descriptor { .. }) =
                loaded.p.call(command, words(&values))
            {
                loaded.p.open(reply);
            }
        }
    }

    #[test]
    fn an_address_beyond_the_callers_memory_is_a_fault(command in 0u32..40, at in any::<u64>()) {
        let mut p = Program::new();
        let result = p.played.call(command, at, 64, &mut p.memory, None);
        prop_assert_eq!(result.err(), Some(rota_program::Errno::EFAULT));
    }

    #[test]
    fn types_are_the_same_after_a_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        // a string table of any text, and types without names of their own
        let name: String = bytes.iter().map(|byte| char::from(b'a' + byte % 26)).collect();
        let empty = Btf::empty();
        let mut more = empty.extend();
        for (at, byte) in bytes.iter().enumerate() {
            more.function(&format!("{name}{at}"), u32::from(byte % 6));
        }
        let btf = more.finish();
        let again = Btf::parse(&btf.to_bytes()).expect("sound");
        prop_assert_eq!(btf.to_bytes(), again.to_bytes());
        prop_assert_eq!(btf.len(), again.len());
        for id in btf.ids() {
            prop_assert_eq!(btf.name(id), again.name(id));
            prop_assert_eq!(format!("{:?}", btf.kind(id)), format!("{:?}", again.kind(id)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn any_arguments_give_an_answer_while_the_machine_is_there(
        calls in prop::collection::vec((0u32..40, prop::collection::vec(word(), 0..43)), 1..40),
    ) {
        let mut loaded = Loaded::new();
        let image = loaded.image();
        in_machine(image, |live| {
            loaded.p.played.fill(live, &mut loaded.p.memory).expect("fills");
            for (command, values) in calls {
                let _ = loaded.p.call_with(command, words(&values), Some(live));
            }
        });
    }
}
