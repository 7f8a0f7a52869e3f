// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 3: what a decision costs with more and more clients [VTRR §5.2], in instructions of
//! the policy, those of the kernel's functions that it calls included.

use crate::decision_costs::{DecisionCost, DecisionCosts};
use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::rig::{hogs_told, linked, Length, Rig};
use crate::Job;
use rota_report::chart::{Axis, Line, LineChart, Scale};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What the bench of decision costs measured once.
const RECORDED: &str = include_str!("../../papers/vtrr/decision-cost.json");

/// The paper has 1 to 200.
const CLIENTS: [usize; 12] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 3_000, 10_000];
const PAPERS_MOST: usize = 200;
/// Those of them that are judged in nanoseconds, if they were measured.
const NS_CLIENTS: [usize; 8] = [1, 2, 10, 25, 50, 100, 150, 200];
/// Decisions that are counted at each of them.
const DECISIONS: usize = 2_000;
/// The shortest there is: nobody may wait for 30 seconds, or the watchdog ejects the policy.
const QUANTUM_NS: u64 = 100_000;
const QUANTUM: (&str, &str) = ("quantum_ns", "100000");

struct Entry {
    name: &'static str,
    key: &'static str,
    policy: &'static str,
    /// As the bench of decision costs is told of it.
    bench_name: &'static str,
    set: &'static [(&'static str, &'static str)],
    /// Shares are unknown to it: all clients have nice 19, and so the shortest quantum.
    by_nice: bool,
    quantum_ns: u64,
}

impl Entry {
    const fn by_share(
        name: &'static str,
        key: &'static str,
        policy: &'static str,
        bench_name: &'static str,
        set: &'static [(&'static str, &'static str)],
    ) -> Self {
        let quantum_ns = QUANTUM_NS;
        Self { name, key, policy, bench_name, set, by_nice: false, quantum_ns }
    }
}

/// Two of the shortest ticks [VTRR §4].
const LINUX: Entry = Entry {
    name: "Linux 2.2",
    key: "linux",
    policy: "linux22",
    bench_name: "linux22",
    set: &[("tick_ns", "1000000")],
    by_nice: true,
    quantum_ns: 2_000_000,
};

const ENTRIES: &[Entry] = &[
    LINUX,
    Entry::by_share(
        "WFQ, list",
        "wfq_list",
        "wfq",
        "wfq:queue=list",
        &[QUANTUM, ("queue", "list")],
    ),
    Entry::by_share("WFQ, heap", "wfq_heap", "wfq", "wfq", &[QUANTUM]),
    // The array only spares the walks of clients that come.
    Entry::by_share("VTRR", "vtrr", "vtrr", "vtrr", &[QUANTUM, ("insert", "array")]),
];

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let most = if job.effort == Effort::Quick { 1_000 } else { usize::MAX };
    let sizes: Vec<usize> = CLIENTS.into_iter().filter(|clients| *clients <= most).collect();
    // The longest first, so that no thread begins it when the others are done.
    let cases: Vec<(&Entry, usize)> =
        sizes.iter().rev().flat_map(|n| ENTRIES.iter().map(move |entry| (entry, *n))).collect();
    let work = |clients: usize| (clients + DECISIONS) as u64;
    job.progress.announce(cases.iter().map(|(_, clients)| work(*clients)).sum());
    let costs = pool::map(job.threads, &cases, |(entry, clients)| {
        let cost = cost(entry, *clients);
        job.progress.advance(work(*clients));
        cost
    })?;
    let mut found = Vec::new();
    for entry in ENTRIES {
        let of_entry = cases.iter().zip(&costs).filter(|((e, _), _)| e.key == entry.key);
        let mut points: Vec<(f64, f64)> =
            of_entry.map(|((_, clients), cost)| (*clients as f64, *cost)).collect();
        points.reverse();
        found.push((entry, points));
    }
    let mut figure = figure(&found, &sizes);
    match job.decision_costs {
        Some(costs) => add_nanoseconds(&mut figure, costs),
        None => {
            let recorded = DecisionCosts::parse("papers/vtrr/decision-cost.json", RECORDED)?;
            add_nanoseconds(&mut figure, &recorded);
            figure.ran.push_str(" They were recorded once (docs/decision-cost.md).");
        }
    }
    Ok(vec![figure])
}

/// Instructions of a decision, on average. Everybody has run once before it is counted.
fn cost(entry: &Entry, clients: usize) -> Result<f64, Error> {
    let setting = |client: usize| match entry.by_nice {
        true => "\"priority\": 19".to_owned(),
        false => format!("\"share\": {}", client % 5 + 1),
    };
    let workload = hogs_told((0..clients).map(setting), |at| format!("c{at}"))?;
    let warmup_ns = clients as u64 * entry.quantum_ns;
    let duration_ns = warmup_ns + DECISIONS as u64 * entry.quantum_ns;
    let length = Length { duration_ns, warmup_ns, seed: 1 };
    let mut rig = Rig::new(&linked(entry.policy, entry.set)?);
    let counters = rig.run(&workload, length, &mut Nobody)?.counters;
    Ok(counters.decision_instructions as f64 / counters.decisions as f64)
}

/// Reads no event.
struct Nobody;

impl rota_trace::Sink for Nobody {
    fn event(&mut self, _: &rota_trace::Event) {}
}

type Costs<'a> = (&'a Entry, Vec<(f64, f64)>);

fn at(points: &[(f64, f64)], clients: usize) -> Option<f64> {
    points.iter().find(|(at, _)| *at == clients as f64).map(|(_, cost)| *cost)
}

fn figure(found: &[Costs<'_>], sizes: &[usize]) -> Found {
    let of = |key: &str, clients: usize| {
        let (_, points) = found.iter().find(|(entry, _)| entry.key == key)?;
        at(points, clients)
    };
    let mut numbers = Vec::new();
    let mut add = |key: &str, ours: Option<f64>| numbers.extend(ours.map(|n| (key.to_owned(), n)));
    let growth = |key: &str, from: usize, to: usize| Some(of(key, to)? / of(key, from)?);
    let last = sizes.last().copied().unwrap_or(1);
    add("vtrr_growth", growth("vtrr", 10, last).map(|times| (times - 1.0) * 100.0));
    add("vtrr_growth_paper", growth("vtrr", 10, PAPERS_MOST).map(|times| (times - 1.0) * 100.0));
    add("wfq_heap_growth", growth("wfq_heap", 10, PAPERS_MOST));
    let ratio = |key: &str| Some(of(key, PAPERS_MOST)? / of("vtrr", PAPERS_MOST)?);
    add("wfq_heap_over_vtrr", ratio("wfq_heap"));
    // What the last 100 clients add, over what the 50 before them do: 2 on a line.
    let line = |key: &str| {
        let more = |from: usize, to: usize| Some(of(key, to)? - of(key, from)?);
        Some(more(100, 200)? / more(50, 100)?)
    };
    add("linux_growth", line("linux"));
    add("wfq_list_growth", line("wfq_list"));
    add("linux_over_vtrr", ratio("linux"));
    add("linux_one_over_vtrr", of("linux", 1).zip(of("vtrr", PAPERS_MOST)).map(|(a, b)| a / b));
    for clients in sizes.iter().filter(|clients| **clients <= PAPERS_MOST) {
        let others = ENTRIES.iter().filter(|entry| entry.key != "vtrr");
        let others = others.filter_map(|entry| of(entry.key, *clients));
        let cheapest = others.reduce(f64::min).zip(of("vtrr", *clients));
        add(&format!("cheapest_{clients}"), cheapest.map(|(other, vtrr)| other / vtrr));
    }
    let row = |clients: &usize| {
        let cell = |(_, points): &Costs<'_>| {
            at(points, *clients).map_or("–".into(), |c| format!("{c:.0}"))
        };
        std::iter::once(clients.to_string()).chain(found.iter().map(cell)).collect()
    };
    let names = found.iter().map(|(entry, _)| entry.name.to_owned());
    Found {
        id: "fig3",
        ran: format!(
            "{DECISIONS} decisions of each policy's object at each number of clients up to {last}, with \
             shares 1 to 5 in turn (nice 19 under Linux 2.2), after each client ran once, in the \
             ideal machine with one CPU. Counted are the instructions of all callbacks from one decision \
             to the next, with the documented costs of kernel functions: no time, so no noise."
        ),
        numbers: plain(numbers),
        tables: vec![Table {
            title: "Instructions of a decision".into(),
            header: std::iter::once("clients".to_owned()).chain(names).collect(),
            rows: sizes.iter().map(row).collect(),
            long: false,
        }],
        drawings: vec![Drawing { svg: chart(found).render() }],
    }
}

fn chart(found: &[Costs<'_>]) -> LineChart {
    let line =
        |(entry, points): &Costs<'_>| Line { name: entry.name.into(), points: points.clone() };
    LineChart {
        title: "Cost of a decision".into(),
        description: "Instructions that a policy needs for one decision, by number of clients"
            .into(),
        x: Axis { label: "clients".into(), scale: Scale::Logarithmic },
        y: Axis { label: "instructions per decision".into(), scale: Scale::Logarithmic },
        lines: found.iter().map(line).collect(),
    }
}

/// The paper's headlines, in nanoseconds.
fn add_judged(
    figure: &mut Found,
    measured: &[(&Entry, Vec<DecisionCost>)],
    sizes: &BTreeSet<usize>,
) {
    let of = |key: &str, tasks: usize| {
        let (_, costs) = measured.iter().find(|(entry, _)| entry.key == key)?;
        costs.iter().find(|cost| cost.tasks == tasks).map(|cost| cost.median_ns)
    };
    let mut add = |key: String, over: Option<f64>, vtrr: Option<f64>| {
        figure.numbers.extend(over.zip(vtrr).map(|(over, vtrr)| (key, (over / vtrr).into())));
    };
    let vtrr = of("vtrr", PAPERS_MOST);
    add("ns_linux_over_vtrr".into(), of("linux", PAPERS_MOST), vtrr);
    add("ns_wfq_heap_over_vtrr".into(), of("wfq_heap", PAPERS_MOST), vtrr);
    add("ns_linux_one_over_vtrr".into(), of("linux", 1), vtrr);
    for tasks in sizes.iter().copied().filter(|tasks| NS_CLIENTS.contains(tasks)) {
        let others = ["linux", "wfq_list", "wfq_heap"].map(|key| of(key, tasks));
        let cheapest = others.into_iter().flatten().reduce(f64::min);
        add(format!("ns_cheapest_{tasks}"), cheapest, of("vtrr", tasks));
    }
}

/// What the bench has measured on a CPU, in a table and a picture of their own: another load, and
/// so no line of the other picture.
fn add_nanoseconds(figure: &mut Found, costs: &DecisionCosts) {
    let measured: Vec<(&Entry, Vec<DecisionCost>)> =
        ENTRIES.iter().map(|entry| (entry, costs.of(entry.bench_name))).collect();
    let sizes: BTreeSet<usize> =
        measured.iter().flat_map(|(_, costs)| costs.iter().map(|cost| cost.tasks)).collect();
    let row = |clients: &usize| {
        let cell = |(_, costs): &(&Entry, Vec<DecisionCost>)| {
            let Some(cost) = costs.iter().find(|cost| cost.tasks == *clients) else {
                return "–".into();
            };
            let ratio = cost.ratio.map(|ratio| format!(" ({ratio:.1})")).unwrap_or_default();
            format!("{:.0}{ratio}", cost.median_ns)
        };
        std::iter::once(clients.to_string()).chain(measured.iter().map(cell)).collect()
    };
    add_judged(figure, &measured, &sizes);
    let names = measured.iter().map(|(entry, _)| entry.name.to_owned());
    let computer = costs.computer();
    let _ = write!(
        figure.ran,
        " Nanoseconds are of the bench of decision costs: the same objects under the BPF JIT of a \
         kernel ({computer}), tasks with the weights of nice -5, 0 and 5 in turn; in brackets how \
         many times as long as scx_simple, which took turns with them."
    );
    figure.tables.push(Table {
        title: "Nanoseconds of a decision on a real CPU, median".into(),
        header: std::iter::once("clients".to_owned()).chain(names).collect(),
        rows: sizes.iter().map(row).collect(),
        long: false,
    });
    let line = |(entry, costs): &(&Entry, Vec<DecisionCost>)| Line {
        name: entry.name.into(),
        points: costs.iter().map(|cost| (cost.tasks as f64, cost.median_ns)).collect(),
    };
    let chart = LineChart {
        title: "Time of a decision".into(),
        description: "Nanoseconds of one decision on a real CPU, by number of clients".into(),
        x: Axis { label: "clients".into(), scale: Scale::Logarithmic },
        y: Axis { label: "nanoseconds per decision".into(), scale: Scale::Logarithmic },
        lines: measured.iter().filter(|(_, costs)| !costs.is_empty()).map(line).collect(),
    };
    figure.drawings.push(Drawing { svg: chart.render() });
}
