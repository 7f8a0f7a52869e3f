// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two examples of each command, for its help and its manual page.

/// Command lines and what they do, by the names of commands below `rota`.
const EXAMPLES: &[(&str, [(&str, &str); 2])] = &[
    (
        "",
        [
            ("rota compare workloads/web.json", "Which scheduler suits this workload?"),
            ("sudo rota run vtrr", "Run one in the kernel of this machine, until Ctrl-C"),
        ],
    ),
    (
        "list",
        [
            ("rota list", "All policies that ship, and what can be set"),
            ("rota list wfq vtrr", "Two of them"),
        ],
    ),
    (
        "sim",
        [
            ("rota sim vtrr workloads/web.json --cpus 8", "A workload on 8 CPUs under vtrr"),
            (
                "rota sim ./mine.bpf.c load.json --trace run.pftrace",
                "Your own scheduler, with a trace for ui.perfetto.dev",
            ),
        ],
    ),
    (
        "compare",
        [
            (
                "rota compare load.json --goal 'p99 response' --report out.html",
                "The usual policies on your workload, by the response time",
            ),
            (
                "rota compare load.json wfq:quantum_ns=2ms ./mine.bpf.o --cpus 4,64",
                "Two policies on two machines",
            ),
        ],
    ),
    (
        "test",
        [
            ("rota test suite.toml", "All that a suite expects"),
            (
                "rota test suite.toml --only web --junit out.xml",
                "One test of it, with results for a CI server",
            ),
        ],
    ),
    (
        "diff",
        [
            ("rota diff a.parquet b.parquet", "Where two runs part, of traces that rota sim wrote"),
            (
                "rota diff workloads/web.json wfq vtrr --seed 2",
                "Where runs of two policies part",
            ),
        ],
    ),
    (
        "reproduce",
        [
            ("rota reproduce vtrr fig3", "One figure of a paper"),
            ("rota reproduce all --quick", "All papers, with little effort"),
        ],
    ),
    (
        "sweep",
        [
            (
                "rota sweep sweep.toml --minimise p99_response",
                "Every value of the file's axes, and the setting with the lowest response times",
            ),
            (
                "rota sweep first.parquet second.parquet -o all.parquet",
                "The results of two sweeps in one dataset",
            ),
        ],
    ),
    (
        "tune",
        [
            (
                "rota tune pbs load.json --minimise p99_response",
                "The alpha and beta with the lowest 99th percentile of response times",
            ),
            (
                "rota tune wrr load.json --minimise wakeup_p99 --tunable quantum_ns=2000000,20000000",
                "The better of two quanta, and what it costs on other metrics",
            ),
        ],
    ),
    (
        "link",
        [
            (
                "rota link -o sched.bpf.o main.bpf.c balance.bpf.c util.bpf.o",
                "A scheduler of three parts, by libbpf's linker",
            ),
            ("rota link -o sched.bpf.o sched.bpf.c --include ../include", "Only compile one"),
        ],
    ),
    (
        "bundle",
        [
            (
                "rota bundle -o lavd.rota --cpus 16 --topology smt=2 -- scx_lavd --performance",
                "A scheduler for 16 CPUs, as its program sets it up",
            ),
            ("rota bundle -o simple.rota -- scx_simple -f", "For rota sim simple.rota load.json"),
        ],
    ),
    (
        "machine",
        [
            ("rota machine hybrid", "A laptop with P and E cores"),
            ("rota machine server --toml > own.toml", "A file to start from"),
        ],
    ),
    (
        "calibrate",
        [
            ("rota calibrate -o own.toml", "This machine as a file, after a minute"),
            ("rota calibrate --base server --duration 10s", "Only a look at the numbers"),
        ],
    ),
    (
        "fluid",
        [
            ("rota fluid pbs workloads/shares321.json", "A workload under the limit of PBS"),
            (
                "rota fluid pbs --task 0s:2s --task 1s:1s",
                "Two tasks: when they come, and their demand",
            ),
        ],
    ),
    (
        "fluid pbs",
        [
            ("rota fluid pbs --task 0s:2s --task 1s:1s --alpha 2", "Two tasks with alpha 2"),
            ("rota fluid pbs load.json --picture shares.svg", "A picture of the shares over time"),
        ],
    ),
    (
        "bench",
        [
            ("rota bench interactivity", "How fast this machine answers while it is busy"),
            ("rota bench fairness", "How equally it serves equal processes"),
        ],
    ),
    (
        "bench fairness",
        [
            ("rota bench fairness", "Processes of several numbers of children"),
            ("rota bench fairness --json", "The same for programs"),
        ],
    ),
    (
        "bench agree",
        [
            ("sudo rota bench agree", "How near the simulator is to this machine"),
            ("sudo rota bench agree load.json", "For a load of one's own"),
        ],
    ),
    (
        "bench what-if",
        [
            ("sudo rota bench what-if -- ./my-program", "How far guesses about a program are off"),
            ("sudo rota bench what-if --ask more,hogs -- make -j4", "Some questions only"),
        ],
    ),
    (
        "bench calibrated",
        [
            ("rota bench calibrated --machine own.toml", "How well a file predicts this machine"),
            (
                "rota bench calibrated --machine own.toml --load pipe-two --json",
                "One load, for programs",
            ),
        ],
    ),
    (
        "bench threads",
        [
            ("rota bench threads", "Processes with many threads compared with those with one"),
            ("rota bench threads --json", "The same for programs"),
        ],
    ),
    (
        "bench interactivity",
        [
            ("rota bench interactivity", "Latencies while background tasks run"),
            ("rota bench interactivity --json", "The same for programs"),
        ],
    ),
    (
        "bench encoders",
        [
            (
                "rota bench encoders -- ffmpeg -i in.mkv out.mp4",
                "Frames of several encoders at once",
            ),
            ("rota bench encoders --help", "What COMMAND has to print"),
        ],
    ),
    (
        "bench servers",
        [
            ("rota bench servers", "A web server and a video player while the machine is loaded"),
            ("rota bench servers --json", "The same for programs"),
        ],
    ),
    (
        "bench shares",
        [
            ("rota bench shares", "How exactly shares of CPU time are met"),
            ("rota bench shares --json", "The same for programs"),
        ],
    ),
    (
        "run",
        [
            ("sudo rota run wfq --set quantum_ns=5ms", "Until Ctrl-C"),
            ("sudo rota run ./mine.bpf.o --duration 10s", "Your own scheduler, for 10 s"),
        ],
    ),
    (
        "boost",
        [
            ("sudo rota boost", "Boost threads that serve a request"),
            ("sudo rota boost --dry-run", "Print what would be boosted, and change nothing"),
        ],
    ),
    (
        "import",
        [
            ("rota import perf.data", "What the tasks of a `perf sched record` got"),
            ("rota import trace.dat --json", "The same of a trace of trace-cmd, for a program"),
        ],
    ),
    (
        "anonymise",
        [
            ("rota anonymise load.json -o shared.json", "A workload that can be shared"),
            ("rota anonymise load.json -o load.json", "The same in its place"),
        ],
    ),
    (
        "condense",
        [
            ("rota condense load.json -o small.json", "Hours of a recording in ten seconds"),
            (
                "rota condense load.json --policy rr --json",
                "How well it fits under rr, for a program",
            ),
        ],
    ),
    (
        "record",
        [
            ("sudo rota record -- make -j4", "What the tasks of a command get"),
            (
                "sudo rota record --workload load.json -- ./server",
                "A workload for rota sim from what runs",
            ),
        ],
    ),
    (
        "top",
        [
            ("sudo rota top", "What the scheduler of this machine does, on the terminal"),
            ("rota top run.parquet --speed 0.5", "A trace, at half its speed"),
        ],
    ),
    (
        "trace",
        [
            ("sudo rota trace", "Every decision, as it happens"),
            ("sudo rota trace -- sleep 1", "While a command runs"),
        ],
    ),
    (
        "set",
        [
            ("sudo rota set", "What can be changed of the running policy"),
            ("sudo rota set quantum_ns=2ms", "Change it"),
        ],
    ),
    (
        "check",
        [
            ("rota check", "Can this machine run policies?"),
            ("rota check --json", "The same for programs"),
        ],
    ),
    (
        "schema",
        [
            ("rota schema", "What there are schemas of"),
            ("rota schema workload > workload.schema.json", "Workload files, for an editor"),
        ],
    ),
    (
        "completions",
        [
            ("rota completions bash > ~/.local/share/bash-completion/completions/rota", "For bash"),
            ("rota completions fish > ~/.config/fish/completions/rota.fish", "For fish"),
        ],
    ),
    (
        "man",
        [
            ("rota man | man -l -", "Read the page"),
            ("rota man --dir ~/.local/share/man/man1", "Install all pages"),
        ],
    ),
];

/// The examples of a command: `sim`, `bench fairness`; of `rota` itself: empty.
pub(crate) fn of(path: &str) -> &'static [(&'static str, &'static str)] {
    let found = EXAMPLES.iter().find(|(command, _)| *command == path);
    found.map_or(&[], |(_, examples)| examples)
}

/// Adds them to what the help of each command ends with.
pub(crate) fn add(command: clap::Command) -> clap::Command {
    add_below(command, "")
}

fn add_below(mut command: clap::Command, path: &str) -> clap::Command {
    let below: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in below {
        let path = format!("{path} {name}").trim_start().to_owned();
        command = command.mut_subcommand(name, |below| add_below(below, &path));
    }
    let lines = of(path).iter().map(|(line, what)| format!("  {line}\n      {what}\n"));
    let mut text: String = lines.collect();
    if text.is_empty() {
        return command;
    }
    text.insert_str(0, "Examples:\n");
    if let Some(after) = command.get_after_help() {
        text = format!("{text}\n{after}");
    }
    command.after_help(text)
}
