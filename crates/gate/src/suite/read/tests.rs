// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use proptest::prelude::*;
use std::path::PathBuf;

const SUITE: &str = r#"
[run]
seeds = 4
duration = "2s"
cpus = [1, 4]

[policies]
old = "main.bpf.o"
new = "build/x.bpf.c:q=2ms:@x.toml"

[[test]]
name = "web"
workloads = ["web.json", "/abs/other.json"]
expect = [
    "exit == ok",
    "p99_wakeup no worse than old by 5 %",
]

[[test]]
name = "shares"
workloads = ["shares.json"]
policies = ["wfq", "old"]
run = { machines = ["laptop", "./big.toml"], ideal = true, seeds = 1 }
expect = ['share("A") within 49%..51%']
"#;

fn read(text: &str) -> Result<Suite, Error> {
    Suite::parse(Path::new("ci/suite.toml"), text)
}

#[test]
fn a_suite_is_read_with_paths_from_its_folder() {
    let suite = read(SUITE).expect("a suite");
    let web = &suite.tests[0];
    assert_eq!(web.workloads, [PathBuf::from("ci/web.json"), PathBuf::from("/abs/other.json")]);
    let words = |policies: &[Named]| policies.iter().map(|p| p.word.clone()).collect::<Vec<_>>();
    assert_eq!(words(&web.policies), ["new=ci/build/x.bpf.c:q=2ms:@ci/x.toml"]);
    assert_eq!(words(&web.others), ["old=ci/main.bpf.o"]);
    let lines: Vec<usize> = web.expect.iter().map(|expected| expected.line).collect();
    assert_eq!(lines, [15, 16]);
    assert_eq!(web.options.common, ["--seeds", "4", "--duration", "2s"]);
    assert_eq!(web.options.machines, [["--cpus", "1"], ["--cpus", "4"]]);
}

#[test]
fn what_a_test_says_of_its_runs_is_over_what_the_suite_says() {
    let suite = read(SUITE).expect("a suite");
    let shares = &suite.tests[1];
    assert_eq!(shares.options.common, ["--seeds", "1", "--duration", "2s", "--ideal"]);
    let machines = [["--machine", "laptop"], ["--machine", "ci/big.toml"]];
    assert_eq!(shares.options.machines, machines);
    assert_eq!(shares.policies[0], Named { name: "wfq".into(), word: "wfq".into() });
    assert!(shares.others.is_empty());
}

#[test]
fn a_mistake_is_named_with_its_line_and_what_was_expected() {
    for (from, to, parts) in [
        ("seeds = 4", "sedes = 4", "ci/suite.toml:3: unknown key sedes"),
        ("seeds = 4", "sedes = 4", "did you mean seeds?"),
        ("seeds = 4", "seeds = -4", "ci/suite.toml:3: "),
        ("\"exit == ok\"", "\"exit == fine\"", "ci/suite.toml:15: 'exit == fine': "),
        ("than old by", "than odl by", "ci/suite.toml:16: no policy \"odl\""),
        ("than old by", "than odl by", "did you mean old?"),
        ("than old by", "by", "expected 'than POLICY'"),
        ("\"shares\"", "\"web\"", "ci/suite.toml:20: test \"web\" is there twice"),
        ("[\"wfq\", \"old\"]", "[\"old\", \"old\"]", "policy old is listed twice"),
        ("[\"wfq\", \"old\"]", "[]", "policies is empty"),
        ("ideal = true", "cpus = [1]", "expected one of them"),
        ("old = ", "\"a/b\" = \"wfq\"\nold = ", "expected a name of letters"),
        ("[\"shares.json\"]", "[]", "workloads is empty"),
        (
            "main.bpf.o",
            "main.bpf.o:x",
            "ci/suite.toml:8: old = \"main.bpf.o:x\": \"x\": expected NAME",
        ),
    ] {
        let text = SUITE.replacen(from, to, 1);
        assert_ne!(text, SUITE, "{from}");
        let error = read(&text).expect_err(to).to_string();
        assert!(error.contains(parts), "{to}: {error}");
    }
    assert!(read("").expect_err("empty").to_string().contains("no [[test]]"));
}

/// Lines of suites, right and wrong ones.
const LINES: &[&str] = &[
    "[[test]]",
    "[run]",
    "[policies]",
    "[test]",
    "name = \"a\"",
    "name = \"\"",
    "name = 1",
    "workloads = [\"a.json\"]",
    "workloads = []",
    "workloads = [\"\"]",
    "policies = [\"wfq\"]",
    "policies = []",
    "policies = [\"wfq\", \"wfq\"]",
    "policies = [\":=@\"]",
    "old = \"a.bpf.o\"",
    "old = \"\"",
    "expect = [\"exit == ok\"]",
    "expect = []",
    "expect = [\"jain > x\"]",
    "expect = ['p99_wakeup no worse than old']",
    "seeds = 0",
    "seeds = 4294967296",
    "seeds = -1",
    "cpus = []",
    "cpus = [0]",
    "machines = [\"\"]",
    "duration = \"1x\"",
    "hz = 0",
    "ideal = 1",
    "run = { seeds = 2 }",
    "run = { speed = 2 }",
    "# nothing",
];

proptest! {
    #[test]
    fn any_text_is_a_suite_or_an_error_that_names_the_file(
        text in "(\\[\\[test\\]\\]\n|name = \"a\"\n|expect = \\[\"exit == ok\"\\]\n|[a-z\\[\\]\"= \n]{0,8}){0,6}"
    ) {
        if let Err(error) = read(&text) {
            prop_assert!(error.to_string().starts_with("ci/suite.toml:"), "{error}");
        }
    }

    #[test]
    fn a_suite_of_wrong_parts_is_refused_with_file_and_place(
        lines in proptest::collection::vec(proptest::sample::select(LINES), 0..10),
        noise in "\\PC{0,12}",
        at in 0usize..10,
    ) {
        let mut lines: Vec<&str> = lines;
        lines.insert(at.min(lines.len()), &noise);
        let mut whole = vec!["[[test]]", "name = \"a\"", "workloads = [\"a.json\"]"];
        whole.extend(["policies = [\"wfq\"]", "expect = [\"exit == ok\"]"]);
        for text in [lines.join("\n"), whole.iter().chain(&lines).copied().collect::<Vec<_>>().join("\n")] {
            match read(&text) {
                Ok(suite) => prop_assert!(suite.tests.iter().all(|test| !test.expect.is_empty())),
                Err(error) => {
                    let error = error.to_string();
                    let why = error.strip_prefix("ci/suite.toml:");
                    prop_assert!(why.is_some_and(|why| why.trim().len() > 3), "{text}: {error}");
                }
            }
        }
    }

    #[test]
    fn a_suite_of_any_parts_has_these_parts(
        names in proptest::collection::btree_set("[a-z][a-z0-9 .]{0,8}[a-z0-9]", 1..4),
        seeds in 1..1000u32, ms in 1..1000u32,
    ) {
        let tests = names.iter().map(|name| format!(
            "[[test]]\nname = \"{name}\"\nworkloads = [\"{name}.json\"]\npolicies = [\"wfq\"]\n\
             expect = [\"wakeup_p99 < {ms}ms\"]\n"
        ));
        let text = format!("[run]\nseeds = {seeds}\n{}", tests.collect::<String>());
        let suite = read(&text).expect("a suite");
        let read: Vec<&str> = suite.tests.iter().map(|test| test.name.as_str()).collect();
        prop_assert_eq!(read, names.iter().map(String::as_str).collect::<Vec<_>>());
        for test in &suite.tests {
            prop_assert_eq!(&test.options.common, &["--seeds".to_owned(), seeds.to_string()]);
            prop_assert_eq!(&test.expect[0].condition.text, &format!("wakeup_p99 < {ms}ms"));
        }
    }
}
