// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the runs of a sweep to what is said of them.

use super::{Constraint, Fit, Objective, Setting, Swept};
use crate::aim::{Aims, Bound};
use crate::table::{Row, Table, OF_SET};
use rota_measure::catalogue::{self, Measure};
use rota_measure::statistics::estimate;
use rota_session::{nearest, Error};
use std::collections::{BTreeMap, BTreeSet};

/// A workload on a machine, a seed and a time: what settings have to have in common.
type Condition = (String, u64, u64);
/// What tells a setting from others: the policy, and values by their columns.
type Key = (String, Vec<(String, String)>);

/// What is wrong with a sweep whose settings have no condition in common.
pub(crate) const NONE_ALIKE: &str =
    "on the same workloads, machines and seeds, so none is the best: \
                                     expected a grid, or draws over the axes of [set] alone";

impl Swept {
    /// Judges the runs of a table, of which `baseline` is the policy that others are compared with.
    pub fn new(table: &Table, aims: &Aims, baseline: Option<&str>) -> Result<Self, Error> {
        let mut of: BTreeMap<Key, BTreeMap<Condition, &Row>> = BTreeMap::new();
        let mut order = Vec::new();
        let longest = longest(table.rows());
        for row in table.rows() {
            let key = (row.policy.clone(), set_of(row));
            if !of.contains_key(&key) {
                order.push(key.clone());
            }
            let (runs, condition) = (of.entry(key).or_default(), condition(row));
            if longest.get(&condition.0) == Some(&condition.2) {
                runs.insert(condition, row);
            }
        }
        let conditions: BTreeSet<Condition> =
            of.values().flat_map(|runs| runs.keys().cloned()).collect();
        let (whole, others): (Vec<_>, Vec<_>) =
            order.into_iter().partition(|key| of[key].len() == conditions.len());
        let scenarios: BTreeSet<&String> =
            conditions.iter().map(|(scenario, ..)| scenario).collect();
        let scenarios: Vec<String> = scenarios.into_iter().cloned().collect();
        let baseline = baseline.map(|label| place_of(label, &whole, table)).transpose()?;
        if whole.len() <= usize::from(baseline.is_some()) && !others.is_empty() {
            return Err(Error::input(format!("no two settings ran {NONE_ALIKE}")));
        }
        if aims.needs_baseline() && baseline.is_none() {
            return Err(Error::input(
                "subject-to: no policy is the baseline, expected baseline = \"POLICY\" in the \
                 sweep's file or --baseline POLICY",
            ));
        }
        let settings = whole.iter().map(|key| {
            let runs = &of[key];
            let value = |metric: &Measure| {
                runs.values().map(|row| row.metrics.get(metric.key).copied()).collect()
            };
            let ejected = runs.values().filter(|row| row.ejected).count();
            let first = runs.values().next();
            let set = first.map(|row| {
                let own = row.axes.iter();
                own.filter_map(|(name, value)| {
                    Some((name.strip_prefix(OF_SET)?.to_owned(), value.clone()))
                })
                .collect()
            });
            Setting {
                policy: key.0.clone(),
                set: set.unwrap_or_default(),
                values: catalogue::measures().iter().map(value).collect(),
                fit: if ejected > 0 { Fit::Ejected(ejected) } else { Fit::Fits },
            }
        });
        let mut swept = Self {
            settings: settings.collect(),
            left_out: others.len(),
            scenarios,
            baseline,
            objectives: Vec::new(),
            constraints: Vec::new(),
            front: Vec::new(),
            relatives: Vec::new(),
        };
        swept.aim(aims)?;
        let conditions: Vec<Condition> = conditions.into_iter().collect();
        for at in 0..swept.settings.len() {
            if swept.settings[at].fit == Fit::Fits {
                swept.settings[at].fit = swept.fit(at, &conditions);
            }
        }
        swept.front = swept.front();
        swept.relatives = swept.relatives();
        Ok(swept)
    }

    /// Chooses the metrics that there are.
    fn aim(&mut self, aims: &Aims) -> Result<(), Error> {
        let is_there = |metric: &&&'static Measure| {
            self.settings.iter().any(|of| of.values_of(metric).iter().any(Option::is_some))
        };
        let choose = |metrics: &[&'static Measure]| {
            let missing = || {
                let keys: Vec<&str> = metrics.iter().map(|metric| metric.key).collect();
                Error::input(format!(
                    "{}: no run has it, expected a metric that these workloads give",
                    keys.join(" or ")
                ))
            };
            metrics.iter().find(is_there).copied().ok_or_else(missing)
        };
        let mut objectives = Vec::new();
        for of in &aims.objectives {
            objectives.push(Objective { metric: choose(&of.metrics)?, maximised: of.maximised });
        }
        let mut constraints = Vec::new();
        for of in &aims.constraints {
            let (text, metric) = (of.text.clone(), choose(&of.metrics)?);
            constraints.push(Constraint { text, metric, sign: of.sign, bound: of.bound });
        }
        (self.objectives, self.constraints) = (objectives, constraints);
        Ok(())
    }

    fn fit(&self, at: usize, conditions: &[Condition]) -> Fit {
        let setting = &self.settings[at];
        for objective in &self.objectives {
            if setting.mean(objective.metric).is_none() {
                return Fit::Lacks(objective.metric.key);
            }
        }
        for (constraint, of) in self.constraints.iter().enumerate() {
            for (scenario, name) in self.scenarios.iter().enumerate() {
                let mean = |at: usize| {
                    let values = self.settings[at].values_of(of.metric).iter().zip(conditions);
                    let own = values.filter(|(_, (of, ..))| of == name).map(|(value, _)| *value);
                    estimate(&own.collect::<Option<Vec<f64>>>()?).map(|of| of.mean)
                };
                let bound = match (of.bound, self.baseline) {
                    (Bound::Value(value), _) => Some(value),
                    (Bound::OfBaseline(factor), Some(baseline)) => {
                        mean(baseline).map(|mean| factor * mean)
                    }
                    (Bound::OfBaseline(_), None) => None,
                };
                let (Some(mean), Some(bound)) = (mean(at), bound) else {
                    return Fit::Lacks(of.metric.key);
                };
                if !of.sign.holds(mean, bound) {
                    return Fit::Fails { constraint, scenario, mean, bound };
                }
            }
        }
        Fit::Fits
    }

    /// Those that fit and that no other one surpasses.
    fn front(&self) -> Vec<usize> {
        // The lower, the better.
        let costs = |at: usize| -> Option<Vec<f64>> {
            let setting = Some(&self.settings[at]).filter(|setting| setting.fit == Fit::Fits)?;
            let cost = |of: &Objective| {
                let mean = setting.mean(of.metric)?.mean;
                Some(if of.maximised { -mean } else { mean })
            };
            self.objectives.iter().map(cost).collect()
        };
        let all: Vec<(usize, Vec<f64>)> =
            (0..self.settings.len()).filter_map(|at| Some((at, costs(at)?))).collect();
        if self.objectives.is_empty() {
            return Vec::new();
        }
        let mut front: Vec<(usize, Vec<f64>)> = all
            .iter()
            .filter(|(_, own)| !all.iter().any(|(_, other)| surpasses(other, own)))
            .cloned()
            .collect();
        front.sort_by(|(_, one), (_, other)| {
            one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal)
        });
        let most = if self.objectives.len() == 1 { 1 } else { front.len() };
        front.into_iter().take(most).map(|(at, _)| at).collect()
    }
}

/// Whether one is as good in everything and better in something.
fn surpasses(one: &[f64], other: &[f64]) -> bool {
    let as_good = one.iter().zip(other).all(|(one, other)| one <= other);
    as_good && one.iter().zip(other).any(|(one, other)| one < other)
}

fn set_of(row: &Row) -> Vec<(String, String)> {
    let set = row.axes.iter().filter(|(name, _)| name.starts_with(OF_SET));
    set.map(|(name, value)| (name.clone(), value.to_string())).collect()
}

fn condition(row: &Row) -> Condition {
    let own = row.axes.iter().filter(|(name, _)| !name.starts_with(OF_SET));
    let values: String = own.map(|(name, value)| format!(", {name} = {value}")).collect();
    (format!("{}{values}", row.workload), row.seed, row.duration_ns)
}

/// The longest time that runs of each workload and machine were to take. Those judge: rounds of
/// successive halving have shorter ones first.
fn longest(rows: &[Row]) -> BTreeMap<String, u64> {
    let mut longest: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        let (scenario, _, duration_ns) = condition(row);
        let longest = longest.entry(scenario).or_default();
        *longest = duration_ns.max(*longest);
    }
    longest
}

/// The place of a policy as it ships among the settings.
fn place_of(label: &str, settings: &[Key], table: &Table) -> Result<usize, Error> {
    let found = settings.iter().position(|(policy, set)| policy == label && set.is_empty());
    found.ok_or_else(|| {
        let known: BTreeSet<&str> = table.rows().iter().map(|row| row.policy.as_str()).collect();
        let known: Vec<&str> = known.into_iter().collect();
        let (hint, known) = (nearest::hint(label, &known), known.join(", "));
        Error::input(format!(
            "baseline {label}: no runs of it as it ships, on all workloads, machines and \
             seeds{hint}; policies of this sweep: {known}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn row(policy: &str, alpha: Option<i64>, (cpus, seed): (i64, u64), values: [f64; 2]) -> Row {
        let mut axes = BTreeMap::from([("machine.cpus".to_owned(), Value::Int(cpus))]);
        axes.extend(alpha.map(|alpha| ("set.alpha".to_owned(), Value::Int(alpha))));
        let metrics = [("wakeup_p99".into(), values[0]), ("bursts_per_s".into(), values[1])];
        Row {
            run: format!("{policy}{alpha:?}{cpus}{seed}"),
            rota: "0.1.0".into(),
            workload: "a.json".into(),
            policy: policy.into(),
            axes,
            cpus: cpus as u32,
            seed,
            duration_ns: 1,
            end_ns: 1,
            exit: String::new(),
            ejected: false,
            metrics: metrics.into(),
        }
    }

    /// On two machines with two seeds: wakeup p99 and bursts per second.
    fn runs(policy: &str, alpha: Option<i64>, one: [f64; 2], two: [f64; 2]) -> Vec<Row> {
        let of = |cpus, values: [f64; 2]| {
            [(1, -1.0), (2, 1.0)].map(|(seed, off)| {
                row(policy, alpha, (cpus, seed), [values[0] + off, values[1] + off])
            })
        };
        of(1, one).into_iter().chain(of(2, two)).collect()
    }

    fn swept(rows: &[Vec<Row>], aims: (&[&str], &[&str], &[&str])) -> Swept {
        let texts = |of: &[&str]| of.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let aims = Aims::parse(&texts(aims.0), &texts(aims.1), &texts(aims.2)).expect("aims");
        Swept::new(&Table::new(rows.concat()), &aims, Some("eevdf")).expect("judged")
    }

    fn all() -> [Vec<Row>; 4] {
        [
            runs("eevdf", None, [100.0, 100.0], [100.0, 200.0]),
            // Means: latency 50, throughput 120; but on one CPU only 95 of 100.
            runs("pbs", Some(1), [60.0, 95.0], [40.0, 145.0 + 0.0]),
            // 80 and 147.5.
            runs("pbs", Some(2), [90.0, 99.0], [70.0, 196.0]),
            // 90 and 140: worse than the one before in both.
            runs("pbs", Some(3), [90.0, 100.0], [90.0, 180.0]),
        ]
    }

    #[test]
    fn the_best_is_the_one_with_the_lowest_mean_that_fits_everywhere() {
        let free = swept(&all(), (&["wakeup_p99"], &[], &[]));
        let name = |swept: &Swept, at: usize| swept.settings[at].name();
        assert_eq!(name(&free, free.winner().expect("one")), "pbs alpha=1");
        let bound = swept(&all(), (&["wakeup_p99"], &[], &["throughput >= 0.98*baseline"]));
        assert_eq!(name(&bound, bound.winner().expect("one")), "pbs alpha=2");
        let one = bound.settings.iter().find(|of| of.name() == "pbs alpha=1").expect("there");
        // 95 is not 0.98 · 100.
        assert_eq!(one.fit, Fit::Fails { constraint: 0, scenario: 0, mean: 95.0, bound: 98.0 });
        let none = swept(&all(), (&["wakeup_p99"], &[], &["wakeup_p99 < 10ns"]));
        assert_eq!(none.winner(), None);
    }

    #[test]
    fn the_front_has_those_that_none_surpasses() {
        let swept = swept(&all(), (&["wakeup_p99"], &["bursts_per_s"], &[]));
        let names: Vec<String> = swept.front.iter().map(|at| swept.settings[*at].name()).collect();
        // By latency: 50 with 120, 80 with 147.5, 100 with 150.
        assert_eq!(names, ["pbs alpha=1", "pbs alpha=2", "eevdf"]);
        assert_eq!(swept.winner(), None);
    }

    #[test]
    fn the_longest_runs_of_a_workload_and_machine_judge() {
        // Short ones, with all settings, say that alpha = 3 is the best; only two ran for long.
        let mut rows = all();
        for (at, value) in [(0, 100.0), (2, 80.0)] {
            let mut long = rows[at].clone();
            for row in &mut long {
                (row.duration_ns, row.run) = (9, format!("{} long", row.run));
                row.metrics.insert("wakeup_p99".into(), value);
            }
            for row in &mut rows[at] {
                row.metrics.insert("wakeup_p99".into(), 1000.0);
            }
            rows[at].extend(long);
        }
        let swept = swept(&rows, (&["wakeup_p99"], &[], &[]));
        let winner = &swept.settings[swept.winner().expect("one")];
        assert_eq!(winner.name(), "pbs alpha=2");
        assert_eq!((swept.settings.len(), swept.left_out), (2, 2));
        assert_eq!(winner.mean(swept.objectives[0].metric).expect("a mean").mean, 80.0);
    }

    #[test]
    fn who_was_ejected_or_did_not_run_everywhere_cannot_be_the_best() {
        let mut rows = all();
        rows[1][0].ejected = true;
        rows[2].pop();
        let swept = swept(&rows, (&["wakeup_p99"], &[], &[]));
        let winner = &swept.settings[swept.winner().expect("one")];
        assert_eq!((winner.name().as_str(), swept.left_out), ("pbs alpha=3", 1));
        assert!(swept.settings.iter().any(|of| of.fit == Fit::Ejected(1)));
    }
}
