// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event stream of a run and its exporters.

mod cause;
pub mod chrome;
pub mod cpu_list;
pub mod csv;
mod csv_events;
pub mod event;
mod fields;
#[cfg(test)]
mod full_disk;
pub mod kind;
pub mod lines;
mod lock;
pub mod parquet;
mod parquet_events;
pub mod perfetto;
mod read;
pub mod record;
pub mod request;
pub mod row;
mod setting;
pub mod tee;
mod transfer;

pub use self::chrome::ChromeTraceSink;
pub use self::csv::CsvSink;
pub use self::csv_events::{CsvError, CsvEvents};
pub use self::parquet::guard::guarded;
pub use self::parquet::ParquetSink;
pub use self::parquet_events::{ParquetEvents, ParquetEventsError};
pub use cause::{Cause, WakeSource};
pub use cpu_list::CpuList;
pub use event::{Event, Sink};
pub use kind::{Cost, EventKind, OffCpu, SchedClass};
pub use lines::LineSink;
pub use lock::{Job, JobKind, JobStep, Lock, LockKind, LockStep};
pub use perfetto::PerfettoSink;
pub use record::Recorder;
pub use request::Request;
pub use setting::{FairKind, Policy, Setting};
pub use tee::Tee;
pub use transfer::{StreamKind, Transfer};
