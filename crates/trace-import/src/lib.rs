// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces of other tools as Rota's events.
//!
//! The format is told from a file's content. Events come in the order of their times and mean what
//! those of `rota record` mean; what a trace lacks is said with its consequence.
//!
//! ```no_run
//! # fn main() -> Result<(), rota_trace_import::ImportError> {
//! let trace = rota_trace_import::open("trace.dat".as_ref())?;
//! let mut events = rota_trace::Recorder::default();
//! let facts = trace.read(&mut events)?;
//! println!("{} events in {} ns", facts.events, facts.duration_ns);
//! # Ok(())
//! # }
//! ```

mod bytes;
mod convert;
mod error;
mod facts;
mod format;
mod imported;
mod input;
mod kernel_threads;
mod missing;
mod order;
mod perf;
mod perfetto;
mod record;
mod rota_events;
mod task;
mod text;
mod tracecmd;
mod tracepoint;
mod weight;

pub use error::{ImportError, Place};
pub use facts::{Counts, Facts, Header, Lost, TaskFacts};
pub use format::{detect, Format, ENOUGH};
pub use imported::{open, open_source, Imported};
pub use input::Source;
pub use missing::Missing;
