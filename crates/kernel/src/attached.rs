// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy that schedules the tasks of this machine.

use crate::exit::{self, Exit, Record};
use crate::kernel_log::KernelLog;
use crate::{globals, ops, sysfs, SHARES_MAP};
use libbpf_rs::{Link, MapCore, MapFlags, Object, Program};
use rota_object::image::{Image, Variable};
use rota_object::settings::SettingError;
use std::time::{Duration, Instant};

/// How long the kernel may take to let a policy go: it waits for every CPU and task.
const PATIENCE: Duration = Duration::from_secs(10);

/// A policy that schedules the tasks of this machine, until it is dropped or ejected.
#[derive(Debug)]
pub struct Attached {
    // Dropped first: the kernel goes back to its default scheduler.
    link: Option<Link>,
    /// Of other programs of the object.
    _others: Vec<Link>,
    object: Object,
    image: Image,
    record: Option<Record>,
    /// Since before it was attached.
    log: KernelLog,
    /// Number of schedulers that were attached, it included: with a higher one, it is gone.
    enable_seq: Option<u64>,
    /// Number of CPUs that had come and gone then.
    hotplug_seq: Option<u64>,
}

impl Attached {
    pub(crate) fn new(
        link: Link,
        others: Vec<Link>,
        object: Object,
        image: Image,
        record: Option<Record>,
        log: KernelLog,
    ) -> Self {
        let (enable_seq, hotplug_seq) = (sysfs::enable_seq(), sysfs::hotplug_seq());
        Self {
            link: Some(link),
            _others: others,
            object,
            image,
            record,
            log,
            enable_seq,
            hotplug_seq,
        }
    }

    /// The linked object, which types everything.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// libbpf's object: maps and programs.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Its programs, callbacks and others, by the names of their functions.
    pub fn programs(&self) -> impl Iterator<Item = Program<'_>> {
        self.object.progs()
    }

    /// How it left the kernel; `None` while it schedules.
    pub fn exit(&self) -> Option<Exit> {
        // In this order: the record is written before the state changes.
        let gone = sysfs::state().is_none_or(|s| s == "disabled")
            || sysfs::enable_seq() != self.enable_seq;
        let recorded = self.recorded();
        if recorded.is_some() || !gone {
            return recorded;
        }
        Some(self.logged().unwrap_or_else(Exit::unknown))
    }

    /// What the object recorded.
    fn recorded(&self) -> Option<Exit> {
        let record = self.record.as_ref()?;
        let exit = record.read(&self.image.btf, &self.read_variable(&record.name)?)?;
        let dump = self.read_variable(&record.dump()).unwrap_or_default();
        Some(Exit { dump: exit::text_of(&dump), ..exit })
    }

    /// What the kernel's log says.
    fn logged(&self) -> Option<Exit> {
        let exit = self.log.exit_of(ops::scheduler_name(&self.image))?;
        // The log does not tell the exit code.
        let hotplug = sysfs::hotplug_seq() != self.hotplug_seq;
        Some(if hotplug { exit.because_of_hotplug() } else { exit })
    }

    /// Takes the policy out of the kernel, which returns to its default scheduler.
    pub fn detach(mut self) -> Exit {
        let before = self.exit();
        drop(self.link.take());
        let start = Instant::now();
        // Another scheduler can be loaded only when the state is back to this.
        while sysfs::state().is_some_and(|s| s != "disabled") && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let exit = before.or_else(|| self.recorded()).or_else(|| self.logged());
        exit.unwrap_or_else(Exit::by_user)
    }

    /// The present bytes of a global variable.
    pub fn read_variable(&self, name: &str) -> Option<Vec<u8>> {
        globals::read(&self.object, &self.image, self.variable(name)?)
    }

    /// Overwrites a global variable that is not constant, with bytes of its size.
    pub fn write_variable(&self, name: &str, bytes: &[u8]) -> Result<(), SettingError> {
        let refuse = |why: &str| SettingError::Refused { name: name.into(), why: why.into() };
        let variable = self.variable(name).ok_or_else(|| refuse("is not a global variable"))?;
        match globals::write(&self.object, &self.image, variable, bytes) {
            true => Ok(()),
            false => Err(refuse("cannot be changed while the policy runs")),
        }
    }

    /// The shares of threads that are set now, by pid.
    pub fn shares(&self) -> Vec<(u32, u64)> {
        let Some(map) = self.object.maps().find(|m| m.name() == SHARES_MAP) else {
            return Vec::new();
        };
        let entry = |key: Vec<u8>| {
            let share = map.lookup(&key, MapFlags::ANY).ok()??;
            Some((
                u32::from_le_bytes(key.try_into().ok()?),
                u64::from_le_bytes(share.try_into().ok()?),
            ))
        };
        map.keys().filter_map(entry).collect()
    }

    fn variable(&self, name: &str) -> Option<&Variable> {
        self.image.variables.iter().find(|v| v.name == name)
    }
}
