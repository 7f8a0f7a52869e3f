// SPDX-License-Identifier: MIT OR Apache-2.0
//! Users and sessions of processes, as hosted code finds them.

use crate::guest::Guest;
use crate::layout::ABSENT;
use rota_workload::Identity;
use rustc_hash::FxHashMap;

/// Objects that processes share.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    creds: FxHashMap<u32, u64>,
    sessions: FxHashMap<u32, u64>,
}

impl Guest {
    /// Of the task at an address: threads of a process share their leader's `signal_struct`.
    pub(crate) fn fill_identity(&mut self, addr: u64, leader: u64, identity: Identity) {
        let layout = self.layouts.task.clone();
        let cred = self.cred(identity.uid);
        self.put_u64(addr, layout.cred, cred);
        self.put_u64(addr, layout.real_cred, cred);
        if layout.signal == ABSENT {
            return;
        }
        let mut signal = self.mem.get_u64(leader + u64::from(layout.signal));
        if signal == 0 {
            signal = self.mem.alloc_kernel(self.layouts.signal_shape);
            let session = self.session(identity.session);
            self.put_u64(signal, self.layouts.signal.session, session);
        }
        self.put_u64(addr, layout.signal, signal);
    }

    /// Of a process whose last thread is gone.
    pub(crate) fn free_identity(&mut self, addr: u64) {
        let at = self.layouts.task.signal;
        if at != ABSENT {
            let signal = self.mem.get_u64(addr + u64::from(at));
            self.mem.free(signal);
        }
    }

    fn cred(&mut self, uid: u32) -> u64 {
        if let Some(cred) = self.identities.creds.get(&uid) {
            return *cred;
        }
        let cred = self.mem.alloc_kernel(self.layouts.cred_shape);
        let layout = self.layouts.cred.clone();
        for field in [layout.uid, layout.euid, layout.suid, layout.fsuid] {
            self.put_u32(cred, field, uid);
        }
        self.identities.creds.insert(uid, cred);
        cred
    }

    /// The `struct pid` of a session.
    fn session(&mut self, number: u32) -> u64 {
        if let Some(pid) = self.identities.sessions.get(&number) {
            return *pid;
        }
        let pid = self.mem.alloc_kernel(self.layouts.pid_shape);
        // the number comes first in `struct upid`
        self.put_u32(pid, self.layouts.pid.numbers, number);
        self.identities.sessions.insert(number, pid);
        pid
    }
}
