// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bad input: one clear message, exit code 2, nothing on standard output, never a panic.

use crate::support::{fixture, rota, Scratch};

const WEB: &str = "workloads/web.json";

#[test]
fn a_misspelt_policy_suggests_the_nearest() {
    rota(&["sim", "vtr", WEB]).refused(&["'vtr'", "did you mean 'vtrr'", "fifo"]);
    rota(&["sim", "./vtrr", WEB]).refused(&["cannot read ./vtrr"]);
    rota(&["compare", WEB, "fifo", "wfg"]).refused(&["'wfg'", "'wfq'"]);
}

#[test]
fn settings_name_variable_value_and_what_was_expected() {
    let set = |setting: &str| rota(&["sim", "wfq", WEB, "--set", setting]);
    set("quantum=5").refused(&["'quantum'", "did you mean 'quantum_ns'"]);
    set("quantum_ns=5").refused(&["quantum_ns", "5", "100000 to 1000000000 ns"]);
    set("quantum_ns=soon").refused(&["quantum_ns", "'soon'", "expected"]);
    set("tie=best").refused(&["tie", "'best'", "id, rr"]);
    set("no_keep_vft=2").refused(&["no_keep_vft", "'2'", "true or false"]);
    set("tie").refused(&["NAME=VALUE"]);
}

#[test]
fn durations_name_the_units() {
    rota(&["sim", "fifo", WEB, "--duration", "10 parsecs"])
        .refused(&["10 parsecs", "ns, us, ms, s, min or h"]);
    rota(&["sim", "fifo", WEB, "--duration", "0s"]).refused(&["more than 0"]);
}

#[test]
fn impossible_machines_are_refused() {
    rota(&["sim", "fifo", WEB, "--cpus", "0"]).refused(&["'0'", "--cpus", "1 to 512"]);
    rota(&["sim", "fifo", WEB, "--cpus", "99999"]).refused(&["'99999'", "1 to 512"]);
    rota(&["sim", "fifo", WEB, "--topology", "smt=3"]).refused(&["smt=3", "4 CPUs", "1, 2, 4"]);
    rota(&["sim", "fifo", WEB, "--topology", "llc=3,smt=2"]).refused(&["llc=3", "multiple of 2"]);
    rota(&["sim", "fifo", WEB, "--topology", "sockets=2"]).refused(&["sockets=2", "smt=N"]);
    rota(&["sim", "fifo", WEB, "--hz", "0"]).refused(&["--hz"]);
    rota(&["sim", "fifo", WEB, "--budget", "0"]).refused(&["--budget"]);
    let nothing = ["sim", "fifo", WEB, "--budget-per-second", "0"];
    rota(&nothing).refused(&["--budget-per-second"]);
}

#[test]
fn workload_errors_name_file_and_line() {
    let scratch = Scratch::new();
    let run = |name: &str, text: &[u8]| rota(&["sim", "fifo", &scratch.file(name, text)]);
    let typo = b"{\n\"tasks\": {\n\"a\": {\n\"rnu\": 5 } } }";
    run("typo.json", typo).refused(&["typo.json:4:1", "task \"a\"", "rnu", "did you mean \"run\""]);
    run("cut.json", b"{ \"tasks\": {").refused(&["cut.json:1:13"]);
    run("bytes.json", b"{\n\n\xff}").refused(&["bytes.json:3", "UTF-8"]);
    let cpus = br#"{ "tasks": { "a": { "cpus": [9], "run": 5 } } }"#;
    run("cpus.json", cpus).refused(&["cpus.json", "a-0", "CPU 9"]);
    rota(&["sim", "fifo", &scratch.path("none.json")]).refused(&["cannot read", "none.json"]);
    rota(&["sim", "fifo"]).refused(&["WORKLOAD.json"]);
}

/// Its place names the file: that is not said twice.
#[test]
fn an_event_that_the_machine_cannot_have_is_named_by_its_place() {
    let scratch = Scratch::new();
    let load = r#"{"tasks": {"a": {"run": 10}}, "events": [{"at": 5, "task": "a", "cpus": [9]}]}"#;
    let file = scratch.file("far.json", load);

    let run = rota(&["sim", "fifo", &file, "--cpus", "2"]);

    let said = format!("error: {file}:1:42: event: names CPU 9, but the machine has CPUs 0 to 1\n");
    assert_eq!((run.stderr, run.code), (said, 2));
}

#[test]
fn objects_that_are_none_are_refused() {
    let scratch = Scratch::new();
    let run = |name: &str, bytes: &[u8]| rota(&["sim", &scratch.file(name, bytes), WEB]);
    run("text.bpf.o", b"hello").refused(&["text.bpf.o", "ELF"]);
    run("empty.bpf.o", b"").refused(&["empty.bpf.o", "ELF"]);
    // The test's own program is an ELF file, but not for BPF.
    let own = std::fs::read(env!("CARGO_BIN_EXE_rota")).expect("own program");
    run("native.bpf.o", &own).refused(&["native.bpf.o", "BPF"]);
    run("broken.bpf.c", b"int x = ;").refused(&["broken.bpf.c", "expected expression"]);
    run("nothing.bpf.c", b"int x;").refused(&["nothing.bpf.c", "sched_ext_ops"]);
    rota(&["sim", "none.bpf.o", WEB]).refused(&["cannot read none.bpf.o"]);
}

#[test]
fn a_truncated_object_is_refused_wherever_it_is_cut() {
    let scratch = Scratch::new();
    let whole = rota_catalog::find("wfq").expect("wfq ships").object;
    for cut in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        let file = scratch.file("cut.bpf.o", &whole[..cut]);
        rota(&["sim", &file, WEB]).refused(&["cut.bpf.o"]);
    }
}

#[test]
fn an_unknown_kernel_function_is_named() {
    let stranger = fixture("stranger.bpf.c");
    rota(&["sim", &stranger, WEB]).refused(&["stranger", "scx_bpf_make_everything_fast"]);
}

#[test]
fn traces_need_a_known_ending_and_a_place() {
    rota(&["sim", "fifo", WEB, "--trace", "run.txt"])
        .refused(&["run.txt", "a name that ends in one of .pftrace"]);
    let scratch = Scratch::new();
    let lost = scratch.path("none/run.csv");
    rota(&["sim", "fifo", WEB, "--trace", &lost]).refused(&["cannot create", "run.csv"]);
}

#[test]
fn a_refused_run_leaves_an_old_trace_alone() {
    let scratch = Scratch::new();
    let trace = scratch.file("run.csv", "precious");
    rota(&["sim", "fifo", "none.json", "--trace", &trace]).refused(&["none.json"]);
    assert_eq!(std::fs::read_to_string(trace).expect("trace"), "precious");
}

#[test]
fn manifests_and_kernel_types_are_checked() {
    let scratch = Scratch::new();
    let manifest = scratch.file("m.toml", "[set]\n\nquantums = 1\n");
    let run = rota(&["sim", "rr", WEB, "--manifest", &manifest]);
    run.refused(&["'quantums'"]);
    let manifest = scratch.file("n.toml", "[sets]\n");
    rota(&["sim", "rr", WEB, "--manifest", &manifest]).refused(&["n.toml:1", "sets"]);
    let btf = scratch.file("vmlinux", "no types");
    rota(&["sim", "rr", WEB, "--btf", &btf]).refused(&["vmlinux", "BTF"]);
    // A header of 24 bytes, and the name of what has none: the types of a kernel that has others only.
    let other = scratch.path("other");
    let header = [0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    std::fs::write(&other, header).expect("written");
    let expected =
        ["other: types of a kernel without sched_ext", "CONFIG_SCHED_CLASS_EXT=y", "7.2"];
    rota(&["sim", "rr", WEB, "--btf", &other]).refused(&expected);
}

/// Arguments of `rota`, and what the message says: the value, what was expected, the nearest valid.
const WRONG: &[(&[&str], &[&str])] = &[
    (&["sim", "fifo", WEB, "--hz", "1e3"], &["'1e3'", "--hz", "1 to 100000", "write 1000"]),
    (&["sim", "fifo", WEB, "--nohz-full", "3-1"], &["'3-1'", "--nohz-full", "expected 1-3"]),
    (&["sim", "fifo", WEB, "--nohz-full", "all"], &["'all'", "--nohz-full", "from 0 to"]),
    (&["sim", "fifo", WEB, "--cpus", "2", "--nohz-full", "1-2"], &["--nohz-full 1-2", "0 to 1"]),
    (&["sim", "fifo", WEB, "--cpus", "2", "--nohz-full", "0,1"], &["--nohz-full 0-1", "leave one"]),
    (&["sim", "fifo", WEB, "--hz", "fast"], &["'fast'", "--hz", "1 to 100000"]),
    (&["sim", "fifo", WEB, "--cpus", "4.5"], &["'4.5'", "--cpus", "1 to 512"]),
    (&["sim", "fifo", WEB, "--budget", "1e6"], &["'1e6'", "--budget", "write 1000000"]),
    (&["compare", WEB, "-j", "0"], &["'0'", "--jobs", "1 to 100000"]),
    (&["compare", WEB, "--seeds", "0"], &["'0'", "--seeds", "1 to 100000"]),
    (&["compare", WEB, "--cpus", "4,x"], &["'x'", "--cpus", "1 to 512"]),
    (&["tune", WEB, "-j", "no"], &["'no'", "--jobs", "1 to 100000"]),
    (&["reproduce", "vtrr", "-j", "0"], &["'0'", "--jobs", "1 to 100000"]),
    (&["sim", "fifo", WEB, "--duration", "-1s"], &["'-1s'", "--duration", "not negative", "1s"]),
    (&["sim", "fifo", WEB, "--duration=-1s"], &["'-1s'", "--duration", "not negative"]),
    (&["sim", "fifo", WEB, "--warmup", "-5ms"], &["'-5ms'", "--warmup", "not negative"]),
    (
        &["sim", "fifo", WEB, "--cpus", "6", "--topology", "smt=4"],
        &["smt=4", "6 CPUs", "smt=1, 2, 3, 6"],
    ),
    (&["sim", "fifo", WEB, "--topology", "smi=2"], &["smi=2", "did you mean smt=N?"]),
    (&["sim", "fifo", WEB, "--topology", "l3=2"], &["l3=2", "did you mean llc=N?"]),
    (&["sim", "fifo", WEB, "--topology", "numa=2"], &["numa=2", "did you mean node=N?"]),
    (&["sim", "fifo", WEB, "--topology", "smt=two"], &["smt=two", "N a count of CPUs"]),
    (&["sim", WEB, "fifo"], &["a workload", "policy first", "rota sim fifo workloads/web.json"]),
    (&["sim", WEB], &["WORKLOAD.json"]),
    (&["sim", "rr", WEB, "--set", "quantum_ns=1h"], &["1h", "100000 to 1000000000 ns"]),
    (&["sim", "rr", WEB, "--set", "quantum_ns=2min"], &["2min", "100000 to 1000000000 ns"]),
    (&["compare", WEB, "--measures", "wakeup_p9"], &["wakeup_p9", "did you mean wakeup_p9"]),
    (&["compare", WEB, "--measures", "jane"], &["jane", "did you mean jain?"]),
    (&["compare", WEB, "--measures", "cake"], &["--metrics cake", "expected one of fairness"]),
    (&["compare", WEB, "--report", "out.pdf"], &["'out.pdf'", "--report", "out.html"]),
    (&["compare", WEB, "--report", "out"], &["'out'", "--report", "out.html"]),
    (&["reproduce", "vtrr", "fig1", "--report=a.txt"], &["'a.txt'", "--report", "a.html"]),
    (&["list", "vtr"], &["'vtr'", "did you mean 'vtrr'"]),
    (&["sim", "fifo", "workloads"], &["workloads is a folder", "rota compare takes folders"]),
    (&["compare", WEB, "--goal", "latencey"], &["'latencey'", "did you mean latency?"]),
    (&["compare", WEB, "--goal", "p98"], &["'p98'", "expected one of latency, throughput"]),
    (&["compare", WEB, "--goal", "front:p99"], &["'front:p99'", "did you mean wakeup_p99?"]),
    (&["compare", WEB, "--goal", "frnt:wakeup_p99"], &["\"frnt\"", "did you mean front?"]),
    (&["compare", WEB, "--goal", "idle"], &["'idle'", "expected one of latency, throughput"]),
    (&["compare", WEB, "--goal", "jain", "--goal", "jain"], &["--goal jain is listed twice"]),
    (&["compare", WEB, "rr", "rr"], &["policy rr is listed twice"]),
    (&["compare", WEB, WEB], &["workload workloads/web.json is listed twice", "each once"]),
    (&["compare", WEB, "--cpus", "4,4"], &["--cpus 4 is listed twice", "each once"]),
    (&["compare", "rr"], &["no workload", "expected at least one FILE.json"]),
    (&["compare", WEB, "--baseline", "eevfd"], &["'eevfd'", "did you mean 'eevdf'"]),
    (&["compare", WEB, "--baseline", "rr:"], &["--baseline rr:", "expected NAME=VALUE"]),
    (&["compare", WEB, "rr:quantum=5"], &["'quantum'", "did you mean 'quantum_ns'"]),
    (&["compare", WEB, "rr:@"], &["\"rr:@\"", "one @FILE.toml"]),
    (&["compare", WEB, "--policies", ""], &["policy \"\"", "expected a name or a file"]),
    (&["compare", WEB, "--resume", "/"], &["cannot open /"]),
    (&["compare", WEB, "--report", "/none/x.html"], &["cannot create /none/x.html"]),
    (&["compare", WEB, "--duration", "1"], &["'1'", "the unit is missing", "10s or 1.5ms"]),
    (&["compare", WEB, "--warmup", "99h"], &["--warmup 356400s", "runs for 6s", "less than that"]),
    (&["compare", WEB, "--json", "--csv"], &["'--json'", "cannot be used with '--csv'"]),
    (&["compare", WEB, "--kernel", "5.0"], &["--kernel 5.0", "expected one of 6.12"]),
    (&["compare", WEB, "--btf", "/dev/null"], &["/dev/null", "0 bytes are too few"]),
    (&["comapre", WEB], &["'comapre'", "similar subcommands", "'compare'"]),
    (&["sim", "rr", WEB, "--seed", "x"], &["'x'", "--seed", "a whole number, 0 or more"]),
    (&["sim", "rr", WEB, "--seed", "-1"], &["'-1'", "--seed", "a whole number, 0 or more"]),
    (&["sim", "rr", WEB, "--idle-entry", "-1us"], &["'-1us'", "not negative"]),
    (&["sim", "rr", WEB, "--trace", "x.svg", "--trace-window", "5"], &["'5'", "FROM..TO"]),
    (
        &["sim", "rr", WEB, "--trace", "x.svg", "--trace-window", "2s..1s"],
        &["ends before it begins"],
    ),
    (&["sim", "rr", WEB, "--trace-window", "0s..1s"], &["it needs --trace FILE.svg"]),
    (&["sim", "rr", WEB, "--replay-choices", "nope"], &["cannot read nope"]),
    (
        &["sim", "rr", WEB, "--replay-choices", WEB],
        &["workloads/web.json:1", "expected rota.choices/1"],
    ),
    (&["sim", "rr", WEB, "--set", "=5"], &["'=5'", "expected NAME=VALUE"]),
    (&["tune", "rr", WEB, "--minimise", "jain"], &["'alpha'"]),
    (&["tune", "pbs", WEB], &["--minimise <KEY>|--maximise <KEY>"]),
    (
        &["tune", "pbs", WEB, "--minimise", "jan"],
        &["minimise: no metric is called \"jan\" (did you mean jain?)"],
    ),
    (&["tune", "pbs", WEB, "--minimise", "jain", "--seeds", "1"], &["'1'", "2..=10000"]),
    (&["reproduce", "vtr"], &["'vtr'", "did you mean 'vtrr'?"]),
    (&["reproduce", "vtrr", "fig33"], &["'fig33'", "did you mean 'fig3'?"]),
    (&["reproduce", "all", "fig1"], &["a FIGURE is of one paper"]),
    (&["fluid", "pbz"], &["'pbz'", "'pbs'"]),
    (&["fluid", "pbs", "--task", "1s"], &["'1s'", "expected ARRIVAL:DEMAND"]),
    (&["fluid", "pbs", "--task", "1s:0s"], &["'1s:0s'", "expected more than 0"]),
    (&["fluid", "pbs", "--alpha", "x", WEB], &["'x'", "--alpha", "a number, or inf"]),
    (&["run", "vtr"], &["'vtr'", "did you mean 'vtrr'"]),
    (&["set", "x"], &["'x'", "expected NAME=VALUE"]),
    (&["list", "rr", "wgq"], &["'wgq'", "did you mean 'wfq'"]),
    (&["compare", "crates/cli/src"], &["crates/cli/src", "no FILE.json"]),
];

#[test]
fn every_wrong_input_of_the_table_is_refused_with_what_was_expected() {
    assert!(WRONG.len() >= 60, "{}", WRONG.len());
    for (arguments, message) in WRONG {
        rota(arguments).refused(message);
    }
}

#[test]
fn a_window_that_begins_after_the_run_is_refused_before_it() {
    let scratch = Scratch::new();
    let picture = scratch.path("late.svg");
    let late = ["--duration", "1s", "--trace", &picture, "--trace-window", "5s..6s"];
    rota(&[&["sim", "fifo", WEB][..], &late].concat()).refused(&["5s..6s", "the run ends at 1s"]);
    assert!(!std::path::Path::new(&picture).exists());
}

#[test]
fn several_workloads_of_one_run_are_refused_with_what_takes_them() {
    let ran = rota(&["sim", "eevdf", "a.json", "b.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let expected = "error: a.json, b.json: expected one workload; each of them: \
                    rota compare eevdf a.json b.json\n";
    assert_eq!(ran.stderr, expected);
}
