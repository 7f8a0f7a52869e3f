// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota trace`: what the scheduler of this machine does, as it happens.

mod args;

pub(crate) use args::TraceArgs;

use crate::commands::record::{warn, Session, Wanted};
use crate::error::{Error, Status};
use crate::output::plain::Text;
use crate::trace_files::{Picture, TraceWriter};
use args::Printed;
use rota_trace::LineSink;
use std::io::{BufWriter, IsTerminal, Write};

pub(crate) fn run(args: &TraceArgs) -> Result<Status, Error> {
    may_print(args.format, std::io::stdout().is_terminal())?;
    let session = Session::start(&args.target, Wanted { live: true, ..Wanted::default() })?;
    let out = BufWriter::new(std::io::stdout());
    match args.format.format() {
        None => {
            let mut sink = LineSink::new(Text(out), args.target.ops);
            let ended = session.run(&mut sink, |sink, _| Ok(sink.flush()?))?;
            sink.flush()?;
            warn(&ended.facts, args.target.buffer);
        }
        Some(format) => {
            let mut writer = TraceWriter::new(format, out, &Picture::default());
            let ended = session.run(&mut writer, |writer, _| Ok(writer.flush()?))?;
            warn(&ended.facts, args.target.buffer);
            writer.finish(ended.facts.duration_ns)?.flush()?;
        }
    }
    Ok(Status::Done)
}

fn may_print(format: Printed, on_terminal: bool) -> Result<(), Error> {
    if on_terminal && format.is_binary() {
        return Err(Error::input(
            "--format: this one is not text, and standard output is a terminal: expected a file \
             (> FILE) or a pipe",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_do_not_go_to_a_terminal() {
        for format in [Printed::Pftrace, Printed::Parquet] {
            assert!(may_print(format, true).is_err_and(|e| e.to_string().contains("terminal")));
            assert!(may_print(format, false).is_ok());
        }
        for format in [Printed::Lines, Printed::Csv, Printed::Json] {
            assert!(may_print(format, true).is_ok());
        }
    }
}
