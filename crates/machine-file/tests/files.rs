// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine files: what presets have, what is refused and how, and that a written file is the machine.

use proptest::prelude::*;
use rota_machine::hardware::parts::Ipi;
use rota_machine::kernel::{Preempt, Release, Settings};
use rota_machine_file::{models, parse, preset, Machine, PRESETS};

fn error(text: &str) -> String {
    parse("m.toml", text).expect_err("refused").to_string()
}

fn on(machine: &Machine) -> Vec<&'static str> {
    let all = models(&machine.topology, machine.hardware.as_deref());
    all.into_iter().filter(|model| model.is_on).map(|model| model.name).collect()
}

#[test]
fn what_is_known_of_the_kernel_is_read_and_written() {
    let text = "schema = 1\n[topology]\ncpus = 2\n[kernel]\n";
    for (keys, release, hz, preempt, slice) in [
        ("hz = 1000\npreempt = \"voluntary\"\n", None, Some(1000), Some(Preempt::Voluntary), None),
        ("base_slice_ns = 2800000\n", None, None, None, Some(2_800_000)),
        ("release = \"6.18.44\"\n", Release::find("6.18"), None, None, None),
    ] {
        let machine = parse("m.toml", &format!("{text}{keys}")).expect("a machine");
        let expected = Settings { release, hz, preempt, base_slice_ns: slice };
        assert_eq!(machine.kernel, expected);
        let again = parse("m.toml", &machine.to_toml()).expect("as written");
        assert_eq!(again.kernel, expected);
        assert_eq!(machine.config(1).hz, hz.unwrap_or(250));
    }
    assert!(!preset("server").expect("a preset").to_toml().contains("[kernel]"));
}

#[test]
fn a_kernel_that_cannot_be_is_refused() {
    for (keys, what) in [
        ("hz = 0", "m.toml:4: hz = 0: expected 1 to 100000"),
        (
            "preempt = \"often\"",
            "m.toml:4: preempt = \"often\": expected \"none\", \"voluntary\", \"full\" or \"lazy\"",
        ),
        (
            "release = \"new\"",
            "m.toml:4: release = \"new\": expected a release of Linux, as \"6.18\"",
        ),
        ("base_slice_ns = 99999", "m.toml:4: base_slice_ns = 99999: expected 100000 to 100000000"),
        ("Hz = 1", "did you mean hz?"),
    ] {
        let told = error(&format!("schema = 1\ntopology.cpus = 2\n[kernel]\n{keys}\n"));
        assert!(told.contains(what), "{told}");
    }
}

#[test]
fn presets_have_the_cores_that_they_are_named_after() {
    let shape = |name| {
        let t = preset(name).expect("a preset").topology;
        (t.cpus(), t.cores(), t.llcs(), t.nodes())
    };
    assert_eq!(shape("flat"), (4, 4, 1, 1));
    assert_eq!(shape("server"), (32, 16, 2, 1));
    assert_eq!(shape("two-socket"), (64, 32, 4, 2));
    assert_eq!(shape("hybrid"), (20, 14, 1, 1));
    assert_eq!(shape("phone"), (8, 8, 1, 1));
    assert_eq!(shape("cloud-2"), (2, 2, 1, 1));
    let two = preset("two-socket").expect("a preset").topology;
    assert_eq!(two.siblings(0).iter().collect::<Vec<_>>(), [0, 32]);
    assert_eq!(two.distance(0, 1), 21);
    let hybrid = preset("hybrid").expect("a preset").topology;
    assert_eq!(hybrid.cluster_cpus(13).iter().collect::<Vec<_>>(), [12, 13, 14, 15]);
    assert!(preset("severe")
        .expect_err("none")
        .to_string()
        .contains("expected one of flat, server"));
}

#[test]
fn a_model_is_on_where_the_machine_has_its_part() {
    let of = |name| on(&preset(name).expect("a preset"));
    assert_eq!(of("flat"), [] as [&str; 0]);
    assert_eq!(of("server"), ["SMT", "caches", "frequency", "idle states", "interrupts"]);
    assert_eq!(
        of("phone"),
        ["core types", "caches", "frequency", "energy", "idle states", "interrupts"]
    );
    assert_eq!(of("cloud-2"), ["caches", "interrupts"]);
}

#[test]
fn presets_assume_nothing() {
    for name in PRESETS {
        assert_eq!(preset(name).expect("a preset").assumed, [], "{name}");
    }
}

#[test]
fn a_written_file_is_the_same_machine() {
    for name in PRESETS {
        let machine = preset(name).expect("a preset");
        let again = parse(name, &machine.to_toml()).expect("as written");
        assert_eq!(again.topology, machine.topology, "{name}");
        assert_eq!(again.hardware, machine.hardware, "{name}");
        assert_eq!(again.costs, machine.costs, "{name}");
        assert_eq!((again.name, again.source), (machine.name, machine.source));
        assert_eq!(again.assumed, [], "{name}");
    }
}

#[test]
fn what_is_missing_is_taken_from_the_server_and_told() {
    let text = "schema = 1\ntopology = { cpus = 2 }\ncache = { llc_kib = 4096 }\n";
    let machine = parse("small.toml", text).expect("a machine");
    let told: Vec<_> = machine.assumed.iter().map(|a| format!("{}={}", a.key, a.value)).collect();
    assert!(told.contains(&"cache.c2c_ns.llc=25".to_owned()), "{told:?}");
    assert!(!told.iter().any(|key| key.contains("node") || key.contains("sibling")), "{told:?}");
    assert_eq!((machine.name.as_str(), machine.source.as_str()), ("small", "small.toml"));
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_one() {
    let text = "schema = 1\ntopology = { cpus = 2 }\n[cache]\nlcc_kib = 1\n";
    let error = error(text);
    assert!(error.starts_with("m.toml:4: unknown key lcc_kib, expected one of llc_kib"), "{error}");
    assert!(error.ends_with("(did you mean llc_kib?)"), "{error}");
}

#[test]
fn values_that_cannot_be_are_refused_with_line_key_value_and_what_is_expected() {
    let with = |more: &str| error(&format!("schema = 1\ntopology = {{ cpus = 4 }}\n{more}"));
    for (more, expected) in [
        (
            "cache = { refill_ns = { llc = 50, other_llc = 20 } }",
            "refill_ns = { llc = 50, other_llc = 20 }: expected other_llc from 50",
        ),
        ("[[core_type]]\nspeed = 2000", "m.toml:4: speed = 2000: expected 1 to 1024"),
        ("[[core_type]]\nspeed = 900", "speed = 900: expected 1024 for the fastest"),
        ("[[core_type]]\nsmt = 3", "m.toml:4: smt = 3: expected a divisor of the 4 CPUs"),
        ("[[core_type]]\ncpus = \"0-7\"", "cpus = \"0-7\": expected CPUs from 0 to 3"),
        ("[[core_type]]\ncpus = \"0-2\"", "CPU 3 is in none"),
        ("[[core_type]]\n[[core_type]]\ncpus = \"0\"", "CPU 0 is in two"),
        (
            "[[core_type]]\nmhz = { max = 3000, turbo = [[2, 2000], [4, 2500]] }",
            "expected [cores, MHz]",
        ),
        (
            "[[core_type]]\nidle = [{ name = \"C6\", exit_us = 9, residency_us = 5 }]",
            "residency_us of C6 to be its exit_us, 9, or more",
        ),
        (
            "[[core_type]]\nidle = [{ name = \"C6\", exit_us = 9, residency_us = 10000001 }]",
            "exit_us and residency_us of C6 within 10000000",
        ),
        ("[[core_type]]\npoll_us = 10000001", "poll_us = 10000001: expected 0 to 10000000"),
        ("[[core_type]]\ngovernor = { name = \"hardware\" }", "expected mhz"),
        (
            "[[core_type]]\nmhz = { max = 3000 }\ngovernor = { name = \"ondemand\" }",
            "name = \"ondemand\": expected \"performance\"",
        ),
        ("task = { class = \"cpu\" }", "class = \"cpu\": expected \"compute\""),
    ] {
        let error = with(more);
        assert!(error.contains(expected), "{more}: {error}");
    }
    let twice = error("schema = 1\ntopology = { cpus = 2, llc = [\"0-1\", \"1\"] }");
    assert!(twice.contains("CPU 1 is there twice"), "{twice}");
    let missing = error("schema = 1\ntopology = { cpus = 2, node = [\"0\"] }");
    assert!(missing.contains("CPU 1 is missing"), "{missing}");
    let far = error("schema = 1\ntopology = { cpus = 2, llc = 1, node = 1, distance = [[10]] }");
    assert!(far.contains("m.toml:2: topology: distances of nodes: expected 2 rows of 2"), "{far}");
    assert!(error("schema = 2\ntopology = { cpus = 2 }").contains("schema = 2: expected 1"));
    assert!(error("schema = 1\ntopology = { cpus = 0 }").contains("cpus = 0: expected 1 to 512"));
}

proptest! {
    /// One byte of a preset changed, or any text at all.
    #[test]
    fn any_text_is_a_machine_that_can_be_written_or_an_error(
        which in 0..PRESETS.len(), at in any::<prop::sample::Index>(), byte in 32_u8..127, junk in "\\PC{0,40}",
    ) {
        let mut text = preset(PRESETS[which]).expect("a preset").to_toml().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        for text in [String::from_utf8_lossy(&text).into_owned(), junk] {
            if let Ok(machine) = parse("m.toml", &text) {
                let again = parse("m.toml", &machine.to_toml());
                prop_assert_eq!(again.map(|m| m.hardware), Ok(machine.hardware));
            }
        }
    }
}

#[test]
fn power_is_given_in_microwatts_or_as_a_devicetree_has_it() {
    // Linux's gs101.dtsi, at the highest frequencies: 70 * 1803 * 0.90625^2 = 103,654.9 uW,
    // 284 * 2253 * 0.96875^2 = 600,486.1, 650 * 2802 * 1.05625^2 = 2,031,958.96
    let phone = preset("phone").expect("a preset").hardware.expect("it has some");
    let clocks = phone.core_types.iter().map(|kind| kind.clock.as_ref().expect("it has one"));
    let highest: Vec<_> = clocks.map(|clock| clock.power_uw.last().copied()).collect();
    assert_eq!(highest, [Some(103_654), Some(600_486), Some(2_031_958)]);
    let text = |power: &str| {
        format!(
            "schema = 1\ntopology = {{ cpus = 2 }}\n[[core_type]]\n\
             mhz = {{ max = 2000, opps = [1000, 2000] }}\npower = {power}\n"
        )
    };
    let machine = parse("m.toml", &text("{ microwatts = [500, 2500] }")).expect("a machine");
    let kinds = machine.hardware.expect("it has some").core_types.clone();
    assert_eq!(kinds[0].clock.as_ref().expect("it has one").power_uw, [500, 2500]);
    for (power, expected) in [
        (
            "{ microwatts = [500] }",
            "microwatts = [500]: expected a value for each of [1000, 2000] MHz",
        ),
        ("{ microwatts = [9, 8] }", "expected 1 or more, and no less at higher frequencies"),
        ("{ coefficient_uw = 7 }", "expected microwatts, or both coefficient_uw and microvolts"),
        (
            "{ coefficient_uw = 0, microvolts = [1, 2] }",
            "coefficient_uw = 0: expected 1 uW to 4 kW at 1000 MHz and 1 uV",
        ),
    ] {
        let error = error(&text(power));
        assert!(error.contains("m.toml:5") && error.contains(expected), "{error}");
    }
    let lonely =
        "schema = 1\ntopology = { cpus = 2 }\n[[core_type]]\npower = { microwatts = [5] }\n";
    assert!(error(lonely).contains("expected mhz next to it"), "{}", error(lonely));
}

#[test]
fn costs_of_the_kernel_are_what_the_file_says() {
    let text =
        "schema = 1\ntopology = { cpus = 2 }\ncost_ns = { switch = 900, instruction = 0.25 }\n";
    let machine = parse("m.toml", text).expect("a machine");
    assert_eq!((machine.costs.context_switch_ns, machine.costs.insn_ps), (900, 250));
    let again = parse("again.toml", &machine.to_toml()).expect("as written");
    assert_eq!(again.costs, machine.costs);
    let error = error(&text.replace("0.25", "-1.0"));
    assert!(
        error.contains("m.toml:3") && error.contains("instruction = -1.0: expected 0 to"),
        "{error}"
    );
}

#[test]
fn interrupts_have_a_price_for_their_sender_and_for_the_task_that_they_meet() {
    let text = "schema = 1\ntopology = { cpus = 2 }\n\
                cost_ns = { ipi = { llc = 600, send = 150, receive = 900 } }\n\
                [[core_type]]\npoll_us = 5\n";
    let machine = parse("m.toml", text).expect("a machine");
    let hardware = machine.hardware.clone().expect("it has");
    let ipi = Ipi { llc_ns: 600, other_llc_ns: 600, send_ns: 150, receive_ns: 900 };
    assert_eq!((hardware.ipi, hardware.core_types[0].poll_ns), (Some(ipi), 5_000));
    let again = parse("again.toml", &machine.to_toml()).expect("as written");
    assert_eq!(again.hardware, machine.hardware);
}
