// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota boost`, as the bench runs it.

use super::session::{Session, Stage};
use super::Mode;
use crate::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// BPF programs are loaded beside a full background.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running daemon, which takes everything back when this is dropped.
pub(crate) struct Boost(Session);

impl Boost {
    /// Starts it, if the mode has it.
    pub(crate) fn start(stage: &Stage<'_>, mode: Mode) -> Result<Option<Self>, Error> {
        let more: &[&str] = match mode {
            Mode::Plain | Mode::Nice => return Ok(None),
            Mode::Boost => &[],
            Mode::BoostClients => &["--clients", "full"],
            Mode::BoostAutogroups => &["--autogroups"],
        };
        let (control, saved) = (stage.path("boost.sock"), stage.path("boost.saved"));
        let (control, saved) = (control.display().to_string(), saved.display().to_string());
        let words = ["/proc/self/exe", "boost", "--log", "--control", &control, "--saved", &saved];
        let mut session = stage.daemon("boost", &[&words[..], more].concat())?;
        let out = stage.path("boost.out");
        // It says so when it begins.
        let said = || std::fs::read_to_string(&out).is_ok_and(|text| text.contains("boosts "));
        session.ready(stage, PATIENCE, said)?;
        Ok(Some(Self(session)))
    }

    /// Ends it, and keeps what it said under a heading, if there is a file for that.
    pub(crate) fn end(self, heading: &str, log: Option<&Path>) -> Result<(), Error> {
        let Self(session) = self;
        let Some(path) = log else { return Ok(()) };
        let write = |e| Error::system(&format!("write {}", path.display()), e);
        let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(write)?;
        write!(file, "== {heading}\n{}", session.text("out")).map_err(write)
    }
}
