// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tasks do: an rt-app JSON file in, a running set of task programs out.
//!
//! [`parse()`] checks a whole file and expands its instances; [`Runner`] then tells, task by
//! task, what comes next. Neither knows anything of schedulers or of simulated machines.

pub mod duration;
pub mod error;
pub mod events;
pub mod model;
pub mod requests;
pub mod runner;
pub mod schema;
pub mod sync;
mod uses;

mod anonymise;
mod asked;
mod bare;
mod below;
mod change;
mod description;
mod event;
mod json;
mod machine_key;
mod memory;
mod parse;
mod path;
mod random;
mod stream;
mod work;

pub use anonymise::anonymise;
pub use bare::bare;
pub use description::description;
pub use duration::{parse_duration, DurationError};
pub use error::WorkloadError;
pub use machine_key::MachineKey;
pub use model::{Group, Identity, Policy, Settings, Task, TaskIx, Workload};
pub use parse::{parse, parse_with, Files};
pub use path::{with_value, PathError};
pub use requests::{RequestClass, RequestEvent, RequestStep, Socket, SocketKind};
pub use runner::{Lock, News, Runner, SeededRunner, Step, FORK_LIMIT, INSTANT_LIMIT, LIVE_LIMIT};
pub use stream::spread;
pub use sync::{Awaits, Deadlock, Link, Loan};
pub use uses::{Gives, Uses};
pub use work::{WorkClass, WorkKind};
