// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a workload file, and where.

use std::fmt;

/// A workload file that cannot be used: the place and one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadError {
    /// Name of the file as the user gave it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Character of the line, from 1.
    pub column: u32,
    /// Task the line belongs to.
    pub task: Option<String>,
    /// Phase of the task the line belongs to.
    pub phase: Option<String>,
    /// What is wrong and what was expected.
    pub message: String,
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        match (&self.task, &self.phase) {
            (Some(task), Some(phase)) => write!(f, "task {task:?}, phase {phase:?}: ")?,
            (Some(task), None) => write!(f, "task {task:?}: ")?,
            (None, _) => {}
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for WorkloadError {}
