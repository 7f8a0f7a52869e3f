// SPDX-License-Identifier: MIT OR Apache-2.0
//! `BPF_PROG_TEST_RUN` of `syscall` programs: `bpf_prog_test_run_syscall()`.

use super::attr::{bytes, Attr};
use super::played::{Ctx, Played};
use super::uapi::prog;
use super::Reply;
use crate::Errno;
use rota_object::set_up::SetUpStep;
use rota_vm::host::Host;
use rota_vm::memory::Perm;

/// `U16_MAX`.
const LARGEST_CTX: u32 = 0xffff;

impl Played {
    pub(super) fn prog_run(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(76)?;
        let id = c.caller.object_of(attr.fd(0))?;
        let (size_in, size_out) = (attr.u32(40), attr.u32(44));
        let (ctx_in, ctx_out) = (attr.u64(48), attr.u64(56));
        if (size_in == 0) != (ctx_in == 0) || (size_out == 0) != (ctx_out == 0) {
            return Err(Errno::EINVAL);
        }
        let program = self.objects.program(id)?;
        if program.kind != prog::SYSCALL {
            // no other kind can be run here
            return Err(Errno::ENOTSUPP);
        }
        let unused =
            [attr.u64(16), attr.u64(24), ctx_out, attr.u32(36).into(), attr.u32(32).into()];
        if unused.into_iter().any(|value| value != 0) || attr.u32(64) != 0 || attr.u32(72) != 0 {
            return Err(Errno::EINVAL);
        }
        if size_in > LARGEST_CTX {
            return Err(Errno::EINVAL);
        }
        if c.live.is_none() {
            return Ok(Reply::NeedsMachine);
        }
        let mut context = bytes(c.caller, ctx_in, size_in as usize)?;
        if self.is_of_another_scheduler(id) && !self.is_attached(c) {
            self.table = None;
            self.wanted = self.objects.program(id)?.btf;
            return Ok(Reply::NeedsMachine);
        }
        let machine = self.in_machine.as_ref().filter(|machine| machine.filled);
        let function = machine.and_then(|machine| machine.programs.get(&id)).copied();
        let Some(function) = function else {
            self.notes
                .push("a program that is no part of the scheduler's object was not run".into());
            return Err(Errno::EOPNOTSUPP);
        };
        let live = c.live.as_deref_mut().ok_or(Errno::EOPNOTSUPP)?;
        self.pages_in(live, c.caller);
        self.record_writes(live);
        self.record_step(|| SetUpStep::Run { function, context: context.clone() });
        let at = live.system.memory().alloc("context", size_in, Perm::ReadWrite);
        if let Ok(place) = live.system.memory().bytes_mut(at, size_in) {
            place.copy_from_slice(&context);
        }
        let result = live.rt.call(live.system, function, &[at]);
        if let Ok(place) = live.system.memory().bytes(at, size_in) {
            context.copy_from_slice(place);
        }
        live.system.memory().free(at);
        self.record_known(live);
        self.pages_out(live, c.caller);
        let returned = match result {
            Ok(ret) => ret.r0 as u32,
            Err(fault) => {
                // no kernel would have loaded it
                self.notes.push(format!("a syscall program was stopped: {fault}"));
                return Err(Errno::EFAULT);
            }
        };
        if size_in > 0 {
            c.caller.write(ctx_in, &context)?;
        }
        attr.answer(c.caller, 4, &returned.to_le_bytes())?;
        Ok(Reply::Value(0))
    }
}
