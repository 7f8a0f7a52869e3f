// SPDX-License-Identifier: MIT OR Apache-2.0
//! From JSON to a checked workload.
use crate::{Workload, WorkloadError};
/// Reads a workload.
pub fn parse(file_name: &str, _text: &str) -> Result<Workload, WorkloadError> {
    Err(WorkloadError { file: file_name.into(), line: 1, task: None, phase: None, message: "reading is being written".into() })
}
