// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links: `link_create()`, `bpf_raw_tracepoint_open()`, and their ends.

use super::attr::{text, Attr};
use super::objects::{Link, Object, ObjectId, Program};
use super::played::{Ctx, Played};
use super::struct_ops::is_scheduler;
use super::table::Table;
use super::uapi::{attach, link, map_flag, prog};
use super::Reply;
use crate::Errno;
use rota_object::btf::TypeId;

/// Longest name of a tracepoint here, with its end.
const NAME: usize = 128;

impl Played {
    pub(super) fn link_create(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(64)?;
        let (fd, target_fd, attach_type, flags) =
            (attr.fd(0), attr.fd(4), attr.u32(8), attr.u32(12));
        if attach_type == attach::STRUCT_OPS {
            return self.table_link(fd, flags, c);
        }
        let id = c.caller.object_of(fd)?;
        let program = self.objects.program(id)?;
        let (kind, expected) = (program.kind, program.attach_type);
        match (kind, attach_type) {
            (prog::TRACING | prog::LSM, _) if attach_type != expected => Err(Errno::EINVAL),
            (prog::TRACING, attach::TRACE_ITER) => Err(Errno::EOPNOTSUPP),
            // tracing.cookie
            (prog::TRACING | prog::LSM, _) if flags != 0 => Err(Errno::EINVAL),
            (prog::TRACING | prog::LSM, _) => self.tracing_link(id, attr.u64(24), c),
            (prog::KPROBE | prog::TRACEPOINT | prog::PERF_EVENT, attach::PERF_EVENT) => {
                if flags != 0 {
                    return Err(Errno::EINVAL);
                }
                let section = c.caller.probe_of(target_fd)?;
                self.place(id, section.clone())?;
                let link = Link {
                    kind: link::PERF_EVENT,
                    what: id,
                    attach_type,
                    target: TypeId(0),
                    name: section,
                    cookie: attr.u64(16),
                    attached: true,
                };
                Ok(self.add_link(link))
            }
            // bpf_uprobe_multi_link_attach(): its checks in their order, by which libbpf knows
            // whether there is such a thing; tasks run no code that could have probes
            (prog::KPROBE, attach::TRACE_UPROBE_MULTI) => match attr.fd(56) {
                ..0 => Err(Errno::EINVAL),
                _ => Err(Errno::EBADF),
            },
            (prog::KPROBE, attach::TRACE_KPROBE_MULTI) => Err(Errno::EOPNOTSUPP),
            _ => Err(Errno::EINVAL),
        }
    }

    /// `bpf_struct_ops_link_create()`.
    fn table_link(&mut self, fd: i32, flags: u32, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        let id = c.caller.object_of(fd)?;
        let map = self.objects.map(id)?;
        let ready = matches!(map.table, Table::StructOps(Some(_)));
        if !ready || map.flags & map_flag::LINK == 0 || flags != 0 {
            return Err(Errno::EINVAL);
        }
        let table = self.table_type(map.kernel_type).map_or("", |(table, _)| self.btf.name(table));
        let link = Link {
            kind: link::STRUCT_OPS,
            what: id,
            attach_type: attach::STRUCT_OPS,
            target: map.kernel_type,
            name: map.name.clone(),
            cookie: 0,
            attached: true,
        };
        if !is_scheduler(table) {
            let what =
                format!("struct_ops {}: the machine has no callbacks but sched_ext's", map.name);
            self.notes.push(what);
            return Ok(self.add_link(link));
        }
        match self.register(id, c)? {
            None => Ok(Reply::NeedsMachine),
            Some(table) => {
                Ok(Reply::Attached { id: Some(self.objects.add(Object::Link(link))), table })
            }
        }
    }

    fn add_link(&mut self, link: Link) -> Reply {
        let id = self.objects.add(Object::Link(link));
        self.descriptor(id)
    }

    /// `bpf_tracing_prog_attach()` and `bpf_raw_tp_link_attach()` of a program with a target.
    fn tracing_link(
        &mut self,
        id: ObjectId,
        cookie: u64,
        _: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        let program = self.objects.program(id)?;
        let (attach_type, target) = (program.attach_type, program.target);
        let already = |link: &Link| link.attached && link.what == id;
        if self.objects.links_mut().any(|(_, link)| already(link)) {
            return Err(Errno::EBUSY);
        }
        let program = self.objects.program(id)?;
        let link = Link {
            kind: link::TRACING,
            what: id,
            attach_type,
            target,
            name: program.section.clone(),
            cookie,
            attached: true,
        };
        Ok(self.add_link(link))
    }

    pub(super) fn raw_tracepoint_open(
        &mut self,
        attr: &Attr,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        attr.ends_at(24)?;
        let id = c.caller.object_of(attr.fd(8))?;
        let Program { kind, attach_type, target, .. } = *self.objects.program(id)?;
        let (name_at, cookie) = (attr.u64(0), attr.u64(16));
        match kind {
            prog::TRACING | prog::LSM | prog::EXT if name_at != 0 => Err(Errno::EINVAL),
            prog::TRACING | prog::LSM => self.tracing_link(id, cookie, c),
            prog::RAW_TRACEPOINT | prog::RAW_TRACEPOINT_WRITABLE => {
                let name = text(c.caller, name_at, NAME, Errno::ENOENT)?;
                self.place(id, format!("raw_tp/{name}"))?;
                let kind = link::RAW_TRACEPOINT;
                Ok(self.add_link(Link {
                    kind,
                    what: id,
                    attach_type,
                    target,
                    name,
                    cookie,
                    attached: true,
                }))
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// Says where a program is, which its kind alone does not. The machine has it there if it is
    /// made later.
    fn place(&mut self, id: ObjectId, section: String) -> Result<(), Errno> {
        let later = self.in_machine.is_some();
        let program = self.objects.program_mut(id)?;
        if later {
            let name = &program.name;
            let what = format!("{name} ({section}) is attached after the scheduler: it never runs");
            self.notes.push(what);
        }
        self.objects.program_mut(id)?.section = section;
        Ok(())
    }

    /// `link_update()`: no link here takes another program or table (`bpf_scx_update()`).
    pub(super) fn link_update(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(16)?;
        self.objects.link(c.caller.object_of(attr.fd(0))?)?;
        match self.objects.link(c.caller.object_of(attr.fd(0))?)?.kind {
            link::STRUCT_OPS => Err(Errno::EOPNOTSUPP),
            _ => Err(Errno::EINVAL),
        }
    }

    /// `link_detach()`: tables only.
    pub(super) fn link_detach(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(4)?;
        let id = c.caller.object_of(attr.fd(0))?;
        if self.objects.link(id)?.kind != link::STRUCT_OPS {
            return Err(Errno::EOPNOTSUPP);
        }
        match self.closed(id) {
            true => Ok(Reply::Detached),
            false => Ok(Reply::Value(0)),
        }
    }

    /// The last descriptor of an object is closed; true if the scheduler is detached by that.
    /// Pinned objects stay.
    pub fn closed(&mut self, id: ObjectId) -> bool {
        if self.pinned.values().any(|pinned| *pinned == id) {
            return false;
        }
        let Ok(link) = self.objects.link_mut(id) else { return false };
        let was_attached = std::mem::replace(&mut link.attached, false);
        let (kind, what) = (link.kind, link.what);
        let ends = was_attached && kind == link::STRUCT_OPS && self.table == Some(what);
        self.attached &= !ends;
        ends
    }

    /// `bpf_enable_runtime_stats()`: run times are not told, as without it.
    pub(super) fn enable_stats(&mut self, attr: &Attr) -> Result<Reply, Errno> {
        attr.ends_at(4)?;
        match attr.u32(0) {
            0 => {
                let id = self.objects.add(Object::Statistics);
                Ok(self.descriptor(id))
            }
            _ => Err(Errno::EINVAL),
        }
    }
}
