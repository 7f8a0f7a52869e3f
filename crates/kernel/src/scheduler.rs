// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy that is linked and set up, but not in the kernel yet.

use crate::error::LoadError;
use crate::exit::Record;
use crate::loaded::Loaded;
use crate::ops::{self, Adjust};
use crate::{globals, live, sysfs, Attached, SHARES_MAP};
use libbpf_rs::{AsRawLibbpf, MapCore, MapFlags, ObjectBuilder, OpenObject};
use rota_object::image::{map_type, Image};

/// How a policy is brought into the kernel.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Tunables and other globals, `(path, value)`, as `rota sim --set` takes them.
    pub settings: Vec<(String, String)>,
    /// Shares of threads, `(pid, share)`, that override their weights.
    pub shares: Vec<(u32, u64)>,
    /// Schedule only tasks with the policy `SCHED_EXT`.
    pub partial: bool,
    /// Bytes of the debug dump when the policy is ejected; 0: the kernel's default.
    pub exit_dump_len: u32,
    /// [`sysfs::hotplug_seq`] before the CPUs were looked at, if
    /// they were. When it is another one later, the kernel asks for a restart.
    pub hotplug_seq: Option<u64>,
    /// Keep all that libbpf and the verifier say, also where nothing is wrong.
    pub verbose: bool,
}

/// A policy that is linked and set up, but not in the kernel yet.
#[derive(Debug)]
pub struct Scheduler {
    object: Vec<u8>,
    image: Image,
    options: LoadOptions,
}

/// `BPF_F_LINK`: the table is registered by a link, so that it goes with this process.
const BPF_F_LINK: u32 = 1 << 13;

impl Scheduler {
    /// Links an object against the running kernel and makes the settings.
    pub fn open(object: &[u8], name: &str, options: &LoadOptions) -> Result<Self, LoadError> {
        let mut image = live::link(object, name, &live::kernel_btf()?)?;
        for (path, value) in &options.settings {
            image.set_variable(path, value)?;
        }
        Ok(Self::with_image(object, image, options))
    }

    /// As [`open`](Self::open), with an image of that object to which more was done; the
    /// settings of the options are not made again.
    pub fn with_image(object: &[u8], image: Image, options: &LoadOptions) -> Self {
        Self { object: object.to_vec(), image, options: options.clone() }
    }

    /// The linked object, which types everything.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Loads the object and hands it to the scheduler core.
    pub fn attach(self) -> Result<Attached, LoadError> {
        self.load()?.attach()
    }

    /// Brings the object into the kernel, past the verifier, and fills the map of shares. It
    /// does not schedule yet.
    pub fn load(mut self) -> Result<Loaded, LoadError> {
        rota_libbpf_log::start(self.options.verbose);
        let name = self.image.name.clone();
        let refused = |what: &str, e: libbpf_rs::Error| LoadError::Refused {
            object: name.clone(),
            what: format!("{what}: {e:#}"),
            log: rota_libbpf_log::take(),
        };
        let unfit = |what: String| LoadError::Unfit { object: name.clone(), what };
        if !self.options.shares.is_empty() && self.image.map_named(SHARES_MAP).is_err() {
            return Err(unfit(format!("it has no map {SHARES_MAP}, so it supports no shares")));
        }
        let record = Record::of(&self.image);
        self.adjust(record.as_ref()).map_err(unfit)?;

        let mut builder = ObjectBuilder::default();
        let stem: String =
            name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let mut open = builder
            .name(&stem)
            .and_then(|b| b.open_memory(&self.object))
            .map_err(|e| refused("to open it", e))?;
        self.fill(&mut open).map_err(unfit)?;
        let object = open.load().map_err(|e| refused("to load it", e))?;
        let table = ops::table(&self.image).map(|t| t.name.clone()).unwrap_or_default();

        let shares = object.maps().find(|m| m.name() == SHARES_MAP);
        for (pid, share) in &self.options.shares {
            let (key, value) = (pid.to_le_bytes(), share.to_le_bytes());
            let Some(map) = &shares else { break };
            map.update(&key, &value, MapFlags::ANY)
                .map_err(|e| refused(&format!("a share of pid {pid}"), e))?;
        }
        let (log, verbose) = (rota_libbpf_log::take(), self.options.verbose);
        Ok(Loaded { object, image: self.image, record, table, log, verbose })
    }

    /// What depends on the moment: members of the ops table, the size of the debug dump.
    fn adjust(&mut self, record: Option<&Record>) -> Result<(), String> {
        let adjust = Adjust {
            partial: self.options.partial,
            exit_dump_len: self.options.exit_dump_len,
            hotplug_seq: self.options.hotplug_seq.or_else(sysfs::hotplug_seq),
        };
        ops::adjust(&mut self.image, adjust)?;
        let Some(record) = record else { return Ok(()) };
        let has = |name: &str| self.image.variables.iter().any(|v| v.name == name);
        if has(&record.dump()) && has(&record.dump_len()) {
            let table = ops::table(&self.image).map(|t| t.name.clone()).unwrap_or_default();
            let len = match ops::int(&self.image, &table, "exit_dump_len") as u32 {
                0 => DUMP_LEN,
                len => len,
            };
            self.image.resize_array(&record.dump(), len).map_err(|e| e.to_string())?;
            let set = self.image.set_variable(&record.dump_len(), &len.to_string());
            set.map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Copies the image's globals, sizes and ops table to libbpf's object.
    fn fill(&self, open: &mut OpenObject) -> Result<(), String> {
        let programs: Vec<(String, u64)> = open
            .progs()
            .map(|p| {
                let address = p.as_libbpf_object().as_ptr() as u64;
                (p.name().to_string_lossy().into_owned(), address)
            })
            .collect();
        for mut program in open.progs_mut() {
            let function = self.image.functions.iter().find(|f| program.name() == f.name.as_str());
            // a `?` before the section: not loaded
            let Some(section) = function.map(|function| function.section.as_str()) else {
                continue;
            };
            if !section.trim_start_matches('?').starts_with("struct_ops") {
                program.set_autoload(!section.starts_with('?'));
            }
        }
        let program = |name: &str| programs.iter().find(|(n, _)| n == name).map(|(_, at)| *at);
        for mut map in open.maps_mut() {
            let name = map.name().to_os_string();
            let fail = |e: libbpf_rs::Error| format!("map {}: {e}", name.to_string_lossy());
            if let Some(table) = self.image.struct_ops.iter().find(|t| name == t.name.as_str()) {
                map.set_map_flags(map.map_flags() | BPF_F_LINK).map_err(fail)?;
                if let Some(bytes) = map.initial_value_mut() {
                    ops::write(&self.image, table, bytes, &program)?;
                }
                continue;
            }
            let Some(def) = self.image.maps.iter().find(|d| globals::is_section(&name, &d.name))
            else {
                continue;
            };
            let Some(initial) = &def.initial else {
                if def.max_entries != map.max_entries() && def.kind != map_type::STRUCT_OPS {
                    map.set_max_entries(def.max_entries).map_err(fail)?;
                }
                continue;
            };
            if def.name == KCONFIG {
                continue; // libbpf knows this kernel's configuration, the image does not
            }
            if def.kind != map_type::ARENA && map.value_size() as usize != initial.len() {
                map.set_value_size(initial.len() as u32).map_err(fail)?;
            }
            if let Some(bytes) = map.initial_value_mut() {
                let len = bytes.len().min(initial.filled().len());
                bytes[..len].copy_from_slice(&initial.filled()[..len]);
                let end = bytes.len().min(initial.len());
                bytes[len..end].fill(0);
            }
        }
        Ok(())
    }
}

/// Bytes of a debug dump if nobody says otherwise: `SCX_EXIT_DUMP_DFL_LEN`.
const DUMP_LEN: u32 = 32768;
/// Section of the kernel's configuration values.
const KCONFIG: &str = ".kconfig";
