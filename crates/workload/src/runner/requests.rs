// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `send`, `recv` and `reply` do, and requests from outside.

use super::step::Step;
use super::Runner;
use crate::event::SocketEvent;
use crate::model::TaskIx;
use crate::requests::model::{Amount, How, Spend};
use crate::requests::traffic::Passage;
use crate::requests::RequestEvent;
use crate::sync::Meeting;
use rota_choice::Choices;

impl Runner {
    /// When customers send next; what happens to requests before can change that.
    pub fn next_arrival(&self) -> Option<u64> {
        self.traffic.next_at()
    }

    /// Lets the requests arrive that customers send up to now; [`Runner::take_request_events`]
    /// has them, with the tasks that they wake.
    pub fn arrive(&mut self, now_ns: u64, choices: &mut Choices) {
        self.traffic.arrive(&self.workload.requests, now_ns, choices);
        for task in self.traffic.told().iter().filter_map(RequestEvent::wakes) {
            self.tasks[task.0 as usize].blocked = false;
        }
    }

    /// What happened to requests since the last call, in order.
    pub fn take_request_events(&mut self) -> Vec<RequestEvent> {
        self.traffic.take_told()
    }

    pub(super) fn socket_event(
        &mut self,
        task: TaskIx,
        event: SocketEvent,
        now_ns: u64,
        choices: &mut Choices,
    ) -> Option<Step> {
        let plan = &self.workload.requests;
        let state = &mut self.tasks[task.0 as usize];
        let (passage, does) = match event {
            SocketEvent::Spend { what, millionths } => {
                let Some(demand_ns) = self.traffic.serves(task) else {
                    return Some(self.serves_nothing(task, "depends on a request"));
                };
                let ns = part_of(demand_ns, millionths);
                return (ns > 0).then_some(match what {
                    Spend::Run => Step::Run { work_ns: ns },
                    Spend::Runtime => Step::Runtime { ns },
                    Spend::Sleep => Step::Sleep { ns },
                });
            }
            SocketEvent::Send { socket, how: How::New { class, demand, wait } } => {
                let drawn =
                    self.traffic.send(plan, task, (socket, class, wait), |traffic| match demand {
                        Amount::Span(span) => Some(state.draw(&span, task, choices)),
                        Amount::OfRequest { millionths } => {
                            traffic.serves(task).map(|ns| part_of(ns, millionths))
                        }
                    });
                (drawn, "sends a part of a request")
            }
            SocketEvent::Send { socket, how: How::Forward } => {
                (self.traffic.forward(plan, task, socket), "hands over a request")
            }
            SocketEvent::Recv { socket } => (self.traffic.receive(task, socket), "receives"),
            SocketEvent::Reply { socket } => {
                (self.traffic.reply(task, socket, now_ns, choices), "replies")
            }
        };
        let state = &mut self.tasks[task.0 as usize];
        match passage {
            Passage::GoOn(woken) => state.after(Meeting::GoOn(woken.into_iter().collect()), true),
            Passage::WaitAndRetry => state.after(Meeting::WaitAndRetry, true),
            Passage::WakeAndRetry(woken) => {
                state.cursor.event -= 1;
                state.after(Meeting::GoOn(woken.into_iter().collect()), true)
            }
            Passage::Nothing => Some(self.serves_nothing(task, does)),
        }
    }

    fn serves_nothing(&self, task: TaskIx, does: &str) -> Step {
        let name = self.name(task);
        Step::Stuck(format!(
            "task {name:?} {does}, but holds none then: it needs a \"recv\" before"
        ))
    }
}

/// A part of a request's demand.
fn part_of(demand_ns: u64, millionths: u64) -> u64 {
    let part = u128::from(demand_ns) * u128::from(millionths) / 1_000_000;
    u64::try_from(part).unwrap_or(u64::MAX)
}
