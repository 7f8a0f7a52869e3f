// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to requests, as whoever watches them is told.

use crate::model::TaskIx;

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestEvent {
    /// The request's number; 0 if it was dropped.
    pub request: u64,
    /// Index of the socket among the workload's.
    pub socket: u32,
    /// What happened.
    pub step: RequestStep,
}

impl RequestEvent {
    /// The task that it wakes as it arrives.
    pub fn wakes(&self) -> Option<TaskIx> {
        match self.step {
            RequestStep::Arrived { wakes, .. } => wakes,
            _ => None,
        }
    }
}

/// The kinds of [`RequestEvent`]. `by` is the running task that does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStep {
    /// It arrived at the socket.
    Arrived {
        /// Index of its class among the workload's.
        class: u32,
        /// The task that sent it; `None`: a customer.
        by: Option<TaskIx>,
        /// CPU time that it asks for; 0: it does not say.
        demand_ns: u64,
        /// Think time of a customer that waits for its answer.
        think_ns: Option<u64>,
        /// The task that it wakes.
        wakes: Option<TaskIx>,
    },
    /// It was dropped, as the queue was full.
    Dropped {
        /// Index of its class among the workload's.
        class: u32,
    },
    /// A task took it from the socket.
    Taken {
        /// The task.
        by: TaskIx,
    },
    /// A task handed it over to this socket.
    Forwarded {
        /// The task.
        by: TaskIx,
    },
    /// Its answer was sent.
    Answered {
        /// The task.
        by: TaskIx,
        /// The task that waits for it.
        to: Option<TaskIx>,
    },
    /// Its sender, a task, received the answer.
    Received {
        /// The task.
        by: TaskIx,
    },
    /// It needed no answer, and whoever took it is done with it.
    Done {
        /// The task.
        by: TaskIx,
    },
}
