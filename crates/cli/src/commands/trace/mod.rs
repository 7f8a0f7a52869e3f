// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota trace`: what the scheduler of this machine does, as it happens.

mod args;

pub(crate) use args::TraceArgs;

use crate::commands::record::Session;
use crate::error::{Error, Status};
use rota_trace::{CsvSink, LineSink};
use std::io::BufWriter;

pub(crate) fn run(args: &TraceArgs) -> Result<Status, Error> {
    let session = Session::start(&args.target)?;
    let out = BufWriter::new(std::io::stdout().lock());
    if args.csv {
        let mut sink = CsvSink::new(out);
        session.run(&mut sink, |sink| Ok(sink.flush()?))?;
        sink.finish()?;
    } else {
        let mut sink = LineSink::new(out, args.target.ops);
        session.run(&mut sink, |sink| Ok(sink.flush()?))?;
    }
    Ok(Status::Done)
}
