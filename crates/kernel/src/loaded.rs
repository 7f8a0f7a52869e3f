// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy that the verifier let through, and that does not schedule yet: its maps can be
//! filled and its set-up programs run.

use crate::error::LoadError;
use crate::exit::Record;
use crate::kernel_log::KernelLog;
use crate::{fdinfo, inner_maps, Attached};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ProgramInput, ProgramType};
use rota_object::image::Image;
use std::os::fd::AsFd;

/// A policy in the kernel that does not schedule yet.
#[derive(Debug)]
pub struct Loaded {
    pub(crate) object: Object,
    pub(crate) image: Image,
    pub(crate) record: Option<Record>,
    pub(crate) table: String,
    pub(crate) log: String,
    pub(crate) verbose: bool,
}

impl Loaded {
    /// The linked object.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// What libbpf and the verifier said; complete if that was asked for.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// How many instructions the verifier followed in each program, on all paths together (its
    /// limit is a million). Empty before Linux 5.16.
    pub fn verified(&self) -> Vec<(String, u64)> {
        let loaded = self.object.progs().filter(|p| p.autoload());
        let followed = loaded.filter_map(|program| {
            let [insns] = fdinfo::numbers(program.as_fd(), ["verified_insns"])?;
            Some((program.name().to_string_lossy().into_owned(), insns))
        });
        followed.collect()
    }

    /// Puts an entry into a map.
    pub fn put(&self, map: &str, key: &[u8], value: &[u8]) -> Result<(), LoadError> {
        let found = self.object.maps().find(|m| m.name() == map);
        let found = found.ok_or_else(|| self.unfit(format!("it has no map '{map}'")))?;
        let done = found.update(key, value, MapFlags::ANY);
        done.map_err(|e| self.unfit(format!("map {map} does not take an entry: {e:#}")))
    }

    /// Runs a set-up program (`SEC("syscall")`) once; returns what it returned.
    pub fn run(&self, program: &str, context: &mut [u8]) -> Result<i32, LoadError> {
        let found = self.object.progs_mut().find(|p| p.name() == program);
        let found = found.ok_or_else(|| self.unfit(format!("it has no program '{program}'")))?;
        let context_in = (!context.is_empty()).then_some(context);
        let input = ProgramInput { context_in, ..ProgramInput::default() };
        let output = found.test_run(input);
        let output = output.map_err(|e| self.unfit(format!("program {program}: {e:#}")))?;
        Ok(output.return_value as i32)
    }

    /// Makes an inner map for each free slot of a map of maps, like its prototype.
    pub fn fill_inner_maps(&self, map: &str) -> Result<(), LoadError> {
        inner_maps::fill(&self.object, &self.image, map)
            .map_err(|why| self.unfit(format!("map {map}: {why}")))
    }

    /// Hands the ops table to the scheduler core: from now on the policy schedules. Other
    /// programs of the object that say where they belong are attached there before.
    pub fn attach(mut self) -> Result<Attached, LoadError> {
        rota_libbpf_log::start(self.verbose);
        let name = self.image.name.clone();
        let refused = |what: &str, e: libbpf_rs::Error| LoadError::Refused {
            object: name.clone(),
            what: format!("to attach {what}: {e:#}"),
            log: rota_libbpf_log::take(),
        };
        let others = self.attach_others().map_err(|(program, e)| refused(&program, e))?;
        let log = KernelLog::from_now();
        let attached = self
            .object
            .maps_mut()
            .find(|m| m.name() == self.table.as_str())
            .map(|mut map| map.attach_struct_ops().map_err(|e| refused("it", e)));
        let Some(link) = attached else {
            return Err(self.unfit(format!("libbpf knows no struct_ops map '{}'", self.table)));
        };
        Ok(Attached::new(link?, others, self.object, self.image, self.record, log))
    }

    /// Attaches tracing programs and the like, as libbpf skeletons do.
    fn attach_others(&self) -> Result<Vec<Link>, (String, libbpf_rs::Error)> {
        let mut links = Vec::new();
        for program in self.object.progs_mut() {
            let kind = program.prog_type();
            if matches!(kind, ProgramType::StructOps | ProgramType::Syscall) || !program.autoload()
            {
                continue;
            }
            match program.attach() {
                Ok(link) => links.push(link),
                // its section does not say where
                Err(e) if e.kind() == libbpf_rs::ErrorKind::Unsupported => {}
                Err(e) => return Err((program.name().to_string_lossy().into_owned(), e)),
            }
        }
        Ok(links)
    }

    fn unfit(&self, what: String) -> LoadError {
        LoadError::Unfit { object: self.image.name.clone(), what }
    }
}
