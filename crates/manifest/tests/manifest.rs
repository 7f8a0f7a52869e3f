// SPDX-License-Identifier: MIT OR Apache-2.0
//! Manifests read and worked out as a user would write them.

use proptest::prelude::*;
use rota_manifest::{CpuFacts, Manifest, Setup};

/// Kernel constants of these tests.
fn constant(name: &str) -> Option<i128> {
    match name {
        "SCX_SLICE_DFL" => Some(20_000_000),
        "SCX_OPS_ENQ_LAST" => Some(2),
        "SCX_OPS_ENQ_EXITING" => Some(4),
        _ => None,
    }
}

fn smt(cores: u32) -> CpuFacts {
    let cpus = 2 * cores as usize;
    CpuFacts {
        core: (0..2 * cores).map(|c| c / 2).collect(),
        llc: vec![0; cpus],
        node: vec![0; cpus],
    }
}

fn expand(text: &str, facts: &CpuFacts) -> Result<Setup, String> {
    let manifest = Manifest::parse("m.toml", text).map_err(|e| e.to_string())?;
    manifest.expand(facts, &constant).map_err(|e| e.to_string())
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

#[test]
fn plain_values_pass_through_as_text() {
    let text = r#"
        [set]
        slice_ns = 5000000
        alpha = "0.4"
        verbose = true
        table = [7, 8]
        cfg = { limit = -1, deep = { x = 2 } }
    "#;
    let setup = expand(text, &CpuFacts::flat(1)).unwrap();
    let expected = [
        ("alpha", "0.4"),
        ("cfg.deep.x", "2"),
        ("cfg.limit", "-1"),
        ("slice_ns", "5000000"),
        ("table[0]", "7"),
        ("table[1]", "8"),
        ("verbose", "true"),
    ];
    let mut set = setup.set;
    set.sort();
    assert_eq!(set, pairs(&expected));
}

#[test]
fn computed_values_know_machine_and_kernel() {
    let text = r#"
        [set]
        nr_cpu_ids = "=nr_cpus"
        slice_ns = "=SCX_SLICE_DFL / 4"
        [ops]
        flags = "=SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING"
        [resize]
        started_at = "=nr_cpus"
        [maps.pair_ctx]
        max_entries = "=nr_cpus / 2"
    "#;
    let setup = expand(text, &CpuFacts::flat(16)).unwrap();
    assert_eq!(setup.set, pairs(&[("nr_cpu_ids", "16"), ("slice_ns", "5000000")]));
    assert_eq!(setup.ops, pairs(&[("flags", "6")]));
    assert_eq!(setup.resize, [("started_at".to_string(), 16)]);
    assert_eq!(setup.max_entries, [("pair_ctx".to_string(), 8)]);
}

#[test]
fn index_cpu_stands_for_every_cpu_and_a_single_one_wins() {
    let text = r#"
        [set]
        "pair_cpu[0]" = 9
        "pair_cpu[cpu]" = "=sibling(cpu)"
    "#;
    let setup = expand(text, &smt(2)).unwrap();
    let expected = [
        ("pair_cpu[0]", "1"),
        ("pair_cpu[1]", "0"),
        ("pair_cpu[2]", "3"),
        ("pair_cpu[3]", "2"),
        ("pair_cpu[0]", "9"),
    ];
    assert_eq!(setup.set, pairs(&expected));
}

#[test]
fn runs_repeat_for_each_cpu_where_the_condition_holds() {
    let text = r#"
        [[run]]
        program = "enable_primary_cpu"
        ctx = { cpu_id = -1 }
        [[run]]
        program = "enable_sibling_cpu"
        each = "cpu"
        when = "=sibling(cpu) > cpu"
        ctx = { cpu_id = "=cpu", sibling_cpu_id = "=sibling(cpu)" }
    "#;
    let setup = expand(text, &smt(2)).unwrap();
    let runs: Vec<_> = setup.runs.iter().map(|r| (r.program.as_str(), r.ctx.clone())).collect();
    let expected = vec![
        ("enable_primary_cpu", pairs(&[("cpu_id", "-1")])),
        ("enable_sibling_cpu", pairs(&[("cpu_id", "0"), ("sibling_cpu_id", "1")])),
        ("enable_sibling_cpu", pairs(&[("cpu_id", "2"), ("sibling_cpu_id", "3")])),
    ];
    assert_eq!(runs, expected);
}

#[test]
fn map_contents_keep_their_members_apart() {
    let text = r#"
        [maps.layers]
        inner_maps = true
        entries = [{ key = 3, value = { weight = "=100 * nr_cpus", cpus = [0, 1] } }]
    "#;
    let setup = expand(text, &CpuFacts::flat(2)).unwrap();
    assert_eq!(setup.inner_maps, ["layers"]);
    assert_eq!(setup.entries[0].map, "layers");
    assert_eq!(setup.entries[0].key, pairs(&[("", "3")]));
    let mut value = setup.entries[0].value.clone();
    value.sort();
    assert_eq!(value, pairs(&[("cpus[0]", "0"), ("cpus[1]", "1"), ("weight", "200")]));
}

#[test]
fn requirement_that_fails_says_what_the_author_wrote() {
    let text =
        "[[require]]\nthat = \"=nr_cpus % 2 == 0\"\nelse = \"pairs need an even number of CPUs\"\n";
    assert_eq!(expand(text, &CpuFacts::flat(4)), Ok(Setup::default()));
    let refused = expand(text, &CpuFacts::flat(3));
    assert_eq!(refused, Err("m.toml:2: pairs need an even number of CPUs".to_string()));
}

#[test]
fn mistakes_name_line_key_and_expectation() {
    let facts = CpuFacts::flat(4);
    for (text, message) in [
        ("[set]\nx = \"=nr_cpu\"", "m.toml:2: x: unknown name nr_cpu: expected nr_cpus, nr_cores, nr_llcs, nr_nodes, smt, cpu or a kernel constant"),
        ("[set]\nx = \"=1 +\"", "m.toml:2: x: expected a value, found the end"),
        ("[set]\n\nx = \"=cpu\"", "m.toml:3: x: \"cpu\" has a value only under an index [cpu] or with each = \"cpu\""),
        ("[set]\nx = \"=llc(4)\"", "m.toml:2: x: llc(4): the machine has CPUs 0 to 3"),
        ("[set]\nx = \"=speed(0)\"", "m.toml:2: x: unknown function speed: expected core(), llc(), node() or sibling()"),
        ("[resize]\nx = 0", "m.toml:2: x: 0 is not a size: expected 1 to 2^32-1"),
        ("[resize]\nx = \"many\"", "m.toml:2: x: expected a number or \"= expression\", found \"many\""),
        ("[maps.m]\nmax_entries = [1]", "m.toml:2: m: expected a single value, found a list or table"),
        ("[set]\nx = 2026-01-01", "m.toml:2: x: a date is not a value for a variable"),
    ] {
        assert_eq!(expand(text, &facts), Err(message.to_string()), "{text}");
    }
}

#[test]
fn unknown_keys_are_errors() {
    for text in ["[sets]\nx = 1", "[[run]]\nprogram = \"p\"\neach = \"node\"", "[[run]]\nctx = {}"]
    {
        let message = expand(text, &CpuFacts::flat(1)).unwrap_err();
        assert!(message.starts_with("m.toml:"), "{message}");
    }
    let typo = expand("[set]\nx = 1\n[[run]]\nprogramme = \"p\"", &CpuFacts::flat(1));
    let message = typo.unwrap_err();
    assert!(message.starts_with("m.toml:4: unknown field `programme`"), "{message}");
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = expand(&text, &CpuFacts::flat(3));
    }

    #[test]
    fn arbitrary_expressions_never_panic(
        expression in "[-+*/%<>=!~&|^?:() a-z0-9_]{0,40}",
        cpus in 0u32..5,
    ) {
        let text = format!("[set]\n\"x[cpu]\" = \"={expression}\"\n[resize]\ny = \"={expression}\"");
        let _ = expand(&text, &CpuFacts::flat(cpus));
    }
}
