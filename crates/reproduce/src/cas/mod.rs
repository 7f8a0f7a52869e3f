// SPDX-License-Identifier: MIT OR Apache-2.0
//! M. R. Nikseresht, A. Somayaji, A. Maheshwari, *Customer Appeasement Scheduling*, 2010: the
//! analyses of §3 and §5.1 beside the same scenarios in the simulated machine, and the experiments
//! of §7 as they were recorded on a live kernel, and simulated.

mod cfs;
mod formulas;
mod mlfq;
mod model;
mod ours;
mod rbpe;
mod rr;
mod scene;
mod servers;
mod slices;
mod sweeps;
mod table1;
mod watched;
mod weights;

use crate::figure::Table;
use crate::{Experiment, Paper};

pub(crate) const PAPER: Paper = Paper {
    name: "cas",
    expected: include_str!("../../papers/cas/expected.toml"),
    costs_in: None,
    experiments: &[
        Experiment { figures: &["fig1", "fig2", "fig3", "fig4"], work: 1, run: servers::run },
        Experiment { figures: &["fig1-sim", "fig3-sim"], work: 76, run: sweeps::run },
        Experiment { figures: &["model"], work: 1, run: model::run },
        Experiment { figures: &["rr"], work: 1, run: rr::run },
        Experiment { figures: &["cfs"], work: 10, run: cfs::run },
        Experiment { figures: &["mlfq"], work: 1, run: mlfq::run },
        Experiment { figures: &["rbpe"], work: 32, run: rbpe::run },
        Experiment { figures: &["table1"], work: 10, run: table1::run },
        Experiment { figures: &["appease"], work: 3, run: ours::run },
    ],
};

/// Tasks that want the CPU while a request is served, its server among them: the paper's N.
const NS: [u32; 4] = [2, 4, 8, 13];

/// CPU time of P_j, of P_s on its behalf, and of P_j again; or of P_j alone.
#[derive(Clone, Copy, Debug)]
enum Parts<T> {
    Alone(T),
    WithService([T; 3]),
}

impl<T: Copy> Parts<T> {
    fn as_slice(&self) -> &[T] {
        match self {
            Self::Alone(part) => std::slice::from_ref(part),
            Self::WithService(parts) => parts,
        }
    }

    fn map<U>(&self, of: impl Fn(T) -> U) -> Parts<U> {
        match self {
            Self::Alone(part) => Parts::Alone(of(*part)),
            Self::WithService(parts) => Parts::WithService(parts.map(of)),
        }
    }
}

/// What is in a row of a table before its numbers: `5`, or `1+2+1`.
fn told<T: Copy + std::fmt::Display>(parts: &Parts<T>) -> String {
    parts.as_slice().iter().map(T::to_string).collect::<Vec<_>>().join("+")
}

/// The middle one; of none, not a number.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn ms(value: f64) -> String {
    // No minus before what rounds to 0.
    format!("{:.3}", if value.abs() < 5e-4 { 0.0 } else { value })
}

fn table(title: &str, header: &[&str], rows: Vec<Vec<String>>) -> Table {
    let header = header.iter().map(|name| (*name).to_owned()).collect();
    Table { title: title.into(), header, rows, long: false }
}

/// One that is only of interest to who checks a formula: for reports and JSON.
fn details(title: &str, header: &[&str], rows: Vec<Vec<String>>) -> Table {
    Table { long: true, ..table(title, header, rows) }
}
