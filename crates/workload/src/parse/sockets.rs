// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sockets of a file, and whether somebody receives and answers what arrives there.

use super::keys;
use super::members::{Object, Scope};
use crate::error::WorkloadError;
use crate::json::{Member, Value};
use crate::requests::model::Customers;
use crate::requests::{Plan, RequestClass, Socket, SocketKind};

/// Waiting requests where the file does not say: Linux's `net.core.somaxconn`.
const BACKLOG: u32 = 4096;

/// The most requests that may wait.
const MAX_BACKLOG: i64 = 1_000_000;

const KINDS: [SocketKind; 2] = [SocketKind::Unix, SocketKind::Tcp];

/// The sockets and what the file does with them so far.
#[derive(Default)]
pub(super) struct Sockets {
    list: Vec<Socket>,
    uses: Vec<Uses>,
    classes: Vec<RequestClass>,
}

/// What a file does with a socket.
#[derive(Default)]
struct Uses {
    received: bool,
    replied: bool,
    /// Sockets to which requests are handed over.
    forwarded: Vec<u32>,
    /// What to say if nobody receives.
    unheard: Option<WorkloadError>,
    /// What to say if nobody replies.
    unanswered: Option<WorkloadError>,
}

/// What one task does with sockets.
#[derive(Default)]
pub(super) struct TaskSockets {
    receives: Vec<u32>,
    forwards: Vec<u32>,
    /// Sockets of its replies, and what to say if it never receives there.
    replies: Vec<(u32, WorkloadError)>,
    /// What to say if it never receives at all.
    serves: Option<WorkloadError>,
}

impl Sockets {
    /// Reads `sockets`.
    pub(super) fn read(root: &Object<'_>) -> Result<Sockets, WorkloadError> {
        let mut sockets = Sockets::default();
        let Some(member) = root.get("sockets")? else {
            return Ok(sockets);
        };
        let object = Object::of(root.scope, "\"sockets\"", &member.node)?;
        for member in object.members {
            let Member { key, at, .. } = member;
            if key.is_empty() || key.contains(|c: char| c.is_control() || c.is_whitespace()) {
                let message =
                    format!("{key:?} is not a valid name for a socket: it may hold no blanks");
                return Err(object.scope.error(*at, message));
            }
            if sockets.list.iter().any(|s| s.name == *key) {
                let message = format!("another socket has the name {key:?} already");
                return Err(object.scope.error(*at, message));
            }
            sockets.list.push(socket(object.scope, member)?);
            sockets.uses.push(Uses::default());
        }
        Ok(sockets)
    }

    /// The socket that a value names.
    pub(super) fn find(&self, scope: Scope<'_>, member: &Member) -> Result<u32, WorkloadError> {
        let name = scope.string(member)?;
        if let Some(at) = self.list.iter().position(|s| s.name == name) {
            return Ok(at as u32);
        }
        let message = if self.list.is_empty() {
            format!("there is no socket {name:?}: the file has no \"sockets\"")
        } else {
            keys::unknown("socket", name, self.list.iter().map(|s| s.name.as_str()))
        };
        Err(scope.error(member.node.at, message))
    }

    /// Something is sent to a socket, which `member` names.
    pub(super) fn hears(&mut self, scope: Scope<'_>, member: &Member, socket: u32) {
        let name = &self.list[socket as usize].name;
        let message = format!("no task receives from socket {name:?}: a task needs a \"recv\"");
        let error = scope.error(member.node.at, message);
        self.uses[socket as usize].unheard.get_or_insert(error);
    }

    /// The class of what `sender` sends to a socket, which `member` names.
    pub(super) fn class(
        &mut self,
        scope: Scope<'_>,
        member: &Member,
        sender: &str,
        socket: u32,
    ) -> u32 {
        self.hears(scope, member, socket);
        let class = RequestClass { name: sender.to_owned(), socket };
        let known = self.classes.iter().position(|c| *c == class);
        let index = known.unwrap_or(self.classes.len());
        if index == self.classes.len() {
            self.classes.push(class);
        }
        index as u32
    }

    /// Somebody waits for answers from a socket, which `member` names.
    pub(super) fn needs_answers(&mut self, scope: Scope<'_>, member: &Member, socket: u32) {
        let name = &self.list[socket as usize].name;
        let message = format!(
            "no task replies to what arrives at socket {name:?}, so that waiting for an answer \
             would never end: a task that receives there needs a \"reply\""
        );
        let error = scope.error(member.node.at, message);
        self.uses[socket as usize].unanswered.get_or_insert(error);
    }

    /// Takes what a whole task does.
    pub(super) fn add(&mut self, task: TaskSockets) -> Result<(), WorkloadError> {
        if let Some(error) = task.serves.filter(|_| task.receives.is_empty()) {
            return Err(error);
        }
        for (socket, error) in task.replies {
            if !task.receives.contains(&socket) {
                return Err(error);
            }
            self.uses[socket as usize].replied = true;
        }
        for socket in task.receives {
            let uses = &mut self.uses[socket as usize];
            uses.received = true;
            uses.forwarded.extend(&task.forwards);
        }
        Ok(())
    }

    /// Everything about requests, once the whole file is read.
    pub(super) fn finish(mut self, customers: Vec<Customers>) -> Result<Plan, WorkloadError> {
        // A request is answered where it is handed over to, too; chains are short.
        for _ in 0..self.uses.len() {
            for socket in 0..self.uses.len() {
                let there = self.uses[socket].forwarded.iter();
                let answered = there.copied().any(|to| self.uses[to as usize].replied);
                self.uses[socket].replied |= answered;
            }
        }
        for (socket, uses) in self.list.iter_mut().zip(self.uses) {
            socket.replies = uses.replied;
            let trouble = match (uses.received, uses.replied) {
                (false, _) => uses.unheard,
                (true, false) => uses.unanswered,
                (true, true) => None,
            };
            if let Some(error) = trouble {
                return Err(error);
            }
        }
        Ok(Plan { sockets: self.list, classes: self.classes, customers })
    }
}

impl TaskSockets {
    pub(super) fn receives(&mut self, socket: u32) {
        if !self.receives.contains(&socket) {
            self.receives.push(socket);
        }
    }

    pub(super) fn forwards(&mut self, socket: u32) {
        self.forwards.push(socket);
    }

    pub(super) fn replies(&mut self, scope: Scope<'_>, member: &Member, socket: u32) {
        let message = "the task replies to what it never receives: it needs a \"recv\" from \
                       this socket";
        self.replies.push((socket, scope.error(member.node.at, message)));
    }

    /// Something depends on the request that the task serves.
    pub(super) fn serves(&mut self, scope: Scope<'_>, member: &Member) {
        let message =
            format!("{:?} depends on a request, but the task has no \"recv\"", member.key);
        self.serves.get_or_insert_with(|| scope.error(member.at, message));
    }
}

fn socket(scope: Scope<'_>, member: &Member) -> Result<Socket, WorkloadError> {
    let socket = |kind, backlog| Socket { name: member.key.clone(), kind, backlog, replies: false };
    if let Value::String(_) = member.node.value {
        return Ok(socket(kind(scope, member)?, BACKLOG));
    }
    let Value::Object(_) = member.node.value else {
        let wanted = "\"unix\", \"tcp\" or {\"kind\": …, \"backlog\": …}";
        return Err(scope.mismatch(member, wanted));
    };
    let object = Object::of(scope, "a socket", &member.node)?;
    object.only(&["kind", "backlog"])?;
    let Some(named) = object.get("kind")? else {
        let message = "a socket needs a \"kind\": \"unix\" or \"tcp\"";
        return Err(scope.error(object.at, message));
    };
    let backlog = match object.get("backlog")? {
        Some(backlog) => scope.integer(backlog, 1..=MAX_BACKLOG)? as u32,
        None => BACKLOG,
    };
    Ok(socket(kind(scope, named)?, backlog))
}

fn kind(scope: Scope<'_>, member: &Member) -> Result<SocketKind, WorkloadError> {
    let name = scope.string(member)?;
    match KINDS.iter().find(|known| known.to_string() == name) {
        Some(kind) => Ok(*kind),
        None => {
            let message = keys::unknown("kind of socket", name, ["unix", "tcp"].into_iter());
            Err(scope.error(member.node.at, message))
        }
    }
}
