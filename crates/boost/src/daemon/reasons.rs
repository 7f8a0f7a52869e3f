// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why threads are changed, and why not, in words.

use super::Daemon;
use crate::apply::Threads;
use crate::customers;
use crate::engine::Why;
use crate::log::Change;
use crate::process;
use crate::programs::Level;
use crate::record::{Event, Kind};
use crate::table::Family;

impl<T: Threads> Daemon<T> {
    /// A thread is not to be changed, as a person set it up.
    pub(super) fn refuse(&mut self, now_ns: u64, event: &Event, why: &str) {
        self.engine.refused(now_ns, event.tid);
        if self.waiting.forget(event.tid) {
            self.programs.set_level(event.tid, Level::None);
            self.unwatch(event.tid);
        }
        self.deny(now_ns, event, Why::Settings, why);
    }

    /// In words, what somebody waits for.
    pub(super) fn reason(&self, event: &Event) -> String {
        let load = self.load.per_cpu(self.cpus);
        let name =
            |pid: u32| process::name(pid).map(|n| format!(" {n}[{pid}]")).unwrap_or_default();
        let peer = name(event.peer);
        match event.kind {
            Kind::HandedOn => format!("woken by{peer}, which has a request open; load {load:.1}"),
            Kind::AnswersFor => format!("answers what{peer} has received; load {load:.1}"),
            Kind::Request | Kind::Answer => {
                let what = if event.kind == Kind::Answer { "answer" } else { "request" };
                let family = match event.family {
                    Family::Unix => "UNIX",
                    Family::Network => "network",
                };
                let who = customers::describe(event.relation);
                format!("{what} by {family} socket from{peer} ({who}); load {load:.1}")
            }
        }
    }

    /// Tells of a denial, but not again and again.
    pub(super) fn deny(&mut self, now_ns: u64, event: &Event, why: Why, text: &str) {
        let kind = std::mem::discriminant(&why);
        if why == Why::LowLoad || self.denied.insert(event.tid, kind) == Some(kind) {
            return;
        }
        let name = process::name(event.tid).unwrap_or_default();
        let what = format!("not boosted: {text}");
        let Event { tid, tgid, .. } = *event;
        self.changes.push(Change { time_ns: now_ns, tid, tgid, name, what });
    }

    pub(super) fn change(&mut self, time_ns: u64, tid: u32, what: String) {
        let (tgid, name) = self.names.get(&tid).cloned().unwrap_or_default();
        self.changes.push(Change { time_ns, tid, tgid, name, what });
    }
}
