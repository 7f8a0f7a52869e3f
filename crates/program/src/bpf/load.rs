// SPDX-License-Identifier: MIT OR Apache-2.0
//! `BPF_PROG_LOAD`: `bpf_prog_load()`.

mod target;

use super::attr::{bytes, text, word, Attr};
use super::objects::{FuncInfo, LineInfo, Map, Object, ObjectId, Program};
use super::played::{Ctx, Played};
use super::table::Table;
use super::uapi::{prog, prog_flag};
use super::verify::{self, instructions, refused, wide, Refused, LDDW};
use super::Reply;
use crate::Errno;
use rota_object::btf::TypeId;
use rota_object::image::{map_type, Insn};
use std::collections::BTreeMap;

/// `BPF_COMPLEXITY_LIMIT_INSNS`.
const MOST_INSNS: u32 = 1_000_000;
/// `BPF_MAX_SUBPROGS`.
const MOST_FUNCTIONS: u32 = 256;
/// `MAX_FUNCINFO_REC_SIZE`, and that of lines.
const LARGEST_RECORD: u32 = 252;

/// Where the log goes.
struct Log {
    at: u64,
    size: u32,
    level: u32,
}

/// Records of a program's types.
struct Records {
    at: u64,
    count: u32,
    size: u32,
}

impl Played {
    pub(super) fn prog_load(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(168)?;
        let log = Log { at: attr.u64(32), size: attr.u32(28), level: attr.u32(24) };
        if !verify::log_is_sound(log.at, log.size, log.level) {
            return Err(Errno::EINVAL);
        }
        let result = self.loaded(attr, c);
        if log.level != 0 {
            let (text, errno) = match &result {
                Ok(program) => (summary(program), None),
                Err(Refused { errno, log }) => (log.clone(), Some(*errno)),
            };
            let full = verify::write_log(c.caller, log.at, log.size, &text)?;
            attr.answer(c.caller, 140, &full.to_le_bytes())?;
            // a log that was cut fails the call, but not the reason for it
            if errno.is_none() && log.at != 0 && full > log.size {
                return Err(Errno::ENOSPC);
            }
        }
        let program = result.map_err(|refused| refused.errno)?;
        let id = self.objects.add(Object::Program(program));
        Ok(self.descriptor(id))
    }

    fn loaded(&self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Program, Refused> {
        let (kind, count, flags) = (attr.u32(0), attr.u32(4), attr.u32(44));
        if flags & !prog_flag::ALL != 0 {
            return Err(Errno::EINVAL.into());
        }
        if flags & prog_flag::TOKEN_FD != 0 {
            return Err(c.caller.object_of(attr.fd(144)).err().unwrap_or(Errno::EINVAL).into());
        }
        if count == 0 || count > MOST_INSNS {
            return Err(Errno::E2BIG.into());
        }
        if kind == 0 || kind > prog::LAST {
            return Err(Errno::EINVAL.into());
        }
        let license = text(c.caller, attr.u64(16), 128, Errno::EINVAL)?;
        let code = bytes(c.caller, attr.u64(8), count as usize * Insn::SIZE)?;
        let code: Vec<Insn> = code
            .chunks_exact(Insn::SIZE)
            .filter_map(|slot| slot.first_chunk())
            .map(Insn::decode)
            .collect();
        let mut program = Program {
            name: attr.name(48)?,
            kind,
            flags,
            license,
            attach_type: attr.u32(68),
            target: TypeId(attr.u32(108)),
            section: String::new(),
            code,
            maps: BTreeMap::new(),
            bound: Vec::new(),
            btf: None,
            functions: Vec::new(),
            lines: Vec::new(),
        };
        program.section = self.section(&program, attr.fd(112), c)?;
        verify::shape(&program.code)?;
        self.add_types(attr, &mut program, c)?;
        self.add_maps(attr, &mut program, c)?;
        Ok(program)
    }

    /// `check_btf_info()`.
    fn add_types(
        &self,
        attr: &Attr,
        program: &mut Program,
        c: &Ctx<'_, '_>,
    ) -> Result<(), Refused> {
        let functions = Records { size: attr.u32(76), at: attr.u64(80), count: attr.u32(88) };
        let lines = Records { size: attr.u32(92), at: attr.u64(96), count: attr.u32(104) };
        if functions.count == 0 && lines.count == 0 {
            return Ok(());
        }
        let id = c.caller.object_of(attr.fd(72))?;
        let types = self.objects.types(id)?;
        if types.of_kernel {
            return Err(Errno::EACCES.into());
        }
        program.btf = Some(id);
        if functions.count > MOST_FUNCTIONS {
            return refused(Errno::E2BIG, "too many subprograms".into());
        }
        let slots = program.code.len() as u32;
        for record in functions.read(8, slots, c)? {
            let info = FuncInfo { slot: word(&record, 0), ty: TypeId(word(&record, 4)) };
            let after = program.functions.last().is_none_or(|last| last.slot < info.slot);
            let first = !program.functions.is_empty() || info.slot == 0;
            if !after || !first || info.slot >= slots {
                return refused(Errno::EINVAL, "func_info has an invalid insn_off".into());
            }
            if types.btf.func_proto(info.ty).is_none() {
                return refused(
                    Errno::EINVAL,
                    format!("invalid type id {} in func info", info.ty.0),
                );
            }
            program.functions.push(info);
        }
        for record in lines.read(16, slots, c)? {
            let line = LineInfo {
                slot: word(&record, 0),
                file: word(&record, 4),
                text: word(&record, 8),
                // the column is in the lower bits
                line: word(&record, 12) >> 10,
            };
            let after = program.lines.last().is_none_or(|last| last.slot < line.slot);
            if !after || line.slot >= slots {
                return refused(Errno::EINVAL, "line_info has an invalid insn_off".into());
            }
            program.lines.push(line);
        }
        Ok(())
    }

    /// `resolve_pseudo_ldimm64()`: maps that the code names by descriptors of this moment.
    fn add_maps(&self, attr: &Attr, program: &mut Program, c: &Ctx<'_, '_>) -> Result<(), Refused> {
        let (fds, count) = (attr.u64(120), attr.u32(148));
        let fd_at = |index: u32| -> Result<i32, Refused> {
            if fds == 0 {
                return refused(Errno::EPERM, "fd_idx without fd_array is invalid".into());
            }
            let at = fds.wrapping_add(u64::from(index) * 4);
            Ok(word(&bytes(c.caller, at, 4)?, 0) as i32)
        };
        for index in 0..count.min(u32::from(u16::MAX)) {
            let id = c.caller.object_of(fd_at(index)?)?;
            match self.objects.get(id) {
                Some(Object::Map(_)) => program.bound.push(id),
                Some(Object::Types(_)) => {}
                _ => return refused(Errno::EINVAL, format!("Not a map or BTF object: {index}")),
            }
        }
        for (slot, insn) in instructions(&program.code) {
            if insn.op != LDDW {
                continue;
            }
            let fd = match insn.src {
                wide::MAP_FD | wide::MAP_VALUE => insn.imm,
                wide::MAP_IDX | wide::MAP_IDX_VALUE => fd_at(insn.imm as u32)?,
                _ => continue,
            };
            let Ok(id) = c.caller.object_of(fd) else {
                return refused(Errno::EBADF, format!("fd {fd} is not pointing to valid bpf_map"));
            };
            let map = self.objects.map(id)?;
            if matches!(insn.src, wide::MAP_VALUE | wide::MAP_IDX_VALUE) {
                let offset = program.code.get(slot + 1).map_or(0, |second| second.imm as u32);
                direct_value(map, offset)?;
            }
            program.maps.insert(slot as u32, id);
        }
        Ok(())
    }

    /// `bpf_prog_bind_map()`.
    pub(super) fn prog_bind_map(
        &mut self,
        attr: &Attr,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        attr.ends_at(12)?;
        if attr.u32(8) != 0 {
            return Err(Errno::EINVAL);
        }
        let program = c.caller.object_of(attr.fd(0))?;
        let map = c.caller.object_of(attr.fd(4))?;
        self.objects.map(map)?;
        let program = self.objects.program_mut(program)?;
        if !program.uses(map) {
            program.bound.push(map);
        }
        Ok(Reply::Value(0))
    }
}

impl Program {
    fn uses(&self, map: ObjectId) -> bool {
        self.bound.contains(&map) || self.maps.values().any(|used| *used == map)
    }

    /// Maps that it uses, each once, in the order in which it names them.
    pub(super) fn used_maps(&self) -> Vec<ObjectId> {
        let mut all = Vec::new();
        for map in self.maps.values().chain(&self.bound) {
            if !all.contains(map) {
                all.push(*map);
            }
        }
        all
    }
}

impl Records {
    fn read(&self, least: u32, slots: u32, c: &Ctx<'_, '_>) -> Result<Vec<Vec<u8>>, Refused> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        if self.size < least || self.size > LARGEST_RECORD || self.size % 4 != 0 {
            return Err(Errno::EINVAL.into());
        }
        if self.count > slots {
            return Err(Errno::EINVAL.into());
        }
        let all = bytes(c.caller, self.at, (self.count * self.size) as usize)?;
        Ok(all.chunks_exact(self.size as usize).map(<[u8]>::to_vec).collect())
    }
}

/// `map_direct_value_addr()` of arrays and arenas. Kernels before 7.0 refuse offsets from 2^29 on
/// with words by which libbpf knows that they do (`FEAT_LDIMM64_FULL_RANGE_OFF`). It then has an
/// arena's globals at its start, where pointers to them look like NULL; so all kernels count as new
/// ones here.
fn direct_value(map: &Map, offset: u32) -> Result<(), Refused> {
    let bytes = match (map.kind, &map.table) {
        (map_type::ARENA, _) => u64::from(map.max_entries) * 4096,
        (map_type::ARRAY, Table::Array { .. } | Table::Pages) if map.max_entries == 1 => {
            u64::from(map.value_size)
        }
        _ => 0,
    };
    if u64::from(offset) < bytes {
        return Ok(());
    }
    let size = map.value_size;
    refused(
        Errno::EINVAL,
        format!("invalid access to map value pointer, value_size={size} off={offset}"),
    )
}

/// The last line of a verifier's log. Nothing here counts states.
fn summary(program: &Program) -> String {
    format!("processed {} insns (limit {MOST_INSNS})\n", program.code.len())
}
