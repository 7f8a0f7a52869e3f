// SPDX-License-Identifier: MIT OR Apache-2.0
//! Manifests read and worked out as a user would write them.

use proptest::prelude::*;
use rota_manifest::{CpuFacts, Manifest, Object, Run, Setup, Step, Timed, Timing, Value};

/// The object of these tests, and its kernel.
struct Small;

impl Object for Small {
    fn constant(&self, name: &str) -> Option<i128> {
        match name {
            "SCX_SLICE_DFL" => Some(20_000_000),
            "SCX_OPS_ENQ_LAST" => Some(2),
            "SCX_OPS_ENQ_EXITING" => Some(4),
            _ => None,
        }
    }

    fn has_function(&self, name: &str) -> bool {
        name == "scx_bpf_cpu_curr"
    }

    fn size_of(&self, name: &str) -> Option<u32> {
        (name == "task_ctx").then_some(96)
    }

    fn has_variable(&self, path: &str) -> bool {
        path.starts_with("slice_ns")
    }

    fn has_member(&self, name: &str) -> bool {
        name == "flags"
    }

    fn has_program(&self, name: &str) -> bool {
        name == "on_switch"
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
    manifest.expand(facts, &Small).map_err(|e| e.to_string())
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
    let expected = [
        step("enable_primary_cpu", &[("cpu_id", "-1")]),
        step("enable_sibling_cpu", &[("cpu_id", "0"), ("sibling_cpu_id", "1")]),
        step("enable_sibling_cpu", &[("cpu_id", "2"), ("sibling_cpu_id", "3")]),
    ];
    assert_eq!(setup.steps, expected);
}

fn run(program: &str, ctx: &[(&str, &str)]) -> Run {
    let value = |(path, text): &(&str, &str)| (path.to_string(), Value::Text(text.to_string()));
    let ctx = ctx.iter().map(value).collect();
    Run { program: program.to_owned(), ctx, keep: Vec::new(), cpu: None }
}

fn step(program: &str, ctx: &[(&str, &str)]) -> Step {
    Step::Run(run(program, ctx))
}

/// Eight CPUs: two nodes of one cache each, four cores of two.
fn server() -> CpuFacts {
    CpuFacts {
        core: vec![0, 0, 1, 1, 2, 2, 3, 3],
        llc: vec![0, 0, 0, 0, 1, 1, 1, 1],
        node: vec![0, 0, 0, 0, 1, 1, 1, 1],
    }
}

#[test]
fn an_index_stands_for_every_core_cache_and_node_and_masks_are_their_cpus() {
    let text = r#"
        [set]
        "llc_cpus[llc]" = "=llc_mask(llc)"
        "home[node][core]" = "=node == node(core_first(core)) ? core_mask(core) : all_cpus"
        "order" = "=cpus_packed"
        "far[llc][4..]" = "=far_llcs(llc)"
    "#;
    let set = expand(text, &server()).unwrap().set;
    let value = |path: &str| set.iter().find(|(p, _)| p == path).map(|(_, v)| v.as_str());
    assert_eq!(value("llc_cpus[1]"), Some("{4-7}"));
    assert_eq!(value("home[0][1]"), Some("{2-3}"));
    assert_eq!(value("home[1][1]"), Some("{0-7}"));
    assert_eq!(value("order[7]"), Some("7"));
    assert_eq!(value("far[0][4]"), Some("1"));
    assert_eq!(set.len(), 2 + 2 * 4 + 8 + 2);
}

#[test]
fn changes_can_depend_on_the_object_and_its_kernel() {
    let text = r#"
        [set]
        "slice_ns?" = "=sizeof(task_ctx)"
        "of_other_versions?" = 1
        [ops]
        add_flags = "=SCX_OPS_ENQ_LAST | opt(SCX_OPS_OF_LATER_KERNELS)"
        "cgroup_set_idle?" = ""
        [programs]
        "on_switch?" = "=has(scx_bpf_cpu_curr)"
        "on_exec?" = true
        [[when]]
        that = "=has(scx_bpf_of_later_kernels)"
        set = { slice_ns = 7 }
        [[when]]
        that = "=has(SCX_SLICE_DFL)"
        ops = { cpu_release = "" }
    "#;
    let setup = expand(text, &server()).unwrap();
    assert_eq!(setup.set, pairs(&[("slice_ns", "96")]));
    assert_eq!(setup.add_flags, 2);
    assert_eq!(setup.ops, pairs(&[("cpu_release", "")]));
    assert_eq!(setup.programs, [("on_switch".to_string(), true)]);
}

#[test]
fn entries_repeat_and_can_have_a_value_for_each_cpu() {
    let text = r#"
        [maps.of_node]
        entries = [{ each = "node", when = "=node > 0", key = "=node", value = "=node_cpus(node)" }]
        [maps.state]
        entries = [{ key = 0, per_cpu = true, value = { id = "=cpu" } }]
    "#;
    let entries = expand(text, &smt(2)).unwrap().entries;
    assert_eq!(entries.len(), 1, "there is one node");
    let ids: Vec<_> = entries[0].values.iter().map(|value| value[0].1.as_str()).collect();
    assert_eq!(ids, ["0", "1", "2", "3"]);

    let entries = expand(text, &server()).unwrap().entries;
    assert_eq!(entries[0].key, pairs(&[("", "1")]));
    assert_eq!(entries[0].values, [pairs(&[("", "4")])]);
}

#[test]
fn what_a_program_found_goes_into_later_steps_and_memory() {
    let text = r#"
        [[run]]
        each = "llc"
        steps = [
            { program = "alloc", keep = { mask = "bitmap" } },
            { write = "mask", type = "bitmap", value = { bits = "=llc_mask(llc)" } },
            { program = "add", ctx = { bitmap = "=mask", id = "=llc" } },
        ]
    "#;
    let steps = expand(text, &server()).unwrap().steps;
    assert_eq!(steps.len(), 2 * 3);
    let alloc = Run { keep: pairs(&[("mask", "bitmap")]), ..run("alloc", &[]) };
    assert_eq!(steps[3], Step::Run(alloc));
    let value = pairs(&[("bits", "{4-7}")]);
    assert_eq!(steps[4], Step::Write { at: "mask".into(), of_type: "bitmap".into(), value });
    let Step::Run(add) = &steps[5] else { panic!("{:?}", steps[5]) };
    let kept = ("bitmap".to_string(), Value::Kept("mask".to_string()));
    assert!(add.ctx.contains(&kept), "{:?}", add.ctx);
}

#[test]
fn programs_can_run_at_a_time_again_and_again_on_a_cpu() {
    let text = r#"
        [[run]]
        program = "poll"
        at = "20ms"
        every = "1s"
        cpu = "=nr_cpus - 1"
    "#;
    let setup = expand(text, &server()).unwrap();
    let timing = Timing { at_ns: 20_000_000, every_ns: Some(1_000_000_000) };
    let run = Run { cpu: Some(7), ..run("poll", &[]) };
    assert_eq!(setup.timed, [Timed { timing, run }]);
    assert!(setup.steps.is_empty());
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
    let mut value = setup.entries[0].values[0].clone();
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
fn lists_fill_maps_and_elements_of_arrays() {
    // two cores of two CPUs, each with a cache
    let facts = CpuFacts { core: vec![0, 0, 1, 1], llc: vec![0, 0, 1, 1], node: vec![0; 4] };
    let text = "[maps.rank]\nentries = [{ each = \"cpu\", key = \"=cpu * 8\", value = \"=near_cpus(cpu)\" }]\n\
                [set]\n\"maps[0..2].ids[1..]\" = \"=other_llcs(1)\"";
    let setup = expand(text, &facts).unwrap();
    let entries: Vec<_> = setup
        .entries
        .iter()
        .map(|entry| format!("{} {}", entry.key[0].1, entry.values[0][0].1))
        .collect();
    let of_cpus =
        ["0 1", "1 2", "2 3", "8 0", "9 2", "10 3", "16 3", "17 0", "18 1", "24 2", "25 0", "26 1"];
    assert_eq!(entries, of_cpus);
    let elements = ["maps[0].ids[1]", "maps[1].ids[1]"].map(|path| (path.into(), "0".into()));
    assert_eq!(setup.set, elements);

    let named = "[maps.m]\nentries = [{ key = { a = 1 }, value = \"=near_cpus(0)\" }]";
    let message = expand(named, &facts).unwrap_err();
    assert!(message.ends_with("a list needs a number as key"), "{message}");
}

#[test]
fn mistakes_name_line_key_and_expectation() {
    let facts = CpuFacts::flat(4);
    for (text, message) in [
        ("[set]\nx = \"=nr_cpu\"", "m.toml:2: x: unknown name nr_cpu: expected nr_cpus, nr_cores, nr_llcs, nr_nodes, smt, cpu, core, llc, node or a kernel constant"),
        ("[set]\nx = \"=1 +\"", "m.toml:2: x: expected a value, found the end"),
        ("[set]\n\nx = \"=cpu\"", "m.toml:3: x: \"cpu\" has a value only under an index [cpu] or with each = \"cpu\""),
        ("[set]\nx = \"=llc(4)\"", "m.toml:2: x: llc(4): the machine has CPUs 0 to 3"),
        ("[set]\nx = \"=speed(0)\"", "m.toml:2: x: unknown function speed: expected core(), llc(), node(), sibling(), has(), opt(), sizeof(), llc_mask() or another of docs/third-party.md"),
        ("[set]\nx = \"=llc_mask(9)\"", "m.toml:2: x: the machine has no llc 9"),
        ("[set]\nx = \"=llc_cpus(9)\"", "m.toml:2: x: llc_cpus(9): the machine has no llc 9"),
        ("[set]\nx = \"=all_cpus + 1\"", "m.toml:2: x: all_cpus stands alone: no operator takes it"),
        ("[set]\nx = \"=sizeof(cpu_ctx)\"", "m.toml:2: x: sizeof(cpu_ctx): the object has no such type"),
        ("[[run]]\nprogram = \"p\"\nevery = \"1us\"", "m.toml:3: every: '1us': expected 100us or more"),
        ("[[run]]\nprogram = \"p\"\nat = \"1 h\"", "m.toml:3: at: '1 h' is not a time: expected a number with ns, us, ms or s"),
        ("[[run]]\nprogram = \"p\"\ncpu = 4", "m.toml:3: cpu: 4: the machine has CPUs 0 to 3"),
        ("[[run]]\nsteps = [{ write = \"m\", type = \"t\", value = 1 }]", "m.toml:2: write: m: expected the name of a value that a step before it keeps"),
        ("[[run]]\ncpu = 0", "m.toml: [[run]]: expected either a program, with its ctx, or steps"),
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
    for text in
        ["[sets]\nx = 1", "[[run]]\nprogram = \"p\"\neach = \"socket\"", "[[run]]\nctx = {}"]
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
