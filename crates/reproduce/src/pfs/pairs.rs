// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 5 and 8: four threads (A) against four to 32 (B), with the same work in both programs
//! [PFS §4.3, §5.3].

use super::programs::{to_the_end, Program, CPUS};
use super::{
    largest, mean, off_percent, repetitions, Entry, CFS, EEVDF, PFS, PFS_OF_QUEUES, SCOPES,
};
use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::Job;
use rota_report::chart::{Axis, Line, LineChart, Scale};

const A_THREADS: u32 = 4;
/// In the printed table; the whole is in reports.
const SHORT: [u32; 11] = [4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32];

/// Ends of both programs, in T.
#[derive(Clone, Copy)]
struct Ends {
    a: f64,
    b: f64,
}

/// By number of B's threads.
type Means<'a> = &'a [(u32, Ends)];

/// What a figure has: two schedulers, and what is predicted.
struct Shown<'a> {
    entries: [&'a Entry; 2],
    /// By entry.
    ends: [Means<'a>; 2],
    predicted: fn(u32) -> Ends,
}

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let numbers: Vec<u32> = match job.effort {
        Effort::Quick => vec![4, 5, 8, 16, 32],
        _ => (4..=32).collect(),
    };
    let (first, second) = ([&CFS, &EEVDF], [&PFS_OF_QUEUES, &PFS]);
    let figures = [("fig5", first), ("fig8", second)];
    let wanted: Vec<_> = figures.into_iter().filter(|(id, _)| job.wants(id)).collect();
    let entries = wanted.iter().flat_map(|(_, entries)| *entries);
    let cases: Vec<(&Entry, u32)> =
        entries.flat_map(|of| numbers.iter().map(move |threads| (of, *threads))).collect();
    let repetitions = repetitions(job.effort);
    job.progress.announce(cases.len() as u64 * repetitions);
    let ends = pool::map(job.threads, &cases, |(of, threads)| {
        let programs = [Program::of(A_THREADS, 1), Program::of(*threads, 1)];
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for seed in 1..=repetitions {
            let ends = to_the_end(of, &programs, seed)?;
            a.push(ends[0].end());
            b.push(ends[1].end());
            job.progress.advance(1);
        }
        Ok((*threads, Ends { a: mean(&a), b: mean(&b) }))
    })?;
    let by_entry: Vec<Means<'_>> = ends.chunks(numbers.len()).collect();
    let found = |((id, entries), ends): (&(&'static str, _), &[Means<'_>])| {
        let ends = [ends[0], ends[1]];
        match *id {
            "fig5" => unfair(&Shown { entries: *entries, ends, predicted }, repetitions),
            _ => fair(&Shown { entries: *entries, ends, predicted: |_| BOTH }, repetitions),
        }
    };
    Ok(wanted.iter().zip(by_entry.chunks(2)).map(found).collect())
}

/// Under a scheduler that is fair to threads [PFS eq. 3 to 5].
fn predicted(threads: u32) -> Ends {
    let n = f64::from(threads);
    let (alpha, beta) = (1.0 + 4.0 / n, 1.0 - 4.0 / n);
    Ends { a: alpha + beta, b: alpha }
}

/// Under one that is fair to processes: each has half of the CPUs.
const BOTH: Ends = Ends { a: 2.0, b: 2.0 };

fn ran(repetitions: u64, beyond: &str) -> String {
    format!(
        "A with four threads and B with n, each with work that takes all four CPUs T = 8 s, in \
         the machine of Figure 3, {repetitions} times for each n; threads begin up to 1 ms after \
         the first of their program, at random each time. {beyond}"
    )
}

fn unfair(shown: &Shown<'_>, repetitions: u64) -> Found {
    let cfs = shown.ends[0];
    let beta = |threads: u32| {
        let of = cfs.iter().find(|(n, _)| *n == threads);
        of.map_or(f64::NAN, |(_, ends)| ends.a - ends.b)
    };
    let worst = |whole: bool, of: fn(&Ends) -> f64| shown.worst(0, whole, &[of]);
    let numbers = [
        ("a_whole", worst(true, |ends| ends.a)),
        ("b_whole", worst(true, |ends| ends.b)),
        ("beta8", beta(8)),
        ("beta16", beta(16)),
        ("beta32", beta(32)),
        ("a_all", worst(false, |ends| ends.a)),
        ("b_all", worst(false, |ends| ends.b)),
    ];
    Found {
        id: "fig5",
        ran: ran(repetitions, "EEVDF is beyond the paper."),
        numbers: plain(numbers),
        tables: shown.tables(),
        drawings: vec![Drawing {
            svg: shown.chart("More threads, sooner done: fair to threads").render(),
        }],
    }
}

fn fair(shown: &Shown<'_>, repetitions: u64) -> Found {
    let both: [fn(&Ends) -> f64; 2] = [|ends| ends.a, |ends| ends.b];
    let numbers = [
        ("whole_queues", shown.worst(0, true, &both)),
        ("whole", shown.worst(1, true, &both)),
        ("all_queues", shown.worst(0, false, &both)),
        ("all", shown.worst(1, false, &both)),
    ];
    Found {
        id: "fig8",
        ran: ran(repetitions, SCOPES),
        numbers: plain(numbers),
        tables: shown.tables(),
        drawings: vec![Drawing {
            svg: shown.chart("More threads gain nothing: fair to processes").render(),
        }],
    }
}

impl Shown<'_> {
    /// The largest difference from what is predicted, in percent; of whole multiples of the
    /// number of CPUs only, or of all n.
    fn worst(&self, entry: usize, whole: bool, of: &[fn(&Ends) -> f64]) -> f64 {
        let counts = self.ends[entry].iter().filter(|(n, _)| !whole || n % CPUS == 0);
        largest(counts.flat_map(|(n, ends)| {
            let due = (self.predicted)(*n);
            of.iter().map(move |of| off_percent(of(ends), of(&due)))
        }))
    }

    fn tables(&self) -> Vec<Table> {
        let table = |title: &str, long, wanted: &dyn Fn(u32) -> bool| {
            let names = self.entries.iter().map(|entry| entry.name).chain(["predicted"]);
            let header = names.flat_map(|name| ["A", "B"].map(|of| format!("{of}, {name} (T)")));
            let row = |(at, (n, _)): (usize, &(u32, Ends))| {
                let ends = self.ends.iter().map(|ends| ends[at].1).chain([(self.predicted)(*n)]);
                let cells = ends.flat_map(|ends| [ends.a, ends.b].map(|end| format!("{end:.3}")));
                std::iter::once(n.to_string()).chain(cells).collect()
            };
            let rows = self.ends[0].iter().enumerate().filter(|(_, (n, _))| wanted(*n));
            Table {
                title: title.into(),
                header: std::iter::once("n".to_owned()).chain(header).collect(),
                rows: rows.map(row).collect(),
                long,
            }
        };
        vec![
            table("Completion times", false, &|n| SHORT.contains(&n)),
            table("Completion times of all n", true, &|_| true),
        ]
    }

    fn chart(&self, title: &str) -> LineChart {
        let line = |name: String, points: Vec<(f64, f64)>| Line { name, points };
        let of = |(entry, ends): (&&Entry, &Means<'_>)| {
            let points = |of: fn(&Ends) -> f64| -> Vec<(f64, f64)> {
                ends.iter().map(|(n, ends)| (f64::from(*n), of(ends))).collect()
            };
            [
                line(format!("A, {}", entry.name), points(|ends| ends.a)),
                line(format!("B, {}", entry.name), points(|ends| ends.b)),
            ]
        };
        let due = |of: fn(&Ends) -> f64| -> Vec<(f64, f64)> {
            let point = |(n, _): &(u32, Ends)| (f64::from(*n), of(&(self.predicted)(*n)));
            self.ends[0].iter().map(point).collect()
        };
        let mut lines: Vec<Line> = self.entries.iter().zip(&self.ends).flat_map(of).collect();
        if due(|ends| ends.a) == due(|ends| ends.b) {
            lines.push(line("predicted".into(), due(|ends| ends.a)));
        } else {
            lines.push(line("A, predicted".into(), due(|ends| ends.a)));
            lines.push(line("B, predicted".into(), due(|ends| ends.b)));
        }
        LineChart {
            title: title.into(),
            description: "Completion of A with four threads and B with n, on four CPUs, by n"
                .into(),
            x: Axis { label: "threads of B".into(), scale: Scale::Linear },
            y: Axis { label: "completion (T)".into(), scale: Scale::Linear },
            lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prediction_is_the_papers() {
        // With 4 threads each has half of the CPUs; with 12 B has three quarters until it ends.
        for (n, alpha, beta) in [(4, 2.0, 0.0), (8, 1.5, 0.5), (12, 4.0 / 3.0, 2.0 / 3.0)] {
            let Ends { a, b } = predicted(n);
            assert!((b - alpha).abs() < 1e-12 && (a - b - beta).abs() < 1e-12, "{n}: {a} {b}");
        }
    }

    #[test]
    fn numbers_that_are_no_multiple_of_the_cpus_can_be_left_out() {
        let ends = [(8, Ends { a: 2.0, b: 1.53 }), (9, Ends { a: 2.2, b: 1.5 })];
        let shown = Shown { entries: [&CFS, &EEVDF], ends: [&ends, &[]], predicted };
        let both: [fn(&Ends) -> f64; 2] = [|ends| ends.a, |ends| ends.b];
        assert!((shown.worst(0, true, &both) - 2.0).abs() < 1e-9);
        assert!((shown.worst(0, false, &both) - 10.0).abs() < 1e-9);
    }
}
