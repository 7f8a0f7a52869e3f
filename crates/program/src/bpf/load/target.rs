// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program is attached to: `check_attach_btf_id()` of `kernel/bpf/verifier.c`. It is kept as
//! the section that libbpf reads it from.

use super::{refused, Ctx, Errno, Played, Program, Refused};
use crate::bpf::uapi::{attach, prog, prog_flag};
use rota_object::btf::{Kind, Type, TypeId};

impl Played {
    /// The section of a program that is loaded. Probes and raw tracepoints have their target only
    /// when they are attached.
    pub(super) fn section(
        &self,
        program: &Program,
        target_fd: i32,
        c: &Ctx<'_, '_>,
    ) -> Result<String, Refused> {
        let has_target = program.target.0 != 0;
        let takes_target =
            matches!(program.kind, prog::TRACING | prog::LSM | prog::STRUCT_OPS | prog::EXT);
        if (has_target && !takes_target) || (!has_target && target_fd != 0) {
            return Err(Errno::EINVAL.into());
        }
        let sleepable = if program.flags & prog_flag::SLEEPABLE != 0 { ".s" } else { "" };
        match program.kind {
            prog::STRUCT_OPS => {
                let member = self.callback(program.target, program.attach_type)?;
                Ok(format!("struct_ops{sleepable}/{member}"))
            }
            prog::TRACING | prog::LSM => {
                let name = self.traced(program, target_fd, c)?;
                Ok(match program.attach_type {
                    attach::TRACE_RAW_TP => format!("tp_btf/{name}"),
                    attach::TRACE_FENTRY => format!("fentry{sleepable}/{name}"),
                    attach::TRACE_FEXIT => format!("fexit{sleepable}/{name}"),
                    attach::MODIFY_RETURN => format!("fmod_ret{sleepable}/{name}"),
                    attach::TRACE_ITER => format!("iter{sleepable}/{name}"),
                    _ if program.kind == prog::LSM => format!("lsm{sleepable}/{name}"),
                    _ => return Err(Errno::EINVAL.into()),
                })
            }
            prog::EXT if target_fd == 0 => {
                refused(Errno::EINVAL, "Cannot replace kernel functions".into())
            }
            prog::EXT => Ok("freplace".into()),
            prog::SYSCALL if program.attach_type != 0 => Err(Errno::EINVAL.into()),
            // bpf_prog_load(): it runs in a system call, and may sleep
            prog::SYSCALL if sleepable.is_empty() => {
                refused(Errno::EINVAL, "Syscall programs can only be sleepable".into())
            }
            prog::SYSCALL => Ok("syscall".into()),
            prog::KPROBE => Ok("kprobe".into()),
            prog::TRACEPOINT => Ok("tp".into()),
            prog::RAW_TRACEPOINT | prog::RAW_TRACEPOINT_WRITABLE => Ok("raw_tp".into()),
            prog::PERF_EVENT => Ok("perf_event".into()),
            other => Ok(format!("type {other}")),
        }
    }

    /// `check_struct_ops_btf_id()`: the member's name.
    fn callback(&self, table: TypeId, index: u32) -> Result<String, Refused> {
        let known = self.table_wrapper(table).is_some();
        let (true, Type::Struct(ty)) = (known, self.btf.get(table)) else {
            let id = table.0;
            return refused(
                Errno::ENOTSUPP,
                format!("attach_btf_id {id} is not a supported struct"),
            );
        };
        let Some(member) = ty.member(index as usize) else {
            let name = ty.name;
            return refused(
                Errno::EINVAL,
                format!("attach to invalid member idx {index} of struct {name}"),
            );
        };
        let pointer = matches!(self.btf.resolved(member.ty), Type::Ptr(_));
        if !pointer || self.btf.func_proto(member.ty).is_none() {
            return refused(
                Errno::EINVAL,
                format!("attach to invalid member {}({index}) of struct {}", member.name, ty.name),
            );
        }
        Ok(member.name.to_owned())
    }

    /// `bpf_check_attach_target()`: the name of the function or tracepoint.
    fn traced(
        &self,
        program: &Program,
        target_fd: i32,
        c: &Ctx<'_, '_>,
    ) -> Result<String, Refused> {
        let id = program.target;
        if id.0 == 0 {
            return refused(Errno::EINVAL, "Tracing programs must provide btf_id".into());
        }
        let mut btf = &self.btf;
        if target_fd != 0 {
            // another program, or types of a module: there are none of modules
            let target = c.caller.object_of(target_fd)?;
            match self.objects.program(target) {
                Ok(target) => btf = &self.objects.types(target.btf.ok_or(Errno::EINVAL)?)?.btf,
                Err(_) => btf = &self.objects.types(target)?.btf,
            }
        }
        let (kind, name) = (btf.kind(id), btf.name(id));
        if program.attach_type == attach::TRACE_RAW_TP {
            if kind != Kind::Typedef {
                return refused(Errno::EINVAL, format!("attach_btf_id {} is not a typedef", id.0));
            }
            return match name.strip_prefix("btf_trace_") {
                Some(name) => Ok(name.to_owned()),
                None => refused(
                    Errno::EINVAL,
                    format!("attach_btf_id {} points to wrong type name {name}", id.0),
                ),
            };
        }
        if kind != Kind::Func {
            return refused(Errno::EINVAL, format!("attach_btf_id {} is not a function", id.0));
        }
        Ok(name.to_owned())
    }
}
