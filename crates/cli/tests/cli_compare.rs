// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota compare`.

mod support;

use support::rota;

const WEB: &str = "workloads/web.json";

#[test]
fn all_shipped_policies_stand_in_one_table() {
    let text = rota(&["compare", WEB, "--duration", "1s"]).ok().stdout;
    assert!(text.starts_with("workloads/web.json: 4 CPUs at 250 Hz, 1s, seed 1\n"), "{text}");
    for policy in ["fifo", "rr", "vtrr", "wfq", "wrr"] {
        assert_eq!(text.lines().filter(|l| l.starts_with(&format!("{policy} "))).count(), 1);
    }
}

#[test]
fn runs_are_those_of_sim_in_the_order_asked_for() {
    let machine = ["--duration", "1s", "--seed", "3", "--json"];
    let comparison = rota(&[&["compare", WEB, "wfq", "fifo"], &machine[..]].concat()).ok().json();
    assert_eq!(comparison["schema"], "rota.compare/1");
    let runs = comparison["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2);
    for (run, policy) in runs.iter().zip(["wfq", "fifo"]) {
        assert_eq!(*run, rota(&[&["sim", policy, WEB], &machine[..]].concat()).ok().json());
    }
}
