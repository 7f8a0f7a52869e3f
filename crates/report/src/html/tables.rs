// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each figure's numbers as a table: what it shows, for those who cannot see it, and to copy.

use super::groups::Groups;
use super::markup::Html;
use super::model::{Band, Distribution, Slices, Workload};
use super::numbers::{count, time, value};
use super::series::{self, both};
use crate::html::model::Unit;

/// A folded-up table. The first `words` columns are words, the others numbers.
fn table(html: &mut Html, title: &str, columns: &[&str], words: usize, rows: &[Vec<String>]) {
    html.open("details", &[]);
    html.element("summary", &[], title);
    html.open(
        "div",
        &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", title)],
    );
    html.open("table", &[("class", "data")]);
    html.open("thead", &[]);
    html.open("tr", &[]);
    for (index, column) in columns.iter().enumerate() {
        let class = if index < words { "word" } else { "number" };
        html.element("th", &[("scope", "col"), ("class", class)], column);
    }
    html.close("tr");
    html.close("thead");
    html.open("tbody", &[]);
    for row in rows {
        html.open("tr", &[]);
        for (index, cell) in row.iter().enumerate() {
            match index {
                index if index < words => html.element("th", &[("scope", "row")], cell),
                _ => html.element("td", &[], cell),
            }
        }
        html.close("tr");
    }
    html.close("tbody");
    html.close("table");
    html.close("div");
    html.close("details");
}

/// Slices of each group under each policy.
pub(crate) fn timeline(
    html: &mut Html,
    workload: &Workload,
    groups: &Groups,
    timelines: &[Slices],
) {
    let names = workload.policies.iter().filter(|p| p.figures.is_some()).map(|p| &p.name);
    let mut rows = Vec::new();
    for (policy, slices) in names.zip(timelines) {
        let mut sums = vec![(0u64, 0u64, 0u64); groups.list.len()];
        for slice in slices.cpus.iter().flatten() {
            let length_ns = slice.end_ns.saturating_sub(slice.start_ns);
            if let Some((number, sum, longest)) = sums.get_mut(groups.group_of(slice.task)) {
                *number += 1;
                *sum += length_ns;
                *longest = length_ns.max(*longest);
            }
        }
        for (group, (number, sum, longest)) in groups.list.iter().zip(sums) {
            let mean =
                if number == 0 { "–".to_owned() } else { time(sum as f64 / number as f64) };
            rows.push(vec![
                policy.clone(),
                group.name.clone(),
                count(number),
                time(sum as f64),
                mean,
                time(longest as f64),
            ]);
        }
    }
    let columns = ["policy", "task", "slices", "CPU time", "mean slice", "longest slice"];
    table(html, "Timeline as a table", &columns, 2, &rows);
}

/// Mean, least and greatest share of each group under each policy.
pub(crate) fn shares(html: &mut Html, workload: &Workload, groups: &Groups) {
    let mut rows = Vec::new();
    for policy in &workload.policies {
        let Some(figures) = &policy.figures else { continue };
        let series = series::shares(&figures.shares, groups, workload.duration_ns);
        for (group, values) in groups.list.iter().zip(&series.groups) {
            let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            let least = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
            let greatest = values.iter().copied().fold(0.0, f64::max);
            let percent = [mean, least, greatest].map(|share| value(Unit::Fraction, share));
            let mut row = vec![policy.name.clone(), group.name.clone()];
            row.extend(percent);
            rows.push(row);
        }
    }
    let columns = ["policy", "task", "mean", "least", "greatest"];
    table(html, "Share over time as a table", &columns, 2, &rows);
}

/// Least and greatest lag of each group under each policy.
pub(crate) fn lags(html: &mut Html, workload: &Workload, groups: &Groups) {
    let mut rows = Vec::new();
    for policy in &workload.policies {
        let Some(figures) = &policy.figures else { continue };
        let series = series::lags(&figures.lags, groups, workload.duration_ns);
        for (group, bands) in groups.list.iter().zip(&series.groups) {
            let whole: Option<Band> = bands.iter().copied().fold(None, both);
            let written = |ns: Option<i64>| ns.map_or("–".to_owned(), |ns| time(ns as f64));
            rows.push(vec![
                policy.name.clone(),
                group.name.clone(),
                written(whole.map(|band| band.min_ns)),
                written(whole.map(|band| band.max_ns)),
            ]);
        }
    }
    table(html, "Lag over time as a table", &["policy", "task", "least", "greatest"], 2, &rows);
}

/// Percentiles of each distribution under each policy, means over the seeds.
pub(crate) fn latencies(html: &mut Html, workload: &Workload) {
    let percentiles = [50.0, 90.0, 95.0, 99.0, 99.9, 100.0];
    let mut rows = Vec::new();
    for name in names_of_latencies(workload) {
        for policy in &workload.policies {
            let figures = policy.figures.iter();
            let Some(found) = figures.flat_map(|f| &f.latencies).find(|l| l.name == name) else {
                continue;
            };
            let mut row = vec![name.to_owned(), policy.name.clone()];
            row.push(count(found.seeds));
            row.push(count(found.count));
            row.push(count(found.waiting));
            row.extend(
                percentiles.map(|p| at(found, p).map_or("–".to_owned(), |ns| time(ns as f64))),
            );
            rows.push(row);
        }
    }
    let columns = [
        "time",
        "policy",
        "seeds",
        "count",
        "still open",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "longest",
    ];
    table(html, "Distributions as a table", &columns, 2, &rows);
}

/// Names of a workload's distributions, in the order in which they first come.
pub(crate) fn names_of_latencies(workload: &Workload) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let figures = workload.policies.iter().filter_map(|policy| policy.figures.as_ref());
    for distribution in figures.flat_map(|figures| &figures.latencies) {
        if distribution.count > 0 && !names.contains(&distribution.name.as_str()) {
            names.push(&distribution.name);
        }
    }
    names
}

/// The value of the first point at or above a percentile.
fn at(distribution: &Distribution, percentile: f64) -> Option<u64> {
    let points = &distribution.points;
    points.iter().find(|point| point.percentile >= percentile).map(|point| point.value_ns)
}
