// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of the requests of a run. Field names are those of the `rota.sim/1` JSON.

use crate::numbers::LatencyNumbers;
use crate::slowdown::SlowdownNumbers;
use serde::Serialize;

/// The requests of a run; both lists are empty without any.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RequestsNumbers {
    /// By who sends them, in the order in which the trace names them.
    pub classes: Vec<RequestNumbers>,
    /// By where they arrive, in the order of their first class.
    pub sockets: Vec<RequestNumbers>,
}

/// Requests of one class or of one socket: `arrived = answered + open + dropped`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RequestNumbers {
    /// Customers or task that sent them; `None`: everybody who uses the socket.
    pub name: Option<String>,
    /// Where they arrive.
    pub socket: String,
    /// Requests that came to the socket.
    pub arrived: u64,
    /// Those that were answered (or dealt with, if they need no answer).
    pub answered: u64,
    /// Those that were neither answered nor dropped when the run ended.
    pub open: u64,
    /// Those that found the socket's queue full.
    pub dropped: u64,
    /// Throughput.
    pub answered_per_s: Option<f64>,
    /// Mean demand of the requests that have one and were not dropped.
    pub demand_mean_ns: Option<f64>,
    /// From arrival until a task took it.
    pub queue_ns: LatencyNumbers,
    /// From arrival to answer.
    pub response_ns: LatencyNumbers,
    /// Response time over demand.
    pub slowdown: SlowdownNumbers,
    /// Think time and response time together, of customers that wait for answers.
    pub cycle_ns: LatencyNumbers,
}
