// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tunables that follow the kernel's tick.

use rota_machine::kernel::Kernel;
use rota_sim::Policy;

/// The shipped eevdf, whose `tick_ns` follows the tick, for a kernel with so many per second.
fn eevdf(hz: u32) -> Policy {
    let object = rota_catalog::find("eevdf").expect("ships").object;
    Policy::link("eevdf", object, &Kernel::default().with_hz(hz)).expect("links")
}

fn tick_ns(policy: &Policy) -> String {
    policy.image().variable_text("tick_ns").expect("eevdf has it")
}

#[test]
fn a_policy_knows_the_tick_of_the_kernel_for_which_it_is_linked() {
    for (hz, expected) in [(100, "10000000"), (250, "4000000"), (300, "3333333"), (1000, "1000000")]
    {
        assert_eq!(tick_ns(&eevdf(hz)), expected, "{hz}");
    }
}

#[test]
fn a_tick_out_of_the_range_of_the_tunable_is_its_nearest_end() {
    assert_eq!(tick_ns(&eevdf(24)), "10000000");
    assert_eq!(tick_ns(&eevdf(10_000)), "1000000");
}

#[test]
fn a_tick_that_is_set_stays() {
    let mut policy = eevdf(1000);

    policy.set("tick_ns", "8ms").expect("in range");

    assert_eq!(tick_ns(&policy), "8000000");
}
