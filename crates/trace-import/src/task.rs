// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of a task while records are converted.

use crate::record::Comm;

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) comm: Comm,
    pub(crate) name: String,
    pub(crate) weight: u32,
    /// Named in the stream, with its present name and weight.
    pub(crate) introduced: bool,
    pub(crate) named: bool,
    pub(crate) kernel_thread: Option<bool>,
    pub(crate) exited: bool,
    pub(crate) state: State,
    pub(crate) last_cpu: Option<u32>,
    /// Woken while it runs: when, where and by what task.
    pub(crate) woken: Option<(u64, u32, u32)>,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            comm: [0; 16],
            name: String::new(),
            weight: 100,
            introduced: false,
            named: false,
            kernel_thread: None,
            exited: false,
            state: State::Unknown,
            last_cpu: None,
            woken: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing was seen of it yet.
    Unknown,
    Runnable,
    Running(u32),
    Sleeping,
}
