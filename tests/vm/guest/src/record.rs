// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the guest reports, one JSON object per line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Record {
    /// The machine is up.
    Boot {
        /// `uname -r`.
        kernel: String,
        /// Online CPUs.
        cpus: u32,
        /// Jobs to do.
        jobs: usize,
    },
    /// A step was done, and this is what was seen.
    Step {
        /// The job's name.
        job: String,
        /// The step's number, from 1; of a repeated one, of its last time.
        step: String,
        /// What it does.
        does: String,
        /// Time since boot, when it was done.
        at_ns: u64,
        /// What it measured.
        #[serde(skip_serializing_if = "Value::is_null", default)]
        saw: Value,
    },
    /// A step failed: what was expected and what happened instead.
    Problem {
        /// The job's name.
        job: String,
        /// The step's number, or `cleanup`.
        step: String,
        /// In words.
        problem: String,
    },
    /// A job is over.
    Done {
        /// The job's name.
        job: String,
        /// No step had a problem.
        ok: bool,
        /// How long it took, of the guest's time.
        took_ns: u64,
    },
    /// Nothing comes after this line.
    End {
        /// 0 if all jobs were good, else 1.
        code: u8,
    },
}
