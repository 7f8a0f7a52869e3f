// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler's program does to its object before it attaches, step by step: for objects
//! that keep what no file can hold, as CPU masks and timers, which their own code has to make anew.

use crate::image::{FuncId, Image, MapId};
use serde::{Deserialize, Serialize};

/// One step. Maps and functions are those of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetUpStep {
    /// `bpf(2)` stores a value; of a queue the key is empty.
    Set {
        /// Where.
        map: MapId,
        /// At this key.
        key: Vec<u8>,
        /// This value, of a per-CPU map one for each CPU.
        value: Vec<u8>,
        /// `BPF_ANY`, `BPF_NOEXIST`, `BPF_EXIST`, `BPF_F_LOCK`.
        flags: u64,
    },
    /// `bpf(2)` deletes an entry.
    Delete {
        /// Where.
        map: MapId,
        /// The one at this key.
        key: Vec<u8>,
    },
    /// `bpf(2)` takes a value from a queue or stack.
    Pop {
        /// Which.
        map: MapId,
    },
    /// The program writes to an array or an arena that it maps.
    Write {
        /// Which.
        map: MapId,
        /// From this byte on.
        at: u32,
        /// What.
        bytes: Vec<u8>,
    },
    /// The program runs one of its object's (`BPF_PROG_TEST_RUN`).
    Run {
        /// Which.
        function: FuncId,
        /// What its context holds.
        context: Vec<u8>,
    },
}

impl SetUpStep {
    /// Whether an image has what the step is about, or what of it is not there.
    ///
    /// # Errors
    /// The map or function that is missing.
    pub fn check(&self, image: &Image) -> Result<(), String> {
        match self {
            Self::Set { map, .. }
            | Self::Delete { map, .. }
            | Self::Pop { map }
            | Self::Write { map, .. } => match image.maps.get(map.0 as usize) {
                Some(_) => Ok(()),
                None => Err(format!("map {}", map.0)),
            },
            Self::Run { function, .. } => match image.functions.get(function.0 as usize) {
                Some(_) => Ok(()),
                None => Err(format!("function {}", function.0)),
            },
        }
    }
}
