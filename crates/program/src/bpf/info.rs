// SPDX-License-Identifier: MIT OR Apache-2.0
//! `BPF_OBJ_GET_INFO_BY_FD`: what the kernel says of an object (`bpf_map_get_info_by_fd()` and those
//! like it).

use super::attr::{bytes, word, Attr};
use super::objects::{Link, Map, Object, ObjectId, Program, Types};
use super::played::{Ctx, Played};
use super::uapi::{link, prog, NAME_LEN};
use super::Reply;
use crate::Errno;
use rota_object::image::Insn;

/// Bytes of `struct bpf_map_info`, `bpf_prog_info`, `bpf_btf_info` and `bpf_link_info`.
const MAP: usize = 104;
const PROGRAM: usize = 232;
const TYPES: usize = 32;
const LINK: usize = 64;

/// The info struct that a call is about, with what the caller has put there.
struct Info {
    at: u64,
    bytes: Vec<u8>,
}

impl Info {
    /// `bpf_check_uarg_tail_zero()`, and what is there.
    fn read(c: &Ctx<'_, '_>, at: u64, len: u32, size: usize) -> Result<Self, Errno> {
        if len > 4096 {
            return Err(Errno::E2BIG);
        }
        let mut all = bytes(c.caller, at, len as usize)?;
        let known = all.len().min(size);
        if all[known..].iter().any(|byte| *byte != 0) {
            return Err(Errno::E2BIG);
        }
        all.truncate(known);
        Ok(Self { at, bytes: all })
    }

    fn u32(&self, at: usize) -> u32 {
        word(&self.bytes, at)
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from(self.u32(at)) | u64::from(self.u32(at + 4)) << 32
    }

    /// Stores bytes, those that the caller has room for.
    fn put(&mut self, at: usize, bytes: &[u8]) {
        for (place, byte) in self.bytes.iter_mut().skip(at).zip(bytes) {
            *place = *byte;
        }
    }

    fn put_u32(&mut self, at: usize, value: u32) {
        self.put(at, &value.to_le_bytes());
    }

    fn put_u64(&mut self, at: usize, value: u64) {
        self.put(at, &value.to_le_bytes());
    }

    fn put_name(&mut self, at: usize, name: &str) {
        let mut bytes = [0; NAME_LEN];
        let len = name.len().min(NAME_LEN - 1);
        bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
        self.put(at, &bytes);
    }

    /// A list behind a pointer: as much of it as the caller has room for, and its true length.
    fn put_list(
        &mut self,
        c: &mut Ctx<'_, '_>,
        (pointer, count): (usize, usize),
        records: &[Vec<u8>],
    ) -> Result<(), Errno> {
        let (at, room) = (self.u64(pointer), self.u32(count) as usize);
        self.put_u32(count, records.len() as u32);
        if at != 0 && room != 0 {
            c.caller.write(at, &records[..room.min(records.len())].concat())?;
        }
        Ok(())
    }

    /// A text behind a pointer (`bpf_copy_to_user()`).
    fn put_text(
        &mut self,
        c: &mut Ctx<'_, '_>,
        (pointer, len): (usize, usize),
        text: &str,
    ) -> Result<(), Errno> {
        let (at, room) = (self.u64(pointer), self.u32(len) as usize);
        if (at == 0) != (room == 0) {
            return Err(Errno::EINVAL);
        }
        self.put_u32(len, text.len() as u32 + 1);
        if at == 0 {
            return Ok(());
        }
        let kept = text.len().min(room - 1);
        let mut bytes = text.as_bytes()[..kept].to_vec();
        bytes.push(0);
        c.caller.write(at, &bytes)?;
        if kept < text.len() {
            return Err(Errno::ENOSPC);
        }
        Ok(())
    }
}

impl Played {
    pub(super) fn info(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(16)?;
        let (len, at) = (attr.u32(4), attr.u64(8));
        let id = c.caller.object_of(attr.fd(0))?;
        let info = match self.objects.get(id).ok_or(Errno::EINVAL)? {
            Object::Map(map) => map_info(id, map, Info::read(c, at, len, MAP)?),
            Object::Program(program) => {
                program_info(id, program, Info::read(c, at, len, PROGRAM)?, c)?
            }
            Object::Types(types) => types_info(id, types, Info::read(c, at, len, TYPES)?, c)?,
            Object::Statistics => return Err(Errno::EINVAL),
            Object::Link(link) => self.link_info(id, link, Info::read(c, at, len, LINK)?, c)?,
        };
        c.caller.write(info.at, &info.bytes)?;
        attr.answer(c.caller, 4, &(info.bytes.len() as u32).to_le_bytes())?;
        Ok(Reply::Value(0))
    }

    fn link_info(
        &self,
        id: ObjectId,
        this: &Link,
        mut info: Info,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Info, Errno> {
        let (asked, room) = (info.u64(16), info.u32(24));
        info.bytes.fill(0);
        info.put_u32(0, this.kind);
        info.put_u32(4, id.0);
        match this.kind {
            link::STRUCT_OPS => info.put_u32(16, this.what.0),
            link::RAW_TRACEPOINT => {
                info.put_u64(16, asked);
                info.put_u32(24, room);
                info.put_u64(32, this.cookie);
                info.put_text(c, (16, 24), &this.name)?;
            }
            link::TRACING => {
                info.put_u32(16, this.attach_type);
                // the kernel's types are the first object
                info.put_u32(20, 1);
                info.put_u32(24, this.target.0);
                info.put_u64(32, this.cookie);
            }
            _ => {}
        }
        if this.kind != link::STRUCT_OPS {
            info.put_u32(8, this.what.0);
        }
        Ok(info)
    }
}

fn map_info(id: ObjectId, map: &Map, mut info: Info) -> Info {
    info.bytes.fill(0);
    let words = [map.kind, id.0, map.key_size, map.value_size, map.max_entries, map.flags];
    for (at, word) in words.into_iter().enumerate() {
        info.put_u32(at * 4, word);
    }
    info.put_name(24, &map.name);
    info.put_u32(44, map.kernel_type.0);
    if let Some(btf) = map.btf {
        info.put_u32(64, btf.0);
        info.put_u32(68, map.key_type.0);
        info.put_u32(72, map.value_type.0);
    }
    if map.kernel_type.0 != 0 {
        info.put_u32(76, 1);
    }
    info.put_u64(80, map.extra);
    info
}

fn program_info(
    id: ObjectId,
    program: &Program,
    mut info: Info,
    c: &mut Ctx<'_, '_>,
) -> Result<Info, Errno> {
    info.put_u32(0, program.kind);
    info.put_u32(4, id.0);
    // the sum of its code that the kernel has there depends on nothing else either
    info.put(8, &tag(&program.code));
    // nothing is compiled, and the code is not shown
    for at in [16, 20, 104, 108, 168] {
        info.put_u32(at, 0);
    }
    info.put_u64(40, 0);
    info.put_u32(48, 0);
    let maps = program.used_maps();
    let maps: Vec<Vec<u8>> = maps.iter().map(|map| map.0.to_le_bytes().to_vec()).collect();
    info.put_list(c, (56, 52), &maps)?;
    info.put_name(64, &program.name);
    info.put_u32(80, 0);
    let is_gpl = matches!(
        program.license.as_str(),
        "GPL"
            | "GPL v2"
            | "GPL and additional rights"
            | "Dual BSD/GPL"
            | "Dual MIT/GPL"
            | "Dual MPL/GPL"
    );
    info.put_u32(84, is_gpl.into());
    info.put_u64(88, 0);
    info.put_u64(96, 0);
    info.put_u32(128, program.btf.map_or(0, |btf| btf.0));
    info.put_u32(132, 8);
    let functions: Vec<Vec<u8>> =
        program.functions.iter().map(|function| words(&[function.slot, function.ty.0])).collect();
    info.put_list(c, (136, 144), &functions)?;
    let lines: Vec<Vec<u8>> = program
        .lines
        .iter()
        .map(|line| words(&[line.slot, line.file, line.text, line.line << 10]))
        .collect();
    info.put_list(c, (152, 148), &lines)?;
    info.put_u32(172, 16);
    info.put_u32(176, 8);
    info.put_u32(180, 0);
    for at in [192, 200, 208] {
        info.put_u64(at, 0);
    }
    info.put_u32(216, program.code.len() as u32);
    let of_kernel = program.target.0 != 0 && program.kind != prog::EXT;
    info.put_u32(220, of_kernel.into());
    info.put_u32(224, program.target.0);
    Ok(info)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Eight bytes that differ where code does.
fn tag(code: &[Insn]) -> [u8; 8] {
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    for insn in code {
        let fields = [u64::from(insn.op), insn.dst.into(), insn.src.into(), insn.off as u64];
        for field in fields.into_iter().chain([insn.imm as u64]) {
            sum = (sum ^ field).wrapping_mul(0x0100_0000_01b3);
        }
    }
    sum.to_le_bytes()
}

fn types_info(
    id: ObjectId,
    types: &Types,
    mut info: Info,
    c: &mut Ctx<'_, '_>,
) -> Result<Info, Errno> {
    let (at, room) = (info.u64(0), info.u32(8) as usize);
    let name = if types.of_kernel { "vmlinux" } else { "" };
    let (name_at, name_room) = (info.u64(16), info.u32(24));
    info.bytes.fill(0);
    info.put_u64(0, at);
    let shown = types.bytes.len().min(room);
    if at != 0 {
        c.caller.write(at, &types.bytes[..shown])?;
    }
    info.put_u32(8, types.bytes.len() as u32);
    info.put_u32(12, id.0);
    info.put_u64(16, name_at);
    info.put_u32(24, name_room);
    info.put_u32(28, types.of_kernel.into());
    info.put_text(c, (16, 24), name)?;
    Ok(info)
}
