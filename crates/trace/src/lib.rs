// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event stream of a run and its exporters.

pub mod csv;
mod describe;
pub mod event;
pub mod lines;
pub mod perfetto;
pub mod record;
pub mod tee;

pub use self::csv::CsvSink;
pub use event::{Cost, Event, EventKind, OffCpu, Sink};
pub use lines::LineSink;
pub use perfetto::ChromeTraceSink;
pub use record::Recorder;
pub use tee::Tee;
