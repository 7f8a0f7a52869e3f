// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the scripts of a report draw from, as JSON.

use serde::Serialize;

use super::encode;
use super::groups::Groups;
use super::model::{Distribution, Figures, Point, Slices, Workload};
use super::series;

/// Points of a curve that a picture has room for.
const MOST_POINTS: usize = 400;

#[derive(Serialize)]
struct Data<'a> {
    warmup: u64,
    tasks: Vec<&'a str>,
    #[serde(rename = "groupOf")]
    group_of: &'a [usize],
    groups: Vec<GroupData<'a>>,
    policies: Vec<PolicyData<'a>>,
}

#[derive(Serialize)]
struct GroupData<'a> {
    name: &'a str,
    paint: Option<usize>,
}

#[derive(Serialize)]
struct PolicyData<'a> {
    name: &'a str,
    baseline: bool,
    timeline: Timeline,
    shares: Series,
    lags: Series,
    latencies: Vec<Curve<'a>>,
}

#[derive(Serialize)]
struct Timeline {
    from: u64,
    to: u64,
    cpus: Vec<String>,
}

#[derive(Serialize)]
struct Series {
    from: u64,
    to: u64,
    bucket: u64,
    rows: Vec<String>,
}

#[derive(Serialize)]
struct Curve<'a> {
    name: &'a str,
    /// Times of a seed.
    count: u64,
    /// Percentile, value, least and greatest value of a seed.
    points: Vec<(f64, u64, u64, u64)>,
}

/// The figures of a workload; `timelines` are those of its policies, cut to the room for them.
pub(crate) fn of(
    workload: &Workload,
    baseline: &str,
    groups: &Groups,
    timelines: &[Slices],
) -> String {
    let figures =
        workload.policies.iter().filter_map(|p| p.figures.as_ref().map(|figures| (p, figures)));
    let data = Data {
        warmup: workload.warmup_ns,
        tasks: workload.tasks.iter().map(|task| task.name.as_str()).collect(),
        group_of: &groups.of_task,
        groups: groups.list.iter().map(|g| GroupData { name: &g.name, paint: g.paint }).collect(),
        policies: figures
            .zip(timelines)
            .map(|((policy, figures), slices)| PolicyData {
                baseline: policy.name == baseline,
                ..policy_data(&policy.name, figures, groups, slices, workload.duration_ns)
            })
            .collect(),
    };
    // Strings, numbers and lists: this cannot fail.
    serde_json::to_string(&data).unwrap_or_default()
}

fn policy_data<'a>(
    name: &'a str,
    figures: &'a Figures,
    groups: &Groups,
    slices: &Slices,
    end_ns: u64,
) -> PolicyData<'a> {
    let shares = series::shares(&figures.shares, groups, end_ns);
    let lags = series::lags(&figures.lags, groups, end_ns);
    let cpus = slices.cpus.iter().map(|cpu| encode::slices(cpu, slices.from_ns));
    PolicyData {
        name,
        baseline: false,
        timeline: Timeline { from: slices.from_ns, to: slices.to_ns, cpus: cpus.collect() },
        shares: Series {
            from: shares.from_ns,
            to: shares.to_ns,
            bucket: shares.bucket_ns,
            rows: shares.groups.iter().map(|row| encode::shares(row)).collect(),
        },
        lags: Series {
            from: lags.from_ns,
            to: lags.to_ns,
            bucket: lags.bucket_ns,
            rows: lags.groups.iter().map(|row| encode::bands(row)).collect(),
        },
        latencies: figures.latencies.iter().map(curve).collect(),
    }
}

/// A distribution's points, thinned out evenly if there are too many; the last one stays.
fn curve(distribution: &Distribution) -> Curve<'_> {
    let points = &distribution.points;
    let step = points.len().div_ceil(MOST_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last);
    Curve {
        name: &distribution.name,
        count: distribution.count / distribution.seeds.max(1),
        points: kept.map(|(_, point)| numbers(point)).collect(),
    }
}

fn numbers(point: &Point) -> (f64, u64, u64, u64) {
    let (least, greatest) = point.range_ns.unwrap_or((point.value_ns, point.value_ns));
    (point.percentile, point.value_ns, least, greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_is_thinned_out_and_keeps_its_end() {
        let points: Vec<Point> = (0..1000u64)
            .map(|i| Point { percentile: i as f64 / 10.0, value_ns: i, range_ns: None })
            .chain([Point { percentile: 100.0, value_ns: 5000, range_ns: Some((4000, 6000)) }])
            .collect();
        let distribution = Distribution { count: 1001, points, ..Distribution::default() };
        let curve = curve(&distribution);
        assert!(curve.points.len() <= MOST_POINTS + 1);
        assert_eq!(curve.points[..2], [(0.0, 0, 0, 0), (0.3, 3, 3, 3)]);
        assert_eq!(curve.points.last(), Some(&(100.0, 5000, 4000, 6000)));
    }
}
