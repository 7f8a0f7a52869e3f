// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program with plain memory that calls `bpf(2)` as libbpf does.

use rota_machine::kernel::Kernel;
use rota_machine::user_half::Live;
use rota_program::bpf::{Caller, ObjectId, Played, Reply};
use rota_program::Errno;
use std::collections::BTreeMap;
use std::ops::Range;

const BASE: u64 = 0x10_0000;
const PAGE: u64 = 4096;
/// CPUs of the kernel.
pub(crate) const CPUS: u32 = 2;

/// Memory, descriptors, and files of maps.
#[derive(Default)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
    fds: BTreeMap<i32, ObjectId>,
    pub(crate) pages: BTreeMap<ObjectId, BTreeMap<u64, Vec<u8>>>,
    /// Where it has mapped an arena whose map does not say that.
    pub(crate) mapped_at: Option<u64>,
}

impl Memory {
    fn range(&self, address: u64, len: usize) -> Result<Range<usize>, Errno> {
        let start = address.checked_sub(BASE).ok_or(Errno::EFAULT)? as usize;
        let end = start.checked_add(len).filter(|end| *end <= self.bytes.len());
        Ok(start..end.ok_or(Errno::EFAULT)?)
    }

    /// Puts bytes somewhere, with room behind them for whoever reads too far.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = BASE + self.bytes.len() as u64;
        self.bytes.extend(bytes);
        let padded = self.bytes.len().next_multiple_of(64) + 64;
        self.bytes.resize(padded, 0);
        at
    }

    pub(crate) fn get(&self, address: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.read(address, &mut bytes).expect("mapped");
        bytes
    }
}

impl Caller for Memory {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), Errno> {
        to.copy_from_slice(&self.bytes[self.range(address, to.len())?]);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        let range = self.range(address, bytes.len())?;
        self.bytes[range].copy_from_slice(bytes);
        Ok(())
    }

    fn object_of(&self, fd: i32) -> Result<ObjectId, Errno> {
        // standard input is open, and of something else
        if fd == 0 {
            return Err(Errno::EINVAL);
        }
        self.fds.get(&fd).copied().ok_or(Errno::EBADF)
    }

    fn read_pages(&self, map: ObjectId, offset: u64, to: &mut [u8]) {
        let file = self.pages.get(&map);
        for (at, byte) in (offset..).zip(to) {
            let page = file.and_then(|file| file.get(&(at / PAGE)));
            *byte = page.map_or(0, |page| page[(at % PAGE) as usize]);
        }
    }

    fn write_pages(&mut self, map: ObjectId, offset: u64, bytes: &[u8]) {
        let file = self.pages.entry(map).or_default();
        for (at, byte) in (offset..).zip(bytes) {
            let page = file.entry(at / PAGE).or_insert_with(|| vec![0; PAGE as usize]);
            page[(at % PAGE) as usize] = *byte;
        }
    }

    fn data_in_pages(&self, map: ObjectId) -> Vec<Range<u64>> {
        let file = self.pages.get(&map);
        file.into_iter().flat_map(|file| file.keys()).map(|p| p * PAGE..(p + 1) * PAGE).collect()
    }

    fn mapped_at(&self, _: ObjectId) -> Option<u64> {
        self.mapped_at
    }

    fn touched(&self, _: u64, pages: u32) -> Vec<bool> {
        vec![true; pages as usize]
    }

    fn untouch(&mut self, _: ObjectId, _: u64, _: &[u8]) {}

    fn share_pages(&self, _: ObjectId, _: u32) -> Option<Box<dyn rota_vm::memory::SharedBytes>> {
        None
    }

    fn drop_pages(&mut self, map: ObjectId, range: Range<u64>) {
        if let Some(file) = self.pages.get_mut(&map) {
            file.retain(|page, _| !range.contains(&(page * PAGE)));
        }
    }

    fn probe_of(&self, fd: i32) -> Result<String, Errno> {
        match fd {
            PROBE => Ok("kprobe/try_to_wake_up".into()),
            _ => Err(Errno::EBADF),
        }
    }
}

/// The descriptor of a performance event.
pub(crate) const PROBE: i32 = 1000;

/// A program and the kernel that it calls.
pub(crate) struct Program {
    pub(crate) played: Played,
    pub(crate) memory: Memory,
}

/// Words of an argument struct at their offsets.
pub(crate) struct Words(Vec<u8>);

impl Words {
    pub(crate) fn new(size: usize) -> Self {
        Self(vec![0; size])
    }

    pub(crate) fn u32(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn u64(mut self, at: usize, value: u64) -> Self {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn fd(self, at: usize, fd: i32) -> Self {
        self.u32(at, fd as u32)
    }

    pub(crate) fn name(mut self, at: usize, name: &str) -> Self {
        self.0[at..at + name.len()].copy_from_slice(name.as_bytes());
        self
    }
}

/// A map as `bpf_map_create()` makes it.
#[derive(Clone, Copy, Default)]
pub(crate) struct NewMap {
    pub(crate) kind: u32,
    pub(crate) key: u32,
    pub(crate) value: u32,
    pub(crate) max: u32,
    pub(crate) flags: u32,
    pub(crate) name: &'static str,
    pub(crate) extra: u64,
    pub(crate) inner: i32,
    pub(crate) btf: i32,
    pub(crate) value_type: u32,
    pub(crate) kernel_type: u32,
}

/// A program as `bpf_prog_load()` loads it.
#[derive(Clone, Default)]
pub(crate) struct NewProgram {
    pub(crate) kind: u32,
    pub(crate) code: Vec<[u8; 8]>,
    pub(crate) name: &'static str,
    pub(crate) flags: u32,
    pub(crate) attach_type: u32,
    pub(crate) target: u32,
    pub(crate) btf: i32,
    /// Slot and type of each function.
    pub(crate) functions: Vec<(u32, u32)>,
    pub(crate) logs: bool,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self { played: Played::new(&Kernel::default(), CPUS), memory: Memory::default() }
    }

    /// A call; its arguments' address, too.
    pub(crate) fn call_with(
        &mut self,
        command: u32,
        words: Words,
        live: Option<&mut Live<'_>>,
    ) -> (u64, Result<Reply, Errno>) {
        let size = words.0.len() as u32;
        let at = self.memory.put(&words.0);
        (at, self.played.call(command, at, size, &mut self.memory, live))
    }

    pub(crate) fn call(&mut self, command: u32, words: Words) -> Result<Reply, Errno> {
        self.call_with(command, words, None).1
    }

    /// A new descriptor.
    pub(crate) fn open(&mut self, reply: Reply) -> i32 {
        let Reply::Descriptor { id, .. } = reply else { panic!("no descriptor: {reply:?}") };
        let fd = 3 + self.memory.fds.len() as i32;
        self.memory.fds.insert(fd, id);
        fd
    }

    pub(crate) fn map(&mut self, map: NewMap) -> Result<i32, Errno> {
        let words = Words::new(92)
            .u32(0, map.kind)
            .u32(4, map.key)
            .u32(8, map.value)
            .u32(12, map.max)
            .u32(16, map.flags)
            .fd(20, map.inner)
            .name(28, map.name)
            .fd(48, map.btf)
            .u32(56, map.value_type)
            .u32(60, map.kernel_type)
            .u64(64, map.extra);
        self.call(0, words).map(|reply| self.open(reply))
    }

    pub(crate) fn btf(&mut self, bytes: &[u8]) -> Result<i32, Errno> {
        let at = self.memory.put(bytes);
        let words = Words::new(40).u64(0, at).u32(16, bytes.len() as u32);
        self.call(18, words).map(|reply| self.open(reply))
    }

    /// Loads a program; its log, too.
    pub(crate) fn load(&mut self, program: NewProgram) -> (Result<i32, Errno>, String) {
        let code = self.memory.put(&program.code.concat());
        let license = self.memory.put(b"GPL\0");
        let info = program.functions.iter().flat_map(|(slot, ty)| [*slot, *ty]);
        let info = self.memory.put(&info.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
        let mut words = Words::new(168)
            .u32(0, program.kind)
            .u32(4, program.code.len() as u32)
            .u64(8, code)
            .u64(16, license)
            .u32(44, program.flags)
            .name(48, program.name)
            .u32(68, program.attach_type)
            .fd(72, program.btf)
            .u32(76, 8)
            .u64(80, info)
            .u32(88, program.functions.len() as u32)
            .u32(108, program.target);
        let log = self.memory.put(&[0; 1024]);
        if program.logs {
            words = words.u32(24, 1).u32(28, 1024).u64(32, log);
        }
        let result = self.call(5, words).map(|reply| self.open(reply));
        let log = self.memory.get(log, 1024);
        let end = log.iter().position(|byte| *byte == 0).expect("ends");
        (result, String::from_utf8_lossy(&log[..end]).into_owned())
    }

    /// A command on an entry: `value` is what it holds before, the result what it holds then.
    pub(crate) fn element(
        &mut self,
        command: u32,
        fd: i32,
        key: &[u8],
        value: &[u8],
        flags: u64,
        live: Option<&mut Live<'_>>,
    ) -> Result<(Vec<u8>, Reply), Errno> {
        let key_at = if key.is_empty() { 0 } else { self.memory.put(key) };
        let value_at = self.memory.put(value);
        let mut words = Words::new(32).fd(0, fd).u64(8, key_at).u64(16, value_at);
        words = words.u64(24, flags);
        let reply = self.call_with(command, words, live).1?;
        Ok((self.memory.get(value_at, value.len()), reply))
    }

    pub(crate) fn update(&mut self, fd: i32, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        self.element(2, fd, key, value, 0, None).map(|_| ())
    }

    /// The value at a key, of so many bytes.
    pub(crate) fn lookup(&mut self, fd: i32, key: &[u8], len: usize) -> Result<Vec<u8>, Errno> {
        self.element(1, fd, key, &vec![0; len], 0, None).map(|(value, _)| value)
    }

    pub(crate) fn delete(&mut self, fd: i32, key: &[u8]) -> Result<(), Errno> {
        self.element(3, fd, key, &[], 0, None).map(|_| ())
    }

    /// The key after one of the same length, or the first one of so many bytes.
    pub(crate) fn next_key(&mut self, fd: i32, key: &[u8], len: usize) -> Result<Vec<u8>, Errno> {
        let key_at = if key.is_empty() { 0 } else { self.memory.put(key) };
        let next = self.memory.put(&vec![0; len]);
        self.call(4, Words::new(24).fd(0, fd).u64(8, key_at).u64(16, next))?;
        Ok(self.memory.get(next, len))
    }

    /// `BPF_OBJ_GET_INFO_BY_FD` into a struct of so many bytes.
    pub(crate) fn info(&mut self, fd: i32, words: Words) -> Result<Vec<u8>, Errno> {
        let len = words.0.len();
        let info = self.memory.put(&words.0);
        self.call(15, Words::new(16).fd(0, fd).u32(4, len as u32).u64(8, info))?;
        Ok(self.memory.get(info, len))
    }
}

/// A little-endian word.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// An instruction.
pub(crate) fn insn(op: u8, dst: u8, src: u8, off: i16, imm: i32) -> [u8; 8] {
    let [off0, off1] = off.to_le_bytes();
    let [imm0, imm1, imm2, imm3] = imm.to_le_bytes();
    [op, src << 4 | dst, off0, off1, imm0, imm1, imm2, imm3]
}

/// `r0 = value; exit`.
pub(crate) fn returning(value: i32) -> Vec<[u8; 8]> {
    vec![insn(0xb7, 0, 0, 0, value), insn(0x95, 0, 0, 0, 0)]
}
