// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota tune`: the values of a policy's tunables that suit a workload. It is a sweep that goes on
//! where the last one was best.

mod args;
mod axes;
mod search;

pub(crate) use args::TuneArgs;

use crate::error::{Error, Status};
use crate::output::{json, tune};
use crate::output_file;
use crate::progress;
use crate::stop::Stop;
use rota_sweep::Aims;
use search::{Outcome, Search};
use std::io::Write;

pub(crate) fn run(args: &TuneArgs) -> Result<Status, Error> {
    let [minimise, maximise] = [&args.minimise, &args.maximise].map(|of| of.as_slice());
    let aims = Aims::parse(minimise, maximise, &args.subject_to)?;
    let mut search = Search::new(args, aims, Stop::listen()?)?;
    let counts = search.counts();
    let outcome = progress::show_position(&|| counts.position(), || search.run())?;
    let mut out = crate::output::stdout();
    let tuned = match outcome {
        Outcome::Whole(tuned) => tuned,
        Outcome::Stopped(tried) => {
            if !args.json {
                tune::print_tried(&mut out, &tried, None)?;
                out.flush()?;
            }
            let runs: usize = tried.points.iter().map(|point| point.values.len()).sum();
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
        output_file::write(path, tune::picture(&tuned.tried).render().as_bytes())?;
    }
    Ok(Status::Done)
}
