// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers over the requests of all sockets.

use super::Run;
use crate::requests::RequestNumbers;

/// Of a run that has requests.
pub(super) fn sockets(run: Run<'_>) -> Option<&[RequestNumbers]> {
    let sockets = &run.requests.sockets;
    (!sockets.is_empty()).then_some(sockets)
}

fn sum(run: Run<'_>, of: fn(&RequestNumbers) -> u64) -> Option<f64> {
    Some(sockets(run)?.iter().map(of).sum::<u64>() as f64)
}

fn greatest(run: Run<'_>, of: fn(&RequestNumbers) -> Option<u64>) -> Option<f64> {
    sockets(run)?.iter().filter_map(of).max().map(|value| value as f64)
}

pub(super) fn response_mean(run: Run<'_>) -> Option<f64> {
    let answers = sockets(run)?.iter().map(|socket| &socket.response_ns);
    let count: u64 = answers.clone().map(|response| response.count).sum();
    let all: f64 = answers.filter_map(|r| Some(r.mean? * r.count as f64)).sum();
    (count > 0).then(|| all / count as f64)
}

pub(super) fn response_p99(run: Run<'_>) -> Option<f64> {
    greatest(run, |socket| socket.response_ns.p99)
}

pub(super) fn response_max(run: Run<'_>) -> Option<f64> {
    greatest(run, |socket| socket.response_ns.max)
}

pub(super) fn answered_per_s(run: Run<'_>) -> Option<f64> {
    let rates = sockets(run)?.iter().filter_map(|socket| socket.answered_per_s);
    Some(rates.sum())
}

pub(super) fn open(run: Run<'_>) -> Option<f64> {
    sum(run, |socket| socket.open)
}

pub(super) fn dropped(run: Run<'_>) -> Option<f64> {
    sum(run, |socket| socket.dropped)
}
