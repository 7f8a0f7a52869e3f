// SPDX-License-Identifier: MIT OR Apache-2.0
//! Semaphores and barriers: known by their names, and barriers by who comes to them.

use std::collections::HashMap;

use super::members::Scope;
use crate::error::WorkloadError;
use crate::json::Member;
use crate::model::Barrier;

/// The semaphores and barriers of a file.
#[derive(Default)]
pub(super) struct Meetings {
    pub(super) semaphores: Names,
    barriers: Names,
    /// By barrier: participants so far, and what to say if there are none.
    users: Vec<(u64, WorkloadError)>,
}

/// Names in order of first mention.
#[derive(Default)]
pub(super) struct Names {
    index: HashMap<String, u32>,
    list: Vec<String>,
}

impl Names {
    fn mention(&mut self, name: &str) -> u32 {
        let next = self.list.len() as u32;
        let index = *self.index.entry(name.to_owned()).or_insert(next);
        if index == next {
            self.list.push(name.to_owned());
        }
        index
    }

    pub(super) fn into_list(self) -> Vec<String> {
        self.list
    }
}

impl Meetings {
    pub(super) fn semaphore(
        &mut self,
        scope: Scope<'_>,
        member: &Member,
    ) -> Result<u32, WorkloadError> {
        Ok(self.semaphores.mention(scope.string(member)?))
    }

    /// A mention of a barrier. Every one counts, with the instances that its task starts, as
    /// in rt-app.
    pub(super) fn barrier(
        &mut self,
        scope: Scope<'_>,
        member: &Member,
        instances: u32,
    ) -> Result<u32, WorkloadError> {
        let name = scope.string(member)?;
        let index = self.barriers.mention(name);
        if index as usize == self.users.len() {
            let message = format!(
                "nobody comes to barrier {name:?}: every task that names it has \"instance\": 0"
            );
            self.users.push((0, scope.error(member.node.line, message)));
        }
        self.users[index as usize].0 += u64::from(instances);
        Ok(index)
    }

    /// The barriers, once the whole file is read.
    pub(super) fn barriers(&mut self) -> Result<Vec<Barrier>, WorkloadError> {
        let names = std::mem::take(&mut self.barriers).into_list();
        let barriers = names.into_iter().zip(std::mem::take(&mut self.users));
        barriers
            .map(|(name, (participants, nobody))| match u32::try_from(participants) {
                Ok(0) => Err(nobody),
                Ok(participants) => Ok(Barrier { name, participants }),
                // More than a file can start, so they never meet.
                Err(_) => Ok(Barrier { name, participants: u32::MAX }),
            })
            .collect()
    }
}
