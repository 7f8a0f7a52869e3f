// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which metrics runs can have, as far as workloads and machines say it before the first run.

use crate::nearest;
use rota_machine::config::Config;
use rota_measure::catalogue::{self, Measure, Needs};
use rota_measure::statistics::Better;
use rota_workload::Workload;

/// What some runs can have numbers of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    requests: bool,
    jobs: bool,
    locks: bool,
    power: bool,
    speeds: bool,
}

impl Given {
    /// Runs of a workload on a machine are among them.
    pub fn add(&mut self, workload: &Workload, config: &Config) {
        let gives = workload.gives();
        self.requests |= gives.requests;
        self.jobs |= gives.jobs;
        self.locks |= gives.locks;
        self.speeds |= config.hardware.is_some();
        let types = config.hardware.iter().flat_map(|hardware| &hardware.core_types);
        let mut clocks = types.filter_map(|of| of.clock.as_ref());
        self.power |= clocks.any(|clock| !clock.power_uw.is_empty());
    }

    /// Whether a run may have this metric.
    pub fn may_have(&self, metric: &Measure) -> bool {
        match metric.needs() {
            None => true,
            Some(Needs::Requests) => self.requests,
            Some(Needs::Jobs) => self.jobs,
            Some(Needs::Locks) => self.locks,
            Some(Needs::Power) => self.power,
            Some(Needs::Speeds) => self.speeds,
        }
    }

    /// Refuses metrics, of which one would do, if no run can have any of them.
    pub fn check(&self, metrics: &[&Measure]) -> Result<(), String> {
        let Some(first) = metrics.first() else { return Ok(()) };
        if metrics.iter().any(|metric| self.may_have(metric)) {
            return Ok(());
        }
        let why = match first.needs() {
            Some(Needs::Requests) => "no workload has a socket, at which requests arrive",
            Some(Needs::Jobs) => "no workload has a task with a timer or SCHED_DEADLINE",
            Some(Needs::Locks) => "no workload has a lock",
            Some(Needs::Speeds) => "no machine has a model of speeds: work is time",
            Some(Needs::Power) | None => "no machine file says what power its CPUs take",
        };
        let others = catalogue::measures().iter();
        let others = others.filter(|of| of.better != Better::Neither && self.may_have(of));
        let others: Vec<&str> = others.map(|metric| metric.key).collect();
        let (key, hint) = (first.key, nearest::hint(first.key, &others));
        let others = others.join(", ");
        Err(format!("no run can have {key}, as {why}{hint}; expected one of {others}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_machine::hardware::Hardware;
    use rota_machine::topology::Topology;
    use rota_workload::WorkClass;
    use std::sync::Arc;

    fn given(file: &str) -> Given {
        let text = format!("{}/../../workloads/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(text).expect("a workload that ships");
        let mut given = Given::default();
        let config = Config::new(Topology::flat(2).expect("two CPUs"), 1);
        given.add(&rota_workload::parse(file, &text).expect("valid"), &config);
        given
    }

    fn metric(key: &str) -> &'static Measure {
        catalogue::find(key).expect(key)
    }

    #[test]
    fn what_no_workload_or_machine_can_give_is_refused_with_the_nearest_that_one_can() {
        let web = given("webserver.json");
        assert_eq!(web.check(&[metric("response_p99")]), Ok(()));
        let error = web.check(&[metric("lock_wait_max")]).expect_err("no locks");
        assert!(error.contains("no run can have lock_wait_max, as no workload has a lock"));
        assert!(error.contains("did you mean wait_max?"), "{error}");
        assert!(!error.contains("lock_blocked"), "{error}");
        let energy = web.check(&[metric("energy")]).expect_err("no power");
        assert!(energy.contains("no machine file says"), "{energy}");
        let work = web.check(&[metric("work_rate")]).expect_err("a flat machine");
        assert!(work.contains("as no machine has a model of speeds"), "{work}");
        let mut config = Config::new(Topology::flat(2).expect("two CPUs"), 1);
        config.hardware = Some(Arc::new(Hardware {
            core_types: Vec::new(),
            type_of_cpu: Vec::new(),
            cache: None,
            ipi: None,
            work: (WorkClass::Mixed, 0),
            timer_slack_ns: 0,
        }));
        let mut with_speeds = web;
        let load = rota_workload::parse("w", "{\"tasks\": {\"a\": {\"run\": 1}}}");
        with_speeds.add(&load.expect("valid"), &config);
        assert_eq!(with_speeds.check(&[metric("work_rate")]), Ok(()));
    }

    #[test]
    fn of_several_metrics_one_is_enough() {
        let hogs = given("hogs.json");
        let (requests, bursts) = (metric("answered_per_s"), metric("bursts_per_s"));
        assert_eq!(hogs.check(&[requests, bursts]), Ok(()));
        assert!(hogs.check(&[requests]).is_err());
    }
}
