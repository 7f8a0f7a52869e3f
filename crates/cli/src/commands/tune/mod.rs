// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota tune`: the alpha and beta of PBS that suit a workload.

mod args;
mod runs;
mod search;

pub(crate) use args::TuneArgs;

use crate::error::{Error, Status};
use crate::nearest;
use crate::output::{json, tune};
use crate::output_file;
use crate::progress;
use crate::stop::Stop;
use crate::tuned::{Point, Tuned};
use rota_fluid::Beta;
use rota_measure::catalogue::{self, Measure};
use rota_measure::statistics::{estimate, paired_test};
use runs::Runs;
use std::io::Write;
use std::num::NonZero;
use std::sync::atomic::Ordering;

pub(crate) fn run(args: &TuneArgs) -> Result<Status, Error> {
    let (measure, maximised) = aim(args)?;
    check(args)?;
    let threads = args.jobs.or(std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let runs = Runs::new(args, measure, threads, Stop::listen()?)?;
    let position = || {
        let (done, all) = &runs.progress;
        (done.load(Ordering::Relaxed), all.load(Ordering::Relaxed))
    };
    let tuned = progress::show_position(&position, || tune(args, &runs, measure, maximised))?;
    let mut out = crate::output::stdout();
    let tuned = match tuned {
        Outcome::Whole(tuned) => tuned,
        Outcome::Stopped(points) => {
            if !args.json {
                tune::print_points(&mut out, &points, &args.betas, measure, &|_| false)?;
                out.flush()?;
            }
            let runs: usize = points.iter().map(|point| point.values.len()).sum();
            return Err(Error::Failure(format!(
                "interrupted after {runs} runs: no setting was judged"
            )));
        }
    };
    if args.json {
        json::print(&mut out, &tune::Json::new(&tuned))?;
    } else {
        tune::print(&mut out, &tuned)?;
    }
    out.flush()?;
    if let Some(path) = &args.picture {
        output_file::write(path, tune::picture(&tuned).render().as_bytes())?;
    }
    Ok(Status::Done)
}

/// What a search came to.
enum Outcome {
    Whole(Box<Tuned>),
    /// The user ended it: what is known by then.
    Stopped(Vec<Point>),
}

fn tune(
    args: &TuneArgs,
    runs: &Runs<'_>,
    measure: &'static Measure,
    maximised: bool,
) -> Result<Outcome, Error> {
    let sign = if maximised { -1.0 } else { 1.0 };
    let set = |(alpha, beta): &(f64, usize)| {
        let beta = args.betas[*beta].clone();
        vec![("alpha".to_owned(), alpha.to_string()), ("beta".to_owned(), beta)]
    };
    let evaluate = |settings: &[(f64, usize)], seeds: std::ops::Range<usize>| {
        let mut values = runs.all(&settings.iter().map(set).collect::<Vec<_>>(), seeds)?;
        values.iter_mut().flatten().flatten().for_each(|value| *value *= sign);
        Ok(values)
    };
    let seeds = args.seeds as usize;
    let (best, mut points) = search::minimise(&args.alphas, args.betas.len(), seeds, &evaluate)?;
    let turn = |point: &mut Point| point.values.iter_mut().flatten().for_each(|v| *v *= sign);
    let Some(mut best) = best else {
        points.iter_mut().for_each(turn);
        return Ok(Outcome::Stopped(points));
    };
    if best.mean().is_infinite() {
        let (policy, workload) = runs.names();
        return Err(Error::input(format!(
            "{workload}: no run of {policy} has {}: expected a metric that this workload gives, \
             and settings under which the policy is not ejected",
            measure.key
        )));
    }
    points.iter_mut().chain([&mut best]).for_each(turn);
    // What was the best by these seeds may owe it to them: others judge.
    let both = [set(&(best.alpha, best.beta)), Vec::new()];
    let judged = runs.all(&both, seeds..2 * seeds)?;
    if judged.iter().any(|values| values.len() < seeds) {
        return Ok(Outcome::Stopped(points));
    }
    let numbers = |at: usize| judged[at].iter().copied().flatten().collect::<Vec<f64>>();
    let pairs = judged[0].iter().zip(&judged[1]);
    let differences: Vec<f64> = pairs.filter_map(|(a, b)| Some((*a)? - (*b)?)).collect();
    let (policy, workload) = runs.names();
    let ejected = || Error::Failure(format!("{policy}: ejected with the seeds that judge"));
    Ok(Outcome::Whole(Box::new(Tuned {
        policy: policy.to_owned(),
        workload: workload.to_owned(),
        measure,
        maximised,
        betas: args.betas.clone(),
        best,
        points,
        judged: estimate(&numbers(0)).ok_or_else(ejected)?,
        shipped: estimate(&numbers(1)),
        probability: paired_test(&differences),
        seeds: args.seeds,
        first_seed: args.machine.seed,
    })))
}

/// The measure, and whether more is better.
fn aim(args: &TuneArgs) -> Result<(&'static Measure, bool), Error> {
    let (option, key) = match (&args.minimise, &args.maximise) {
        (Some(key), _) => ("--minimise", key),
        (None, Some(key)) => ("--maximise", key),
        (None, None) => return Err(Error::input("expected --minimise KEY or --maximise KEY")),
    };
    // p99_response is what people say.
    let turned = key.split_once('_').map(|(what, of)| format!("{of}_{what}"));
    let found = catalogue::find(key).or_else(|| catalogue::find(&turned?));
    let found = found.ok_or_else(|| {
        let known: Vec<&str> = catalogue::measures().iter().map(|m| m.key).collect();
        let hint = nearest::hint(key, &known);
        let known = known.join(", ");
        Error::input(format!("{option} {key}: no such metric{hint}; expected one of {known}"))
    })?;
    Ok((found, args.minimise.is_none()))
}

fn check(args: &TuneArgs) -> Result<(), Error> {
    let rises = args.alphas.windows(2).all(|two| two[0] < two[1]);
    let usable = args.alphas.iter().all(|alpha| alpha.is_finite() && *alpha > 0.0);
    if !rises || !usable || args.alphas.is_empty() {
        let given: Vec<String> = args.alphas.iter().map(f64::to_string).collect();
        let given = given.join(",");
        return Err(Error::input(format!("--alphas {given}: expected rising numbers above 0")));
    }
    let beta = |text: &String| text.parse::<Beta>().map(drop);
    Ok(args.betas.iter().try_for_each(beta)?)
}
