// SPDX-License-Identifier: MIT OR Apache-2.0
//! Averages in one figure, maxima in the other; and whose are lower, whatever the paper leaves out.

use super::cases::Results;
use super::cycles::Latency;
use super::parameters::{rows, Row, BY_LOAD};
use super::workload::{Load, LOADS, TEST_S};
use crate::figure::{Drawing, Found, Measured, Table};
use crate::o1cfs::{Entry, CFS, ENTRIES, O1};
use rota_measure::statistics::{estimate, winner, Better};
use rota_report::chart::{Bar, BarGroup, Bars};
use std::cmp::Ordering;

/// What a figure shows of a latency.
struct Shown {
    id: &'static str,
    /// In titles.
    name: &'static str,
    of: fn(&Latency) -> f64,
    /// The paper's order of O(1) and CFS beside each of [`LOADS`].
    paper: [Ordering; 3],
}

const SHOWN: [Shown; 2] = [
    Shown {
        id: "fig2a",
        name: "Average latency",
        of: |latency| latency.average,
        paper: [Ordering::Greater, Ordering::Less, Ordering::Less],
    },
    Shown {
        id: "fig2b",
        name: "Maximum latency",
        of: |latency| latency.maximum,
        paper: [Ordering::Greater; 3],
    },
];

pub(super) fn found(results: &Results, repetitions: u64) -> Vec<Found> {
    SHOWN.iter().map(|shown| shown.found(results, repetitions)).collect()
}

impl Shown {
    fn found(&self, results: &Results, repetitions: u64) -> Found {
        let rows = rows();
        let default = &rows[0];
        let mut numbers = self.numbers(results, default);
        if let Some(by_load) = rows.iter().find(|row| row.name == BY_LOAD) {
            let own = self.numbers(results, by_load).into_iter();
            numbers.extend(own.map(|(key, number)| (format!("{key}_by_load"), number)));
        }
        let drawing = Drawing { svg: self.chart(results, default).render() };
        Found {
            id: self.id,
            ran: format!(
                "X with each load for {TEST_S} s in a simulated machine with one CPU, 250 ticks \
                 per second and the default costs, {repetitions} times: where in their periods the \
                 tasks begin is random each time, and nothing else differs. The workloads are \
                 workloads/xwindow-audio.json, xwindow-video.json and xwindow-full.json. A latency \
                 is the time from a wakeup of X to the CPU; of each test's, the {} is taken, and \
                 its mean over the repetitions. EEVDF, VTRR and WFQ are beyond the paper.",
                match self.id {
                    "fig2a" => "average",
                    _ => "maximum",
                }
            ),
            numbers,
            tables: vec![self.of_schedulers(results, default), self.of_parameters(results, &rows)],
            drawings: vec![drawing],
        }
    }

    /// One of each repetition.
    fn values(&self, results: &Results, of: &Entry, load: Load, row: &Row) -> Vec<f64> {
        results.of(of.policy, load, &row.setting).iter().map(self.of).collect()
    }

    fn mean(&self, results: &Results, of: &Entry, load: Load, row: &Row) -> f64 {
        mean(&self.values(results, of, load, row))
    }

    /// What the paper says is lower, over the other; by the names of the loads.
    fn numbers(&self, results: &Results, row: &Row) -> Vec<(String, Measured)> {
        let mean = |of, load| self.mean(results, of, load, row);
        let values = |of, load| self.values(results, of, load, row);
        let ratio = |(load, paper): (Load, Ordering)| {
            let (lower, higher) = match paper {
                Ordering::Less => (&O1, &CFS),
                _ => (&CFS, &O1),
            };
            // Of the same start times.
            let ratio = Measured::ratio(&values(lower, load), &values(higher, load));
            (load.name().to_owned(), ratio)
        };
        let ratios = LOADS.into_iter().zip(self.paper).map(ratio);
        let unnoticed = match self.id {
            "fig2a" => ("unnoticed", largest(LOADS.map(|load| mean(&CFS, load)))),
            _ => {
                let apart = |load| (mean(&O1, load) - mean(&CFS, load)).abs();
                ("unnoticed", largest(LOADS.map(apart)))
            }
        };
        ratios.chain([(unnoticed.0.to_owned(), unnoticed.1.into())]).collect()
    }

    fn of_schedulers(&self, results: &Results, row: &Row) -> Table {
        let cells = |entry: &&Entry| {
            let of = LOADS.map(|load| with_error(&self.values(results, entry, load, row)));
            std::iter::once(entry.name.to_owned()).chain(of).collect()
        };
        let header = LOADS.map(|load| format!("with {} (ms)", load.in_words()));
        Table {
            title: format!("{}, with the 95 % confidence interval of its mean", self.name),
            header: std::iter::once("scheduler".to_owned()).chain(header).collect(),
            rows: ENTRIES.iter().map(cells).collect(),
            long: false,
        }
    }

    fn of_parameters(&self, results: &Results, rows: &[Row]) -> Table {
        let cells = |row: &Row| {
            let of = |entry| LOADS.map(|load| self.values(results, entry, load, row));
            let (o1, cfs) = (of(&O1), of(&CFS));
            let orders: Vec<Ordering> = o1.iter().zip(&cfs).map(|(a, b)| order(a, b)).collect();
            let cell = |at: usize| {
                format!("{} {} {}", number(&o1[at]), sign(orders[at]), number(&cfs[at]))
            };
            let same = orders.iter().zip(&self.paper).filter(|(a, b)| a == b).count();
            let last = format!("{same} of {}", LOADS.len());
            let cells = [row.name.to_owned(), cell(0), cell(1), cell(2), last];
            cells.to_vec()
        };
        let paper = self.paper.map(|order| sign(order).to_owned());
        let paper = std::iter::once("the paper".to_owned()).chain(paper).chain([String::new()]);
        let loads = LOADS.map(|load| format!("{} (ms)", load.in_words()));
        let header = std::iter::once("left out by the paper".to_owned()).chain(loads);
        Table {
            title: "O(1) and CFS as one thing changes (its default; ≈: no significant difference)"
                .into(),
            header: header.chain(["as the paper".to_owned()]).collect(),
            rows: std::iter::once(paper.collect()).chain(rows.iter().map(cells)).collect(),
            long: false,
        }
    }

    fn chart(&self, results: &Results, row: &Row) -> Bars {
        let group = |load: Load| BarGroup {
            name: format!("with {}", load.in_words()),
            bars: ENTRIES
                .iter()
                .map(|entry| Bar {
                    name: entry.name.into(),
                    value: self.mean(results, entry, load, row),
                })
                .collect(),
        };
        Bars {
            title: format!("{} of X", self.name),
            description: format!("{} of X with each load, by scheduler", self.name),
            label: "latency (ms)".into(),
            groups: LOADS.map(group).into(),
        }
    }
}

fn largest(values: [f64; 3]) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

fn mean(values: &[f64]) -> f64 {
    estimate(values).map_or(f64::NAN, |estimate| estimate.mean)
}

/// Whose are lower, as repetition by repetition both had the same start times.
fn order(o1: &[f64], cfs: &[f64]) -> Ordering {
    let values = [o1, cfs].map(|values| values.iter().copied().map(Some).collect());
    match winner(&values, Better::Lower) {
        Some(0) => Ordering::Less,
        Some(_) => Ordering::Greater,
        None => Ordering::Equal,
    }
}

fn sign(order: Ordering) -> &'static str {
    match order {
        Ordering::Less => "<",
        Ordering::Equal => "≈",
        Ordering::Greater => ">",
    }
}

fn number(values: &[f64]) -> String {
    digits(mean(values))
}

fn with_error(values: &[f64]) -> String {
    let half = estimate(values).and_then(|estimate| estimate.half_width);
    let half = half.map_or(String::new(), |half| format!(" ± {}", digits(half)));
    digits(mean(values)) + &half
}

/// Microseconds where they matter.
fn digits(ms: f64) -> String {
    match ms {
        ms if ms >= 10.0 => format!("{ms:.1}"),
        ms if ms >= 1.0 => format!("{ms:.2}"),
        ms => format!("{ms:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_one_only_if_it_is_significant() {
        // Differences of 1, 1.1, 0.9: t = 1 / (0.1 / √3) = 17; of 1, -1, 0.5: t = 0.28.
        assert_eq!(order(&[1.0, 2.0, 3.0], &[2.0, 3.1, 3.9]), Ordering::Less);
        assert_eq!(order(&[2.0, 3.1, 3.9], &[1.0, 2.0, 3.0]), Ordering::Greater);
        assert_eq!(order(&[1.0, 2.0, 3.0], &[2.0, 1.0, 3.5]), Ordering::Equal);
        assert_eq!(order(&[0.0, 0.0], &[0.0, 0.0]), Ordering::Equal);
    }

    #[test]
    fn short_times_have_more_digits() {
        assert_eq!([0.0474, 1.394, 44.91].map(digits), ["0.047", "1.39", "44.9"]);
        // Half the interval of 1 and 3: 12.7062 · √(2 / 2) = 12.7.
        assert_eq!(with_error(&[1.0, 3.0]), "2.00 ± 12.7");
        assert_eq!(with_error(&[1.0]), "1.00");
    }
}
