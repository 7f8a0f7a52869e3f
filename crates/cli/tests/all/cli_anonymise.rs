// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads with other names do the same.

use crate::support::{rota, Scratch};
use std::path::Path;

/// What a policy saw and did with a workload, without the names of tasks and cgroups.
fn events(scratch: &Scratch, file: &str) -> Vec<String> {
    let trace = scratch.path("trace.csv");
    let run = rota(&["sim", "eevdf", file, "--duration", "150ms", "--trace", &trace]);
    assert_eq!(run.code, 0, "{file}: {}", run.stderr);
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let is_name = |word: &&str| {
        ["lock=", "socket=", "class_name=", "cgroup=", "path=", "name="]
            .iter()
            .any(|key| word.starts_with(key))
    };
    let nameless = |line: &str| {
        let (columns, detail) = line.rsplit_once(',').expect("columns");
        let (columns, _name) = columns.rsplit_once(',').expect("a name");
        // Names come last, and may hold blanks.
        let detail: Vec<&str> = detail.split(' ').take_while(|word| !is_name(word)).collect();
        format!("{columns},{}", detail.join(" "))
    };
    text.lines().map(nameless).collect()
}

#[test]
fn every_shipped_workload_does_the_same_under_other_names() {
    let scratch = Scratch::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("workloads") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let file = path.display().to_string();
        let other = scratch.path("other.json");
        let run = rota(&["anonymise", &file, "-o", &other]);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{file}: {}", run.stderr);
        let (found, expected) = (events(&scratch, &other), events(&scratch, &file));
        assert!(expected.len() > 20, "{file}");
        assert!(found == expected, "{file}");
        count += 1;
    }
    assert!(count >= 19, "{count} workloads");
}

/// A task that a timer wakes, and one that it wakes, of a host with a name.
const TRACE: &str = "\
# tracer: nop
          <idle>-0       [000] d.h2.   100.000000: sched_waking: comm=aliceapp pid=7 prio=120 target_cpu=000
          <idle>-0       [000] d..2.   100.000010: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=aliceapp next_pid=7 next_prio=120
        aliceapp-7       [000] d..3.   100.001000: sched_waking: comm=bobsdb pid=8 prio=130 target_cpu=000
        aliceapp-7       [000] d..2.   100.002010: sched_switch: prev_comm=aliceapp prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=bobsdb next_pid=8 next_prio=130
          bobsdb-8       [000] d..2.   100.003010: sched_switch: prev_comm=bobsdb prev_pid=8 prev_prio=130 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn an_anonymous_import_has_no_name_of_the_trace() {
    let scratch = Scratch::new();
    let trace = scratch.file("alices-trace.txt", TRACE);
    let (plain, other) = (scratch.path("plain.json"), scratch.path("other.json"));
    assert_eq!(rota(&["import", &trace, "-o", &plain]).code, 0);
    let run = rota(&["import", &trace, "-o", &other, "--anonymise"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read_to_string(&other).expect("a workload");
    for name in ["alice", "bob", "trace", "-7", "-8"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
    assert!(text.contains("process-1-1") && text.contains("process-2-1"), "{text}");
    assert_eq!(events(&scratch, &other), events(&scratch, &plain));
}

#[test]
fn what_cannot_be_made_anonymous_is_refused() {
    let scratch = Scratch::new();
    let trace = scratch.file("trace.txt", TRACE);
    let run = rota(&["import", &trace, "--anonymise"]);
    assert!(run.code == 2 && run.stderr.contains("--output"), "{}", run.stderr);
    let run = rota(&["anonymise", &trace, "-o", &scratch.path("a.json")]);
    assert!(run.code == 2 && run.stderr.contains("rota import"), "{}", run.stderr);
    let file = scratch.file("w.json", r#"{"machine": "alice.toml", "tasks": {"a": {"run": 1}}}"#);
    let run = rota(&["anonymise", &file, "-o", &scratch.path("a.json")]);
    assert!(run.code == 2 && run.stderr.contains("expected its keys here"), "{}", run.stderr);
    assert!(!Path::new(&scratch.path("a.json")).exists());
}
