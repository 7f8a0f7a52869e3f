// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tunables that are as the kernel is built and set.

use rota_machine::kernel::{Kernel, Preempt, Release, Settings};
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

#[test]
fn a_policy_preempts_as_the_kernel_and_has_its_base_slice() {
    let object = rota_catalog::find("eevdf").expect("ships").object;
    let on = |settings: Settings| {
        let kernel = Kernel::default().with_settings(&settings);
        let policy = Policy::link("eevdf", object, &kernel).expect("links");
        let of = |name: &str| policy.image().variable_text(name).expect("eevdf has it");
        [of("preempt_full"), of("base_slice_ns"), of("tunable_scaling")].join(" ")
    };
    let mode = |preempt| Settings { preempt: Some(preempt), ..Settings::default() };

    // What the machine does not say is as it ships.
    assert_eq!(on(Settings::default()), "false 700000 log");
    for at_once in [Preempt::None, Preempt::Voluntary, Preempt::Full] {
        assert_eq!(on(mode(at_once)), "true 700000 log", "{at_once}");
    }
    assert_eq!(on(mode(Preempt::Lazy)), "false 700000 log");
    // The kernel's is after scaling.
    let slice = Settings { base_slice_ns: Some(2_800_000), ..Settings::default() };
    assert_eq!(on(slice), "false 2800000 none");
}

#[test]
fn a_policy_does_as_the_release_of_its_machine() {
    // requeue_delayed_entity() calls update_curr() in Linux 7.2 and 7.3, not in 6.12 and 6.18
    let object = rota_catalog::find("eevdf").expect("ships").object;
    let is_old = |kernel: Kernel, release: Option<&str>| {
        let release = release.map(|name| Release::find(name).expect("a release"));
        let kernel = kernel.with_settings(&Settings { release, ..Settings::default() });
        let policy = Policy::link("eevdf", object, &kernel).expect("links");
        policy.image().variable_text("no_requeue_update").expect("eevdf has it") == "true"
    };
    let bundled = |release| Kernel::bundled(release).expect("its types are bundled");

    assert!(is_old(bundled("6.12"), None));
    assert!(!is_old(bundled("7.2"), None));
    assert!(!is_old(bundled("7.3"), None));
    // What is known of the machine goes before the types that are simulated.
    assert!(is_old(bundled("7.2"), Some("6.18.44")));
    assert!(!is_old(bundled("6.12"), Some("7.2")));
}
