// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests on their way: who waits at which socket, who serves what, who waits for an answer.
//!
//! Rules are those of blocking sockets. Tasks that wait for a request are woken one for each
//! arrival, the one that came first; another task may be faster, then the woken one waits
//! again. A task that sends to a full queue waits until there is room; a customer is refused.

use std::collections::{BTreeMap, VecDeque};

use super::customers::Outside;
use super::event::{RequestEvent, RequestStep};
use super::model::Plan;
use crate::model::TaskIx;
use crate::sync::Awaits;
use rota_choice::Choices;

/// How an event that has to do with requests went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// The task goes on and wakes these.
    GoOn(Option<TaskIx>),
    /// The task wakes this one, then does the event again.
    WakeAndRetry(Option<TaskIx>),
    /// The task waits, then does the event again.
    WaitAndRetry,
    /// The task has no such request.
    Nothing,
}

/// A request that is not over.
#[derive(Clone, Copy, Debug)]
struct Request {
    number: u64,
    demand_ns: u64,
    /// Where it is, or was taken from.
    socket: u32,
    from: From,
}

/// Who waits for the answer.
#[derive(Clone, Copy, Debug)]
enum From {
    /// Somebody outside who does not tell.
    Outside,
    /// A user.
    User { source: u32, user: u32 },
    /// A task.
    Task(TaskIx),
    /// Nobody: it needs no answer.
    Nobody,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    requests: VecDeque<Request>,
    /// Tasks that wait for a request.
    receivers: VecDeque<TaskIx>,
    /// Tasks that wait for room.
    senders: VecDeque<TaskIx>,
}

/// What a task has to do with requests.
#[derive(Clone, Debug, Default)]
struct Hands {
    /// Taken and not over, the oldest first.
    held: VecDeque<Request>,
    /// Drawn for a request that has no room yet.
    demand_ns: Option<u64>,
    answer: Answer,
}

/// Whether a task waits for an answer.
#[derive(Clone, Copy, Debug, Default)]
enum Answer {
    #[default]
    NotExpected,
    /// To the request with this number, sent to this socket.
    Awaited(u64, u32),
    /// It is there.
    Ready(u64, u32),
}

/// All requests of a running workload.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    queues: Vec<Queue>,
    outside: Outside,
    /// By task, as far as they had to do with requests.
    hands: Vec<Hands>,
    next_number: u64,
    /// What happened since the last look.
    told: Vec<RequestEvent>,
}

impl Traffic {
    pub(crate) fn new(plan: &Plan, choices: &mut Choices) -> Self {
        Traffic {
            queues: vec![Queue::default(); plan.sockets.len()],
            outside: Outside::new(&plan.customers, choices),
            hands: Vec::new(),
            next_number: 0,
            told: Vec::new(),
        }
    }

    /// When customers send next.
    pub(crate) fn next_at(&self) -> Option<u64> {
        self.outside.next_at()
    }

    /// What happened since the last call, in order.
    pub(crate) fn take_told(&mut self) -> Vec<RequestEvent> {
        std::mem::take(&mut self.told)
    }

    /// What [`Traffic::take_told`] will say.
    pub(crate) fn told(&self) -> &[RequestEvent] {
        &self.told
    }

    /// Requests of customers arrive; what they wake is told with them.
    pub(crate) fn arrive(&mut self, plan: &Plan, now_ns: u64, choices: &mut Choices) {
        while let Some(batch) = self.outside.arrive(now_ns, choices) {
            let socket = plan.classes[batch.class as usize].socket;
            let Some(kind) = plan.sockets.get(socket as usize) else {
                continue;
            };
            let from = match batch.user {
                Some((user, _)) => From::User { source: batch.source, user },
                None if kind.replies => From::Outside,
                None => From::Nobody,
            };
            for _ in 0..batch.requests {
                let demand_ns = self.outside.demand(&batch, choices);
                if self.queues[socket as usize].requests.len() >= kind.backlog as usize {
                    let step = RequestStep::Dropped { class: batch.class };
                    self.told.push(RequestEvent { request: 0, socket, step });
                    if let From::User { source, user } = from {
                        self.outside.refused(source, user, now_ns, choices);
                    }
                    continue;
                }
                let step = RequestStep::Arrived {
                    class: batch.class,
                    by: None,
                    demand_ns,
                    think_ns: batch.user.map(|(_, think_ns)| think_ns),
                    wakes: self.queues[socket as usize].receivers.front().copied(),
                };
                let number = self.number();
                self.enqueue(Request { number, demand_ns, socket, from }, step);
            }
        }
    }

    /// Demand of the request that a task serves: the oldest it took and did not finish.
    pub(crate) fn serves(&self, task: TaskIx) -> Option<u64> {
        self.hands.get(task.0 as usize)?.held.front().map(|r| r.demand_ns)
    }

    /// A task sends a request of its own. `demand_ns` is asked once, however often it has to
    /// try.
    pub(crate) fn send(
        &mut self,
        plan: &Plan,
        task: TaskIx,
        (socket, class, wait): (u32, u32, bool),
        demand_ns: impl FnOnce(&Self) -> Option<u64>,
    ) -> Passage {
        match self.hands(task).answer {
            Answer::Awaited(..) => return Passage::WaitAndRetry,
            Answer::Ready(request, socket) => {
                self.hands(task).answer = Answer::NotExpected;
                self.tell(request, socket, RequestStep::Received { by: task });
                return Passage::GoOn(None);
            }
            Answer::NotExpected => {}
        }
        let drawn = self.hands(task).demand_ns.take();
        let Some(demand_ns) = drawn.or_else(|| demand_ns(self)) else {
            return Passage::Nothing;
        };
        if self.is_full(plan, socket) {
            self.hands(task).demand_ns = Some(demand_ns);
            self.queues[socket as usize].senders.push_back(task);
            return Passage::WaitAndRetry;
        }
        let number = self.number();
        let from = if wait { From::Task(task) } else { From::Nobody };
        let wakes = self.queues[socket as usize].receivers.front().copied();
        let step = RequestStep::Arrived { class, by: Some(task), demand_ns, think_ns: None, wakes };
        let woken = self.enqueue(Request { number, demand_ns, socket, from }, step);
        if wait {
            self.hands(task).answer = Answer::Awaited(number, socket);
            return Passage::WakeAndRetry(woken);
        }
        Passage::GoOn(woken)
    }

    /// A task hands over the request that it serves.
    pub(crate) fn forward(&mut self, plan: &Plan, task: TaskIx, socket: u32) -> Passage {
        if self.hands(task).held.is_empty() {
            return Passage::Nothing;
        }
        if self.is_full(plan, socket) {
            self.queues[socket as usize].senders.push_back(task);
            return Passage::WaitAndRetry;
        }
        let Some(request) = self.hands(task).held.pop_front() else {
            return Passage::Nothing;
        };
        Passage::GoOn(
            self.enqueue(Request { socket, ..request }, RequestStep::Forwarded { by: task }),
        )
    }

    /// A task asks for the next request of a socket.
    pub(crate) fn receive(&mut self, task: TaskIx, socket: u32) -> Passage {
        self.finish(task, Some(socket));
        let queue = &mut self.queues[socket as usize];
        let Some(request) = queue.requests.pop_front() else {
            queue.receivers.push_back(task);
            return Passage::WaitAndRetry;
        };
        let sender = queue.senders.pop_front();
        self.hands(task).held.push_back(request);
        self.tell(request.number, socket, RequestStep::Taken { by: task });
        Passage::GoOn(sender)
    }

    /// A task answers the oldest request that it took from a socket.
    pub(crate) fn reply(
        &mut self,
        task: TaskIx,
        socket: u32,
        now_ns: u64,
        choices: &mut Choices,
    ) -> Passage {
        let held = &mut self.hands(task).held;
        let Some(at) = held.iter().position(|r| r.socket == socket) else {
            return Passage::Nothing;
        };
        let Some(request) = held.remove(at) else {
            return Passage::Nothing;
        };
        let to = match request.from {
            From::Task(sender) => Some(sender),
            _ => None,
        };
        self.tell(request.number, socket, RequestStep::Answered { by: task, to });
        match request.from {
            From::Outside | From::Nobody => Passage::GoOn(None),
            From::User { source, user } => {
                self.outside.answered(source, user, now_ns, choices);
                Passage::GoOn(None)
            }
            From::Task(sender) => {
                let answer = &mut self.hands(sender).answer;
                if let Answer::Awaited(request, socket) = *answer {
                    *answer = Answer::Ready(request, socket);
                }
                Passage::GoOn(Some(sender))
            }
        }
    }

    /// A task ends: what it took and needs no answer is over.
    pub(crate) fn exit(&mut self, task: TaskIx) {
        if (task.0 as usize) < self.hands.len() {
            self.finish(task, None);
        }
    }

    /// A task waits for nothing any more.
    pub(crate) fn forget(&mut self, task: TaskIx) {
        for queue in &mut self.queues {
            queue.receivers.retain(|waiting| *waiting != task);
            queue.senders.retain(|waiting| *waiting != task);
        }
        if let Some(hands) = self.hands.get_mut(task.0 as usize) {
            (hands.answer, hands.demand_ns) = (Answer::NotExpected, None);
        }
    }

    /// Who has the request whose answer a task awaits, by that task; none: nobody took it yet.
    pub(crate) fn servers(&self) -> BTreeMap<TaskIx, TaskIx> {
        let mut holders = BTreeMap::new();
        for (holder, hands) in (0u32..).zip(&self.hands) {
            for request in &hands.held {
                holders.entry(request.number).or_insert(TaskIx(holder));
            }
        }
        let served = (0u32..).zip(&self.hands).filter_map(|(task, hands)| match hands.answer {
            Answer::Awaited(number, _) => Some((TaskIx(task), *holders.get(&number)?)),
            Answer::NotExpected | Answer::Ready(..) => None,
        });
        served.collect()
    }

    /// Who waits now, and for what, in no particular order.
    pub(crate) fn blocked<'a>(
        &'a self,
        plan: &'a Plan,
    ) -> impl Iterator<Item = (TaskIx, Awaits)> + 'a {
        let name = |socket: u32| plan.sockets[socket as usize].name.clone();
        let queues = (0u32..).zip(&self.queues).flat_map(move |(socket, queue)| {
            let receivers =
                queue.receivers.iter().map(move |t| (*t, Awaits::Request(name(socket))));
            let senders = queue.senders.iter().map(move |t| (*t, Awaits::Room(name(socket))));
            receivers.chain(senders)
        });
        let answers =
            (0u32..).zip(&self.hands).filter_map(move |(task, hands)| match hands.answer {
                Answer::Awaited(_, socket) => Some((TaskIx(task), Awaits::Answer(name(socket)))),
                Answer::NotExpected | Answer::Ready(..) => None,
            });
        queues.chain(answers)
    }

    /// Ends what a task took and what needs no answer, from one socket or all.
    fn finish(&mut self, task: TaskIx, socket: Option<u32>) {
        let mut held = std::mem::take(&mut self.hands(task).held);
        held.retain(|request| {
            let over = matches!(request.from, From::Nobody)
                && socket.is_none_or(|socket| socket == request.socket);
            if over {
                self.tell(request.number, request.socket, RequestStep::Done { by: task });
            }
            !over
        });
        self.hands(task).held = held;
    }

    fn enqueue(&mut self, request: Request, step: RequestStep) -> Option<TaskIx> {
        let Request { number, socket, .. } = request;
        let queue = &mut self.queues[socket as usize];
        queue.requests.push_back(request);
        let receiver = queue.receivers.pop_front();
        self.tell(number, socket, step);
        receiver
    }

    fn is_full(&self, plan: &Plan, socket: u32) -> bool {
        let backlog = plan.sockets[socket as usize].backlog as usize;
        self.queues[socket as usize].requests.len() >= backlog
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    fn tell(&mut self, request: u64, socket: u32, step: RequestStep) {
        self.told.push(RequestEvent { request, socket, step });
    }

    fn hands(&mut self, task: TaskIx) -> &mut Hands {
        let index = task.0 as usize;
        if index >= self.hands.len() {
            self.hands.resize_with(index + 1, Hands::default);
        }
        &mut self.hands[index]
    }
}
