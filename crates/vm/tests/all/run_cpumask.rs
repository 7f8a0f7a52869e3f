// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU masks against bits in a Rust integer, for machines of one to 128 CPUs.

use crate::run_support::asm::*;
use crate::run_support::{Builder, Hosted, TestHost};
use proptest::prelude::*;
use rota_vm::memory::Perm;

const TWO_MASKS: [&str; 5] = [
    "bpf_cpumask_equal",
    "bpf_cpumask_intersects",
    "bpf_cpumask_subset",
    "bpf_cpumask_first_and",
    "bpf_cpumask_any_and_distribute",
];
const ONE_MASK: [&str; 6] = [
    "bpf_cpumask_first",
    "bpf_cpumask_first_zero",
    "bpf_cpumask_empty",
    "bpf_cpumask_full",
    "bpf_cpumask_weight",
    "bpf_cpumask_any_distribute",
];
const COMBINE: [&str; 3] = ["bpf_cpumask_and", "bpf_cpumask_or", "bpf_cpumask_xor"];
const OTHERS: [&str; 7] = [
    "bpf_cpumask_set_cpu",
    "bpf_cpumask_clear_cpu",
    "bpf_cpumask_test_cpu",
    "bpf_cpumask_test_and_set_cpu",
    "bpf_cpumask_test_and_clear_cpu",
    "bpf_cpumask_setall",
    "bpf_cpumask_copy",
];

/// A machine whose functions call one kernel function each with their own arguments.
struct Masks {
    machine: Hosted,
    names: Vec<&'static str>,
    cpus: u32,
}

impl Masks {
    fn new(cpus: u32) -> Self {
        let names: Vec<_> =
            [&TWO_MASKS[..], &ONE_MASK, &COMBINE, &OTHERS, &["bpf_cpumask_create"]].concat();
        let mut builder = Builder::new();
        for &name in &names {
            builder = builder.function(name, vec![kfunc(name), exit()]);
        }
        let mut host = TestHost::new();
        host.nr_cpus = cpus;
        Self { machine: builder.start_with(host, Vec::new()), names, cpus }
    }

    fn call(&mut self, name: &str, args: &[u64]) -> u64 {
        let func = self.names.iter().position(|&known| known == name).unwrap();
        self.machine.call(func as u32, args).expect("no fault").r0
    }

    fn mask(&mut self, bits: u128) -> u64 {
        let addr = self.machine.host.memory.alloc("mask", 1024, Perm::ReadWrite);
        self.machine.host.memory.bytes_mut(addr, 16).unwrap().copy_from_slice(&bits.to_le_bytes());
        addr
    }

    fn bits(&self, addr: u64) -> u128 {
        let bytes = self.machine.host.memory.bytes(addr, 16).unwrap();
        u128::from_le_bytes(bytes.try_into().unwrap()) & self.valid()
    }

    fn valid(&self) -> u128 {
        u128::MAX >> (128 - self.cpus)
    }

    fn lowest(&self, bits: u128) -> u64 {
        u64::from((bits & self.valid()).trailing_zeros().min(self.cpus))
    }
}

proptest! {
    #[test]
    fn masks_behave_like_integers(
        cpus in 1u32..=128, a in any::<u128>(), b in any::<u128>(),
        sparse in any::<bool>(), cpu in 0u32..140,
    ) {
        let (a, b) = if sparse { (a & a.rotate_left(9) & a.rotate_left(31), b & a.rotate_left(5)) } else { (a, b) };
        let mut m = Masks::new(cpus);
        let valid = m.valid();
        let (va, vb) = (a & valid, b & valid);
        let (pa, pb, pc) = (m.mask(a), m.mask(b), m.mask(0));

        prop_assert_eq!(m.call("bpf_cpumask_equal", &[pa, pb]) == 1, va == vb);
        prop_assert_eq!(m.call("bpf_cpumask_intersects", &[pa, pb]) == 1, va & vb != 0);
        prop_assert_eq!(m.call("bpf_cpumask_subset", &[pa, pb]) == 1, va & !vb == 0);
        prop_assert_eq!(m.call("bpf_cpumask_empty", &[pa]) == 1, va == 0);
        prop_assert_eq!(m.call("bpf_cpumask_full", &[pa]) == 1, va == valid);
        prop_assert_eq!(m.call("bpf_cpumask_weight", &[pa]), u64::from(va.count_ones()));
        prop_assert_eq!(m.call("bpf_cpumask_first", &[pa]), m.lowest(a));
        prop_assert_eq!(m.call("bpf_cpumask_first_zero", &[pa]), m.lowest(!a));
        prop_assert_eq!(m.call("bpf_cpumask_first_and", &[pa, pb]), m.lowest(a & b));

        for (name, expected) in COMBINE.iter().zip([va & vb, va | vb, va ^ vb]) {
            m.call(name, &[pc, pa, pb]);
            prop_assert_eq!(m.bits(pc), expected, "{}", name);
        }
        prop_assert_eq!(m.call("bpf_cpumask_and", &[pc, pa, pb]) == 1, va & vb != 0);

        let bit = if cpu < cpus { 1u128 << cpu } else { 0 };
        let had = u64::from(a & bit != 0);
        prop_assert_eq!(m.call("bpf_cpumask_test_cpu", &[cpu.into(), pa]), had);
        prop_assert_eq!(m.call("bpf_cpumask_test_and_set_cpu", &[cpu.into(), pa]), had);
        prop_assert_eq!(m.bits(pa), va | bit);
        prop_assert_eq!(m.call("bpf_cpumask_test_and_clear_cpu", &[cpu.into(), pa]), u64::from(bit != 0));
        prop_assert_eq!(m.bits(pa), va & !bit);
        m.call("bpf_cpumask_copy", &[pa, pb]);
        prop_assert_eq!(m.bits(pa), vb);
        m.call("bpf_cpumask_setall", &[pa]);
        prop_assert_eq!(m.bits(pa), valid);
    }

    #[test]
    fn distribution_visits_every_cpu_in_turn(cpus in 2u32..=128, bits in 1u128..) {
        let mut m = Masks::new(cpus);
        let bits = bits & m.valid();
        let count = bits.count_ones();
        let mask = m.mask(bits);
        let seen: Vec<u64> = (0..count).map(|_| m.call("bpf_cpumask_any_distribute", &[mask])).collect();
        let mut sorted = seen.clone();
        sorted.sort_unstable();
        let expected: Vec<u64> = (0..u64::from(cpus)).filter(|&cpu| bits >> cpu & 1 == 1).collect();
        prop_assert_eq!(sorted, expected);
        // The first choice starts behind CPU 0.
        if bits >> 1 != 0 {
            prop_assert_eq!(seen[0], m.lowest(bits & !1));
        }
    }
}

#[test]
fn empty_intersection_gives_the_number_of_cpus() {
    let mut m = Masks::new(6);
    let (a, b) = (m.mask(0b01_0101), m.mask(0b10_1010));
    assert_eq!(m.call("bpf_cpumask_first_and", &[a, b]), 6);
    assert_eq!(m.call("bpf_cpumask_any_and_distribute", &[a, b]), 6);
}
