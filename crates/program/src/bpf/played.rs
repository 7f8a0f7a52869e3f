// SPDX-License-Identifier: MIT OR Apache-2.0
//! The played kernel's state, and which command does what.

use super::attr::Attr;
use super::objects::{Object, ObjectId, Objects, Types};
use super::recorder::Recorder;
use super::uapi::cmd;
use super::{Caller, Reply};
use crate::Errno;
use rota_machine::kernel::Kernel;
use rota_machine::user_half::Live;
use rota_object::btf::Btf;
use rota_object::image::{FuncId, MapId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The first release with `BPF_PROG_ASSOC_STRUCT_OPS`, 7.0.
const ASSOCIATES: u32 = 7 << 16;

/// A kernel's `bpf(2)`.
#[derive(Debug)]
pub struct Played {
    /// `LINUX_VERSION_CODE`.
    version: u32,
    /// What the kernel shows: ids of programs' targets and kernel functions are of these.
    pub(super) btf: Arc<Btf>,
    btf_file: Arc<[u8]>,
    /// Possible CPUs: how many values a key of a per-CPU map has.
    pub(super) cpus: u32,
    pub(super) objects: Objects,
    /// By path.
    pub(super) pinned: BTreeMap<String, ObjectId>,
    /// The map of the scheduler's table that is registered, or is once there is a machine.
    pub(super) table: Option<ObjectId>,
    /// It is registered.
    pub(super) attached: bool,
    /// The machine has yet to attach it.
    pub(super) attaching: bool,
    /// Types of the object that the next image is of, if no table says which that is.
    pub(super) wanted: Option<ObjectId>,
    /// Maps of objects that the machine had before the one that it has.
    pub(super) former: BTreeSet<ObjectId>,
    pub(super) notes: Vec<String>,
    /// Steps of the set-up, if they are wanted.
    pub(super) recorder: Option<Recorder>,
    /// Maps and programs of the image, by object.
    pub(super) in_machine: Option<InMachine>,
}

/// What the machine has.
#[derive(Debug, Default)]
pub(super) struct InMachine {
    pub(super) maps: BTreeMap<ObjectId, MapId>,
    pub(super) programs: BTreeMap<ObjectId, FuncId>,
    /// Contents were put there.
    pub(super) filled: bool,
    /// Bytes of mapped maps as both sides had them last.
    pub(super) synced: BTreeMap<ObjectId, Vec<u8>>,
    /// Maps of which the machine has the very pages of the program.
    pub(super) shared: BTreeSet<ObjectId>,
    /// Pages of arenas that the machine had last.
    pub(super) arena_pages: BTreeMap<ObjectId, BTreeMap<u32, Vec<u8>>>,
    /// Arenas of which all pages were read.
    pub(super) read_whole: BTreeSet<ObjectId>,
    /// Of the runtime when arenas were the same on both sides: no code ran since.
    pub(super) settled_at: Option<u64>,
}

impl InMachine {
    pub(super) fn object_of_map(&self, map: u32) -> Option<ObjectId> {
        self.maps.iter().find(|(_, id)| id.0 == map).map(|(object, _)| *object)
    }

    pub(super) fn object_of_function(&self, func: u32) -> Option<ObjectId> {
        self.programs.iter().find(|(_, id)| id.0 == func).map(|(object, _)| *object)
    }
}

/// Who calls, and what there is to act on.
pub(super) struct Ctx<'a, 'b> {
    pub(super) caller: &'a mut dyn Caller,
    pub(super) live: Option<&'a mut Live<'b>>,
}

impl Played {
    /// A kernel with so many possible CPUs, in which nothing is loaded.
    pub fn new(kernel: &Kernel, cpus: u32) -> Self {
        let btf = Arc::new(kernel.shown_btf());
        let btf_file: Arc<[u8]> = btf.to_bytes().into();
        let mut objects = Objects::default();
        let (types, bytes) = (Arc::clone(&btf), Arc::clone(&btf_file));
        objects.add(Object::Types(Types { btf: types, bytes, of_kernel: true }));
        Self {
            version: rota_object::link::Kernel::kernel_version(kernel),
            btf,
            btf_file,
            cpus: cpus.max(1),
            objects,
            pinned: BTreeMap::new(),
            table: None,
            attached: false,
            attaching: false,
            wanted: None,
            former: BTreeSet::new(),
            notes: Vec::new(),
            recorder: None,
            in_machine: None,
        }
    }

    /// What `/sys/kernel/btf/vmlinux` shows.
    pub fn btf_file(&self) -> &[u8] {
        &self.btf_file
    }

    /// A call of `bpf(2)`. `live` is there once the machine is.
    ///
    /// # Errors
    /// The kernel's error numbers.
    pub fn call(
        &mut self,
        command: u32,
        attr: u64,
        size: u32,
        caller: &mut dyn Caller,
        live: Option<&mut Live<'_>>,
    ) -> Result<Reply, Errno> {
        let attr = &Attr::read(caller, attr, size)?;
        let c = &mut Ctx { caller, live };
        match command {
            cmd::MAP_CREATE => self.map_create(attr, c),
            cmd::MAP_LOOKUP_ELEM => self.map_lookup(attr, c),
            cmd::MAP_UPDATE_ELEM => self.map_update(attr, c),
            cmd::MAP_DELETE_ELEM => self.map_delete(attr, c),
            cmd::MAP_GET_NEXT_KEY => self.map_next_key(attr, c),
            cmd::MAP_LOOKUP_AND_DELETE_ELEM => self.map_lookup_and_delete(attr, c),
            cmd::MAP_FREEZE => self.map_freeze(attr, c),
            cmd::MAP_LOOKUP_BATCH => self.map_lookup_batch(attr, c, false),
            cmd::MAP_LOOKUP_AND_DELETE_BATCH => self.map_lookup_batch(attr, c, true),
            cmd::MAP_UPDATE_BATCH => self.map_update_batch(attr, c),
            cmd::MAP_DELETE_BATCH => self.map_delete_batch(attr, c),
            cmd::PROG_LOAD => self.prog_load(attr, c),
            cmd::PROG_BIND_MAP => self.prog_bind_map(attr, c),
            cmd::PROG_TEST_RUN => self.prog_run(attr, c),
            cmd::BTF_LOAD => self.btf_load(attr, c),
            cmd::OBJ_PIN => self.pin(attr, c),
            cmd::OBJ_GET => self.pinned_object(attr, c),
            cmd::OBJ_GET_INFO_BY_FD => self.info(attr, c),
            cmd::MAP_GET_NEXT_ID
            | cmd::PROG_GET_NEXT_ID
            | cmd::BTF_GET_NEXT_ID
            | cmd::LINK_GET_NEXT_ID => self.next_id(command, attr, c),
            cmd::MAP_GET_FD_BY_ID
            | cmd::PROG_GET_FD_BY_ID
            | cmd::BTF_GET_FD_BY_ID
            | cmd::LINK_GET_FD_BY_ID => self.object_by_id(command, attr),
            cmd::LINK_CREATE => self.link_create(attr, c),
            cmd::LINK_UPDATE => self.link_update(attr, c),
            cmd::LINK_DETACH => self.link_detach(attr, c),
            cmd::RAW_TRACEPOINT_OPEN => self.raw_tracepoint_open(attr, c),
            cmd::ENABLE_STATS => self.enable_stats(attr),
            cmd::PROG_ASSOC_STRUCT_OPS if self.version >= ASSOCIATES => self.associate(attr, c),
            // bpf_token_create(): the played file systems delegate nothing
            cmd::TOKEN_CREATE => Err(Errno::EOPNOTSUPP),
            _ => Err(Errno::EINVAL),
        }
    }

    /// The machine has attached what was to be attached, or refused it.
    pub fn settled(&mut self) {
        self.attaching = false;
    }

    /// Whether an image was made that the machine has not been filled for.
    pub fn is_to_fill(&self) -> bool {
        self.in_machine.as_ref().is_some_and(|machine| !machine.filled)
    }

    /// What of the calls so far has no effect in the machine.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A descriptor's object, for `add_fd`.
    pub(super) fn descriptor(&self, id: ObjectId) -> Reply {
        let pages = match self.objects.get(id) {
            Some(Object::Map(map)) => map.mapped_bytes(),
            _ => 0,
        };
        Reply::Descriptor { id, pages }
    }
}
