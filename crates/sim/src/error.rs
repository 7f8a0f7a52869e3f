// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why there was no run.

use rota_choice::ChoiceError;
use rota_machine::attach::AttachError;
use rota_machine::run::RunError;
use rota_object::error::LoadError;
use rota_object::settings::SettingError;
use thiserror::Error;

/// Why a run could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimError {
    /// The object cannot be hosted.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The object cannot be attached as a scheduler.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// A variable, map or member cannot be set.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A program of the object that sets it up, or a write to its memory, failed.
    #[error("{object}: {step}: {what}")]
    Step {
        /// The object.
        object: String,
        /// The program, or the type of what was written.
        step: String,
        /// What it returned or did, and what was expected.
        what: String,
        /// Lines that it, and those before it, printed.
        printed: Vec<String>,
    },
    /// A map takes no such entry.
    #[error("{object}: map {map}: {what}")]
    Map {
        /// The object.
        object: String,
        /// The map.
        map: String,
        /// Why.
        what: String,
    },
    /// What a run with the scheduler's own program cannot have.
    #[error("{0}")]
    Program(String),
    /// The machine cannot run the workload.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl SimError {
    /// What is wrong with the choices to be replayed, if that is it.
    pub fn of_choices(&self) -> Option<&ChoiceError> {
        match self {
            Self::Run(RunError::Choice(error)) => Some(error),
            _ => None,
        }
    }

    /// Lines that the object had printed by then.
    pub fn printed(&self) -> &[String] {
        match self {
            Self::Step { printed, .. } => printed,
            _ => &[],
        }
    }

    /// Is it the workload's fault?
    pub fn is_of_workload(&self) -> bool {
        matches!(self, Self::Run(RunError::Task { .. } | RunError::Stuck(_))) || self.names_place()
    }

    /// Does it begin with its place in the workload's file?
    pub fn names_place(&self) -> bool {
        matches!(self, Self::Run(RunError::Event { .. }))
    }
}
