// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::axis::{Range, Values};
use crate::value::Value;
use proptest::prelude::*;

const TOP: &str = "workloads = \"a.json\"\npolicies = [\"pbs\", \"old=old.bpf.o:q=2ms\"]\n";

fn parse(text: &str) -> Result<Sweep, String> {
    Sweep::parse(Path::new("in/s.toml"), text).map_err(|error| error.to_string())
}

fn refused(more: &str) -> String {
    parse(&format!("{TOP}{more}")).expect_err(more)
}

#[test]
fn a_file_says_what_is_swept_over() {
    let text = format!(
        "method = \"sobol\"\nsamples = 16\nseeds = 3\nbaseline = \"eevdf\"\n\
         minimise = \"response_p99\"\nsubject_to = [\"jain >= 0.9\"]\n{TOP}\
         [run]\nduration = \"1s\"\nmachine = \"my.toml\"\n\
         [set.pbs]\nalpha = {{ from = 0.1, to = 10, scale = \"log\" }}\nbeta = [\"+inf\", -3]\n\
         [workload]\ntasks.ui.run = {{ from = 1, to = 9, step = 4 }}\n\"tasks.a b.sleep\" = 5\n\
         [machine]\ncost_ns.switch = {{ from = 0, to = 10 }}\nhz = [100, 1000]\n"
    );
    let sweep = parse(&text).expect("a sweep");
    assert_eq!(sweep.method, Method::Sobol { samples: 16, draw: 1 });
    assert_eq!((sweep.seeds.as_slice(), sweep.baseline), (&[1, 2, 3][..], Some(2)));
    assert_eq!(sweep.run.duration, Some(1_000_000_000));
    assert_eq!(sweep.run.machine.as_deref(), Some("in/my.toml"));
    assert_eq!(sweep.workloads[0].path, Path::new("in/a.json"));
    let labels: Vec<_> = sweep.policies.iter().map(|p| (p.label.as_str(), p.plain)).collect();
    assert_eq!(labels, [("pbs", false), ("old", true), ("eevdf", true)]);
    assert_eq!(sweep.policies[1].policy, "in/old.bpf.o");
    assert_eq!(sweep.policies[1].set, [("q".to_owned(), "2ms".to_owned())]);
    let axis = |of: &[Axis], name: &str| {
        of.iter().find(|axis| axis.name == name).map(|axis| axis.values.clone())
    };
    let log = Range { from: 0.1, to: 10.0, log: true, whole: false };
    assert_eq!(axis(&sweep.policies[0].axes, "alpha"), Some(Values::Range(log)));
    let beta = vec![Value::Text("+inf".into()), Value::Int(-3)];
    assert_eq!(axis(&sweep.policies[0].axes, "beta"), Some(Values::List(beta)));
    let run = [1, 5, 9].map(Value::Int).to_vec();
    assert_eq!(axis(&sweep.workload, "tasks.ui.run"), Some(Values::List(run)));
    let sleep = vec![Value::Int(5)];
    assert_eq!(axis(&sweep.workload, "tasks.a b.sleep"), Some(Values::List(sleep)));
    let cost = Range { from: 0.0, to: 10.0, log: false, whole: true };
    assert_eq!(axis(&sweep.machine, "cost_ns.switch"), Some(Values::Range(cost)));
    assert_eq!(sweep.aims.subject_to, ["jain >= 0.9"]);
}

#[test]
fn a_slip_is_told_with_its_line_and_what_was_meant() {
    for (more, expected) in [
        (
            "sed = 3",
            "in/s.toml:3: unknown key sed (did you mean set?), expected one of workloads, ",
        ),
        ("seeds = 0", "in/s.toml:3: seeds = 0: expected a whole number, 1 or more"),
        ("seeds = [1, 1]", "in/s.toml:3: seeds = 1: expected each seed once"),
        ("method = \"sobl\"", "\"sobol\" or \"halving\" (did you mean sobol?)"),
        ("method = \"sobol\"", "in/s.toml: no samples, expected how many points, as samples = 64"),
        ("keep = 2", "in/s.toml:3: keep = 2: expected no keep, as method is \"grid\", not"),
        ("method = \"halving\"\nsamples = 9\nkeep = 1", "keep = 1: expected a whole number, 2 or"),
        (
            "method = \"halving\"\nsamples = 9\nresource = \"durations\"",
            "in/s.toml:5: resource = \"durations\": expected \"seeds\" or \"duration\" (did you mean \
             duration?)",
        ),
        (
            "method = \"halving\"\nsamples = 9\nresource = \"duration\"",
            "in/s.toml:5: resource = \"duration\": expected duration in [run] as well, which the",
        ),
        (
            "method = \"halving\"\nsamples = 9\nresource = \"duration\"\nfirst = \"2s\"\n\
             [run]\nduration = \"1s\"",
            "in/s.toml:6: first = \"2s\": expected at most the duration of [run], 1s",
        ),
        (
            "method = \"halving\"\nsamples = 9\nresource = \"duration\"\nfirst = 2\n[run]\n\
             duration = \"1s\"",
            "in/s.toml:6: first = 2: expected a time, as \"100ms\", as resource is \"duration\"",
        ),
        (
            "method = \"halving\"\nsamples = 9\nresource = \"duration\"\n[run]\n\
             duration = \"900ms\"\nwarmup = \"100ms\"",
            "in/s.toml:5: resource = \"duration\": first is 100ms, expected more than the warmup, \
             100ms, and at most the duration of [run], 900ms",
        ),
        ("resource = \"seeds\"", "in/s.toml:3: resource = \"seeds\": expected no resource, as method"),
        ("samples = 4", "in/s.toml:3: samples = 4: expected no samples, as method is \"grid\""),
        ("[run]\nduration = \"1x\"", "in/s.toml:4: duration = \"1x\": "),
        ("[run]\nhz = 0", "in/s.toml:4: hz = 0: expected a whole number from 1 to 100000"),
        (
            "[set.pbd]\na = [1]",
            "in/s.toml:3: [set.pbd]: no policy of this name is in policies \
                                (did you mean pbs?), expected one of pbs, old",
        ),
        ("[set.pbs]\na = []", "in/s.toml:4: a = []: expected a list of values, or a range"),
        (
            "[set.pbs]\na = [1, 1]",
            "in/s.toml:4: a = 1: the same value as 1, before it: expected each once",
        ),
        (
            "[set.pbs]\na = [\n1,\n2, 1.0]",
            "in/s.toml:6: a = 1.0: the same value as 1, 2 places before it: expected each once",
        ),
        ("[set.pbs]\na = [true, \"true\"]", "a = \"true\": the same value as true, before it"),
        ("[set.pbs]\na = [\"5\", 5]", "a = 5: the same value as \"5\", before it"),
        (
            "[machine]\nx = { from = 1e6, to = 1000001, step = 0.1 }",
            "x.step = 0.1: expected a larger step: values have six digits, so two of them are",
        ),
        ("[set.pbs]\na = [nan]", "in/s.toml:4: a = nan: expected a number, a text as \"5ms\""),
        ("[set.pbs]\na = { from = 1, to = 2 }", "expected steps or step in it, as method is"),
        (
            "[set.pbs]\na = { from = 2, to = 1 }",
            "in/s.toml:4: a.to = 1: expected more than from, 2",
        ),
        ("[set.pbs]\na = { from = 0, to = 1, steps = 3, scale = \"log\" }", "expected more than 0"),
        ("[set.pbs]\na = { from = 1, to = 2, step = 0 }", "a.step = 0: expected a number above 0"),
        ("[set.pbs]\na = { from = 1, too = 2 }", "unknown key too of [a = {…}] (did you mean to?)"),
        ("baseline = \"cfz\"", "in/s.toml:3: "),
        ("x = ", "in/s.toml:3: "),
    ] {
        let error = refused(more);
        assert!(error.contains(expected), "{more}: {error}");
    }
    let none = parse("policies = [\"pbs\"]").expect_err("no workloads");
    assert!(none.starts_with("in/s.toml: no workloads, expected some"), "{none}");
    let twice = parse("workloads = \"a\"\npolicies = [\"pbs\", \"pbs\"]").expect_err("twice");
    assert!(twice.contains("in/s.toml:2: policies = \"pbs\": expected another label"), "{twice}");
}

#[test]
fn a_program_is_a_policy_whose_arguments_have_tunables() {
    let of = |policy: &str, more: &str| {
        parse(&format!("workloads = \"a\"\npolicies = [\"eevdf\", \"{policy}\"]\n{more}"))
    };
    let set = "[set.lavd]\nus = [1, 2]\n";
    let sweep = of("lavd=./bin/scx_lavd --us={us} 'a b'", set).expect("a sweep");
    let lavd = &sweep.policies[1];
    let words = ["in/bin/scx_lavd", "--us={us}", "a b"].map(str::to_owned).to_vec();
    assert_eq!((lavd.label.as_str(), &lavd.program), ("lavd", &Some(words)));
    assert_eq!(lavd.axes[0].name, "us");
    let plain = of("./bin/scx_lavd -v", "[run]\nprogram_cost = \"2us\"\n").expect("a sweep");
    assert_eq!(plain.policies[1].label, "scx_lavd -v");
    assert_eq!(plain.run.program.cost_ns, Some(2_000));

    for (policy, more, expected) in [
        ("lavd=scx_lavd --us={su}", set, "in/s.toml:4: [set.lavd] us: no argument of the program"),
        ("lavd=scx_lavd --us={su}", set, "has {us} in it (did you mean su?), expected one"),
        (
            "scx_lavd 'f",
            "",
            "in/s.toml:2: policies = \"scx_lavd 'f\": expected words as in a shell",
        ),
        (
            "pbs",
            "[run]\nprogram_cost = \"1us\"",
            "in/s.toml:4: program_cost = \"1us\": expected a program",
        ),
        (
            "scx_lavd -x",
            "[run]\nprogram_cost = \"0\"",
            "program_cost = \"0\": expected a time of 1ns",
        ),
    ] {
        let error = of(policy, more).expect_err(policy);
        assert!(error.contains(expected), "{policy}: {error}");
    }
    let as_baseline = format!("baseline = \"lavd\"\n{set}");
    let error = of("lavd=scx_lavd --us={us}", &as_baseline).expect_err("no value");
    let expected = "in/s.toml:3: baseline = \"lavd\": expected another policy: it runs as it is, \
                    and this program's {us} has no value then";
    assert_eq!(error, expected);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_the_file(
        lines in prop::collection::vec(
            prop_oneof![
                Just("workloads = [\"a\"]"), Just("policies = \"pbs\""), Just("seeds = 2"),
                Just("[set.pbs]"), Just("[workload]"), Just("[machine]"), Just("[run]"),
                Just("method = \"random\""), Just("samples = 3"), Just("a = [1, 2.5, \"x\"]"),
                Just("b.c = { from = 1, to = 3, steps = 2 }"), Just("a = { from = 1, to = 3 }"),
                Just("cpus = 4"), Just("a = {}"), Just("x = [[1]]"), Just("hz = 1e400"),
                Just("method = \"halving\""), Just("keep = 2"), Just("first = 1"),
                Just("y = { from = -1e308, to = 1e308, steps = 3 }"),
            ],
            0..8),
        noise in "\\PC{0,20}",
        at in 0usize..9,
    ) {
        let mut lines: Vec<&str> = lines;
        lines.insert(at.min(lines.len()), &noise);
        let text = lines.join("\n");
        match parse(&text) {
            Ok(sweep) => {
                if let Ok(points) = sweep.points() {
                    prop_assert!(!points.is_empty());
                }
            }
            Err(error) => prop_assert!(error.starts_with("in/s.toml"), "{}", error),
        }
    }
}
