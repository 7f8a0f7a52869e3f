// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of `--record-choices` and `--replay-choices`.

use crate::error::Error;
use crate::output::plain::plain;
use crate::output_file::OutputFile;
use rota_choice::{ChoiceError, Recording};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Choices that a run takes from a file.
#[derive(Debug)]
pub(crate) struct Replay {
    path: PathBuf,
    /// What the file says.
    pub(crate) recording: Arc<Recording>,
}

impl Replay {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read(path).map_err(|e| Error::file("read", path, &e))?;
        let recording = Recording::parse(&text).map_err(|error| refused(path, &error))?;
        Ok(Self { path: path.into(), recording: recording.into() })
    }

    /// What the run says of itself in place of its seed.
    pub(crate) fn describe(&self) -> String {
        format!("choices of {}", self.path.display())
    }

    /// The choices do not fit the run.
    pub(crate) fn refused(&self, error: &ChoiceError) -> Error {
        refused(&self.path, error)
    }
}

fn refused(path: &Path, ChoiceError { line, what }: &ChoiceError) -> Error {
    Error::input(format!("{}:{line}: {what}", path.display()))
}

/// Completes the file of a run that says this of itself.
pub(crate) fn write(file: OutputFile, recording: Recording, run: &str) -> Result<(), Error> {
    file.finish_with(recording.with_comment(&plain(run)).to_string().as_bytes())
}
