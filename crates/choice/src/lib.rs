// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every choice of a simulated run that nothing else decides: which of several CPUs picks first,
//! the order of ties, and all random numbers.
//!
//! Whoever has to choose asks [`Choices`]. A [`Strategy`] answers: [`Seeded`], from a seed, or
//! [`Replayed`], from a [`Recording`] of another run. Any strategy can be recorded. What is asked
//! does not depend on the strategy, so a run whose choices are replayed is the run that was
//! recorded.
//!
//! ```
//! use rota_choice::{Alternatives, Choices, Replayed, Seeded, Site};
//!
//! struct Cpus(u32);
//! impl Alternatives for Cpus {
//!     fn count(&self) -> u32 {
//!         self.0
//!     }
//!     fn documented(&self) -> u32 {
//!         0
//!     }
//! }
//!
//! let mut choices = Choices::by(Seeded::new(7)).recorded();
//! let first = choices.choose(Site::FirstCpu, &Cpus(4));
//! let recording = choices.take_recording().unwrap_or_default();
//! assert_eq!(recording.to_string(), format!("rota.choices/1\nfirst-cpu {first} of 4\nend\n"));
//!
//! let mut again = Choices::by(Replayed::new(recording.into()));
//! assert_eq!(again.choose(Site::FirstCpu, &Cpus(4)), first);
//! assert_eq!(again.end(), Ok(()));
//! ```

mod choices;
mod error;
mod parse;
mod recording;
mod replayed;
mod seeded;
mod site;

pub use choices::{Choices, Strategy};
pub use error::ChoiceError;
pub use recording::Recording;
pub use replayed::Replayed;
pub use seeded::Seeded;
pub use site::{Alternatives, Origin, Site};
