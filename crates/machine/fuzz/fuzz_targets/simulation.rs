// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota sim` does with an object and a workload once it has read both.

use rota_object::image::Image;
use rota_machine::config::Config;
use rota_machine::policy::BpfOps;
use rota_machine::run::{Machine, Outcome, RunError};
use rota_measure::{Requests, Summary};
use rota_trace::{CsvSink, PerfettoSink, Tee};
use rota_workload::Workload;
use std::io::sink;
use std::sync::Arc;

/// Runs it, with measures and two kinds of traces. `None`: it cannot be hosted.
pub fn run(
    image: Arc<Image>,
    mut config: Config,
    workload: &Arc<Workload>,
) -> Option<Result<Outcome, RunError>> {
    let kernel = Arc::clone(&image.kernel_btf);
    let mut summary = Summary::new(config.topology.cpus()).with_warmup(config.warmup_ns);
    let mut requests = Requests::default().with_warmup(config.warmup_ns);
    let (mut csv, mut perfetto) = (CsvSink::new(sink()), PerfettoSink::new(sink()));
    let mut sinks = Tee::new();
    sinks.push(&mut summary);
    sinks.push(&mut requests);
    sinks.push(&mut csv);
    sinks.push(&mut perfetto);
    config.detail = true;
    let mut machine = match Machine::new(config, Arc::clone(workload), &kernel) {
        Ok(machine) => machine,
        Err(error) => return Some(Err(error)),
    };
    let mut ops = BpfOps::load(image, &mut machine.core).ok()?;
    let outcome = match machine.run(&mut ops, &mut sinks) {
        Ok(outcome) => outcome,
        Err(error) => return Some(Err(error)),
    };
    drop(sinks);
    summary.finish_grouped(outcome.end_ns, |name| name);
    requests.finish(outcome.end_ns);
    csv.finish().expect("nothing is written");
    perfetto.finish(outcome.end_ns).expect("nothing is written");
    Some(Ok(outcome))
}
