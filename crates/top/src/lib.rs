// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler does now, on a terminal: [`State`] takes events, [`Tally`] takes
//! counts, a [`Snapshot`] is what is known
//! at a time, [`App`] is what the user looks at, [`draw()`] makes the screen of it.
//!
//! Nothing here reads a kernel, a file, a clock or a terminal.

mod app;
mod draw;
mod groups;
mod letters;
mod numbers;
mod policy;
mod rows;
mod snapshot;
mod state;
mod tally;
mod tasks;
mod timeline;

pub use app::{Action, App, Source};
pub use draw::{draw, text, LEAST};
pub use numbers::{Counts, Numbers, HALF_NS};
pub use policy::{Policy, Tunable};
pub use rows::{By, Order};
pub use snapshot::{CpuLine, Left, Row, Snapshot};
pub use state::State;
pub use tally::{About, Step, Tally, TaskNews};
pub use timeline::{Cell, STEPS, STEP_NS};
