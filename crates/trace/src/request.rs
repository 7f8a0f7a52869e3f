// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests: how customers and tasks ask tasks for something, and when they are answered.
//!
//! A request begins when it arrives at its socket and ends when its answer is sent. One that
//! needs no answer ends when whoever took it is done with it: it asks for the next one.

/// What happens to a request. `request` is its number, which is used once in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A class of requests becomes known, before the first of them.
    Class {
        /// Number of the class.
        class: u32,
        /// Who sends them: a group of customers, or a task.
        name: String,
        /// Where they arrive. Never holds a blank.
        socket: String,
    },
    /// A request arrived at its socket.
    Begin {
        /// The request.
        request: u64,
        /// Its class.
        class: u32,
        /// The task that sent it; 0: a customer outside of the machine.
        sender: u32,
        /// CPU time that it asks for; 0: it does not say.
        demand_ns: u64,
        /// How long its customer had thought since the last answer; `None`: it does not wait
        /// for answers.
        think_ns: Option<u64>,
    },
    /// A request found no room at its socket: it is not served.
    Drop {
        /// Its class.
        class: u32,
    },
    /// A task took a request from the socket.
    Serve {
        /// The request.
        request: u64,
        /// The task.
        pid: u32,
    },
    /// A request was answered, or dealt with where it needs no answer.
    End {
        /// The request.
        request: u64,
        /// The task that did it.
        pid: u32,
    },
}
