// SPDX-License-Identifier: MIT OR Apache-2.0
//! Semaphores and barriers: known by their names, and barriers by who comes to them.

use super::{NameList, Place};
use crate::error::WorkloadError;
use crate::event::{Barrier, Event, MeetingEvent};
use crate::json::Member;

/// `sem_post`.
pub(in crate::parse) fn sem_post(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    Ok(Event::Meeting(MeetingEvent::SemPost { semaphore: semaphore(place, member)? }))
}

/// `sem_wait`.
pub(in crate::parse) fn sem_wait(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    Ok(Event::Meeting(MeetingEvent::SemWait { semaphore: semaphore(place, member)? }))
}

/// The semaphore that an event names.
pub(super) fn semaphore(place: &mut Place<'_>, member: &Member) -> Result<u32, WorkloadError> {
    Ok(place.names.meetings.semaphores.mention(place.scope.string(member)?))
}

/// `barrier`. Every mention counts, with the instances that its task starts, as in rt-app.
pub(in crate::parse) fn barrier(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let meetings = &mut place.names.meetings;
    let name = place.scope.string(member)?;
    let index = meetings.barriers.mention(name);
    if index as usize == meetings.users.len() {
        let message = format!(
            "no task comes to barrier {name:?}: every task that names it has \"instance\": 0"
        );
        let nobody = place.scope.error(member.node.at, message);
        meetings.users.push(Users { mentions: 0, tasks: 0, last_task: None, nobody });
    }
    let users = &mut meetings.users[index as usize];
    let instances = u64::from(place.own.instances);
    users.mentions += instances;
    let task = place.scope.task_name().map(str::to_owned);
    if users.last_task != task {
        users.last_task = task;
        users.tasks += instances;
    }
    Ok(Event::Meeting(MeetingEvent::Barrier { barrier: index }))
}

/// The semaphores and barriers of a file.
#[derive(Default)]
pub(in crate::parse) struct Meetings {
    pub(in crate::parse) semaphores: NameList,
    barriers: NameList,
    /// By barrier.
    users: Vec<Users>,
}

/// Who comes to a barrier, as far as the file is read.
struct Users {
    /// Instances, once for each mention: what rt-app counts.
    mentions: u64,
    /// Instances, each once.
    tasks: u64,
    last_task: Option<String>,
    /// What to say if nobody comes; its place is that of the first mention.
    nobody: WorkloadError,
}

impl Meetings {
    /// The barriers, once the whole file is read. Without forks, those that can never open are
    /// warned of.
    pub(in crate::parse) fn barriers(
        &mut self,
        forks: bool,
        warnings: &mut Vec<WorkloadError>,
    ) -> Result<Vec<Barrier>, WorkloadError> {
        let names = std::mem::take(&mut self.barriers).into_list();
        let barriers = names.into_iter().zip(std::mem::take(&mut self.users));
        let mut barrier = |(name, users): (String, Users)| {
            let Users { mentions, tasks, nobody, .. } = users;
            if mentions == 0 {
                return Err(nobody);
            }
            if mentions > tasks && !forks {
                let s = if tasks == 1 { "" } else { "s" };
                let message = format!(
                    "barrier {name:?} never opens: it waits for {mentions}, and {tasks} task{s} can \
                     be there at once (every mention counts)"
                );
                warnings.push(WorkloadError { message, ..nobody });
            }
            // More than a file can start never meet.
            Ok(Barrier { name, participants: u32::try_from(mentions).unwrap_or(u32::MAX) })
        };
        barriers.map(&mut barrier).collect()
    }
}
