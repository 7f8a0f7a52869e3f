// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a machine file.

use crate::core_type::core_types;
use crate::costs::costs;
use crate::cpu_list::parse_cpu_list;
use crate::document::{Arrangement, CacheTable, CoreTable, Distances, Document, Grouped, Maybe};
use crate::error::MachineError;
use crate::kernel::settings;
use crate::numbers::*;
use crate::{Assumed, Machine};
use rota_machine::cpuset::MAX_CPUS;
use rota_machine::hardware::parts::{ByDistance, Cache, Ipi};
use rota_machine::hardware::Hardware;
use rota_machine::topology::{Place, Topology};
use rota_workload::WorkClass;
use std::fmt::Display;
use std::sync::Arc;
use toml::Spanned;

/// The version of files that is read and written.
pub(crate) const SCHEMA: u32 = 1;

/// Reads the text of a machine file; `file` is what errors call it.
pub fn parse(file: &str, text: &str) -> Result<Machine, MachineError> {
    let document: Document = toml::from_str(text).map_err(|error| malformed(file, text, &error))?;
    let mut read = Read { file, text, assumed: Vec::new() };
    if *document.schema.get_ref() != SCHEMA {
        return Err(read.refuse(&document.schema, "1, the only one there is"));
    }
    let topology = read.topology(document.topology.get_ref(), &document.core_type)?;
    let has_hardware = !document.core_type.is_empty()
        || document.cache.is_some()
        || document.task.is_some()
        || document.cost_ns.as_ref().is_some_and(|costs| costs.ipi.is_some());
    let kernel = settings(&read, document.kernel.as_ref())?;
    let (costs, ipi) = costs(&mut read, &document)?;
    let hardware = match has_hardware {
        false => None,
        true => Some(Arc::new(read.hardware(&document, &topology, ipi)?)),
    };
    let name = document.name.unwrap_or_else(|| stem(file));
    let source = document.source.unwrap_or_else(|| file.to_owned());
    Ok(Machine {
        name,
        source,
        topology,
        kernel,
        hardware,
        costs,
        assumed: read.assumed,
        notes: Vec::new(),
    })
}

/// Reads the keys of a machine file that are written as a JSON object, which begins at this line of
/// `file`. One without `schema` has the newest.
pub fn parse_json(file: &str, line: usize, json: &str) -> Result<Machine, MachineError> {
    let at = |what: String| MachineError { file: file.to_owned(), line: Some(line), what };
    let table: Result<toml::Table, _> = serde_json::from_str(json);
    let mut table = table.map_err(|error| at(format!("machine: {error}")))?;
    table.entry("schema").or_insert_with(|| i64::from(SCHEMA).into());
    table.entry("name").or_insert_with(|| stem(file).into());
    // The lines of what is parsed are not those of the file.
    parse(file, &table.to_string()).map_err(|error| at(format!("machine: {}", error.what)))
}

/// `big.toml` is called big.
fn stem(file: &str) -> String {
    let stem = std::path::Path::new(file).file_stem();
    stem.map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// What TOML or its types refuse: the line, the key, and what was meant by an unknown one.
fn malformed(file: &str, text: &str, error: &toml::de::Error) -> MachineError {
    let what = error.message();
    let mut quoted = what.split('`').skip(1).step_by(2);
    let meant = match (what.starts_with("unknown field"), quoted.next()) {
        (true, Some(typed)) => quoted
            .min_by_key(|known| strsim::damerau_levenshtein(typed, known))
            .filter(|known| strsim::damerau_levenshtein(typed, known) <= 1 + typed.len() / 2)
            .map(|known| format!(" (did you mean {known}?)")),
        _ => None,
    };
    let what = what.replace("unknown field", "unknown key").replace('`', "");
    let what = format!("{}{}", what.trim_end(), meant.unwrap_or_default());
    match error.span() {
        Some(span) => MachineError::at(file, text, span.start, what),
        None => MachineError::new(file, what),
    }
}

/// A file that is being read.
pub(crate) struct Read<'a> {
    file: &'a str,
    text: &'a str,
    assumed: Vec<Assumed>,
}

impl Read<'_> {
    /// An error at a value: its line and key, itself, and what is expected.
    pub(crate) fn refuse<T>(&self, at: &Spanned<T>, expected: &str) -> MachineError {
        let span = at.span();
        let before = self.text.get(..span.start).unwrap_or_default();
        let before = before.trim_end().trim_end_matches('=').trim_end();
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let key = &before[before.trim_end_matches(is_key).len()..];
        let value: String =
            self.text.get(span.clone()).unwrap_or_default().chars().take(60).collect();
        let key = if key.is_empty() { String::new() } else { format!("{key} = ") };
        let what = format!("{key}{value}: expected {expected}");
        MachineError::at(self.file, self.text, span.start, what)
    }

    /// A value that is not given.
    pub(crate) fn assume<T: Display>(&mut self, key: &str, value: T, from: &str) -> T {
        let (key, from) = (key.to_owned(), from.to_owned());
        self.assumed.push(Assumed { key, value: value.to_string(), from });
        value
    }

    /// The value, which must be in a range, or what is taken for it.
    pub(crate) fn within<T: Display + Copy + PartialOrd>(
        &mut self,
        given: &Maybe<T>,
        (low, high): (T, T),
        (key, default, from): (&str, T, &str),
    ) -> Result<T, MachineError> {
        match given {
            Some(value) if (low..=high).contains(value.get_ref()) => Ok(*value.get_ref()),
            Some(value) => Err(self.refuse(value, &format!("{low} to {high}"))),
            None => Ok(self.assume(key, default, from)),
        }
    }

    fn topology(&self, table: &Arrangement, types: &[CoreTable]) -> Result<Topology, MachineError> {
        let cpus = *table.cpus.get_ref();
        if cpus == 0 || cpus > MAX_CPUS {
            return Err(self.refuse(&table.cpus, &format!("1 to {MAX_CPUS}")));
        }
        let mut places = vec![Place::default(); cpus as usize];
        self.cores(&mut places, table, types)?;
        for place in &mut places {
            place.cluster = place.core;
        }
        if let Some(lists) = &table.cluster {
            for (list, number) in lists.get_ref().iter().zip(MAX_CPUS..) {
                for cpu in self.cpus(lists, list, cpus)? {
                    places[cpu as usize].cluster = number;
                }
            }
        }
        let llcs = self.groups(&table.llc, cpus)?;
        let nodes = self.groups(&table.node, cpus)?;
        for ((place, llc), node) in places.iter_mut().zip(llcs).zip(nodes) {
            (place.llc, place.node, place.package) = (llc, node, node);
        }
        if table.package.is_some() {
            let packages = self.groups(&table.package, cpus)?;
            places.iter_mut().zip(packages).for_each(|(place, own)| place.package = own);
        }
        let rows = table.distance.as_ref().map(|rows| rows.get_ref().clone()).unwrap_or_default();
        Topology::of_places(&places, &rows)
            .map_err(|error| self.refuse_topology(&table.cpus, &error.to_string()))
    }

    /// The line of the arrangement, with what the machine says of it.
    fn refuse_topology(&self, at: &Spanned<u32>, what: &str) -> MachineError {
        MachineError::at(self.file, self.text, at.span().start, format!("topology: {what}"))
    }

    /// Cores, as each kind has them or as all have them.
    fn cores(
        &self,
        places: &mut [Place],
        table: &Arrangement,
        types: &[CoreTable],
    ) -> Result<(), MachineError> {
        let cpus = places.len() as u32;
        let mut core = 0;
        let mut put = |members: &[u32], places: &mut [Place]| {
            members.iter().for_each(|cpu| places[*cpu as usize].core = core);
            core += 1;
        };
        if types.is_empty() {
            let size = table.smt.as_ref().map_or(1, |smt| *smt.get_ref());
            if let (Some(smt), true) = (&table.smt, size == 0 || cpus % size.max(1) != 0) {
                return Err(self.refuse(smt, "CPUs of a core, which divides all CPUs"));
            }
            let all: Vec<u32> = (0..cpus).collect();
            all.chunks(size as usize).for_each(|core| put(core, places));
            return Ok(());
        }
        if let Some(smt) = &table.smt {
            return Err(self.refuse(smt, "smt in each [[core_type]], as there are some"));
        }
        for kind in types {
            let own = self.cpus_of(kind, cpus)?;
            match (&kind.cores, &kind.smt) {
                (Some(_), Some(smt)) => {
                    return Err(self.refuse(smt, "either smt or cores, not both"));
                }
                (Some(cores), None) => {
                    let mut listed = Vec::new();
                    for list in cores.get_ref() {
                        let members = self.cpus(cores, list, cpus)?;
                        listed.extend(members.iter().copied());
                        put(&members, places);
                    }
                    listed.sort_unstable();
                    if listed != own {
                        return Err(self.refuse(cores, "each CPU of this kind in one core"));
                    }
                }
                (None, smt) => {
                    let size = smt.as_ref().map_or(1, |smt| *smt.get_ref());
                    if let (Some(smt), true) =
                        (smt, size == 0 || own.len() as u32 % size.max(1) != 0)
                    {
                        let expected = format!("a divisor of the {} CPUs of this kind", own.len());
                        return Err(self.refuse(smt, &expected));
                    }
                    own.chunks(size as usize).for_each(|core| put(core, places));
                }
            }
        }
        Ok(())
    }

    /// CPUs of a kind of cores, in ascending order; all of them if it does not say.
    pub(crate) fn cpus_of(&self, kind: &CoreTable, cpus: u32) -> Result<Vec<u32>, MachineError> {
        let mut own = match &kind.cpus {
            Some(list) => self.cpus(list, list.get_ref(), cpus)?,
            None => (0..cpus).collect(),
        };
        own.sort_unstable();
        own.dedup();
        Ok(own)
    }

    fn cpus<T>(&self, at: &Spanned<T>, list: &str, cpus: u32) -> Result<Vec<u32>, MachineError> {
        let found = parse_cpu_list(list).filter(|found| found.iter().all(|cpu| *cpu < cpus));
        found.ok_or_else(|| self.refuse(at, &format!("CPUs from 0 to {}, as \"0-3,8\"", cpus - 1)))
    }

    /// The group of each CPU.
    fn groups(&self, given: &Maybe<Grouped>, cpus: u32) -> Result<Vec<u32>, MachineError> {
        let Some(given) = given else { return Ok(vec![0; cpus as usize]) };
        match given.get_ref() {
            Grouped::Size(size) if *size == 0 || *size > cpus => {
                Err(self.refuse(given, &format!("1 to {cpus} CPUs")))
            }
            Grouped::Size(size) => Ok((0..cpus).map(|cpu| cpu / size).collect()),
            Grouped::Lists(lists) => {
                let mut of_cpu = vec![None; cpus as usize];
                for (list, number) in lists.iter().zip(0..) {
                    for cpu in self.cpus(given, list, cpus)? {
                        if of_cpu[cpu as usize].replace(number).is_some() {
                            let twice = format!("each CPU once, but CPU {cpu} is there twice");
                            return Err(self.refuse(given, &twice));
                        }
                    }
                }
                if let Some(cpu) = of_cpu.iter().position(Option::is_none) {
                    return Err(
                        self.refuse(given, &format!("each CPU once, but CPU {cpu} is missing"))
                    );
                }
                Ok(of_cpu.into_iter().flatten().collect())
            }
        }
    }

    fn hardware(
        &mut self,
        document: &Document,
        topology: &Topology,
        ipi: Option<Ipi>,
    ) -> Result<Hardware, MachineError> {
        let (core_types, type_of_cpu) = core_types(self, document, topology)?;
        let (mut class, mut dram_share, mut slack_us) = (WorkClass::Mixed, 0, TIMER_SLACK_US);
        let mut working_set_kib = WORKING_SET_KIB;
        if let Some(task) = &document.task {
            let largest = (1, 1 << 30);
            let key = ("task.working_set_kib", WORKING_SET_KIB, CHOICE);
            working_set_kib = self.within(&task.working_set_kib, largest, key)?;
            let none = ("task.dram_share", 0, CHOICE);
            dram_share = self.within(&task.dram_share, (0, 1024), none)?;
            if let Some(name) = &task.class {
                let known = WorkClass::ALL.into_iter().find(|class| class.name() == name.get_ref());
                class = known
                    .ok_or_else(|| self.refuse(name, "\"compute\", \"mixed\" or \"memory\""))?;
            }
            if let Some(slack) = &task.timer_slack_us {
                slack_us = *slack.get_ref();
            }
        }
        let cache = match &document.cache {
            Some(table) => Some(self.cache(table, topology, working_set_kib)?),
            None => None,
        };
        let work = (class, dram_share);
        let timer_slack_ns = slack_us.saturating_mul(1000);
        Ok(Hardware { core_types, type_of_cpu, cache, ipi, work, timer_slack_ns })
    }

    fn cache(
        &mut self,
        table: &CacheTable,
        topology: &Topology,
        working_set_kib: u32,
    ) -> Result<Cache, MachineError> {
        let any = (1, 1 << 30);
        let wide = (0, 1_000_000);
        Ok(Cache {
            llc_kib: self.within(&table.llc_kib, any, ("cache.llc_kib", LLC_KIB, FROM_SERVER))?,
            mlp: self.within(&table.mlp, (1, 1024), ("cache.mlp", MLP, CHOICE))?,
            line_bytes: match &table.line_bytes {
                Some(bytes) if !(1..=4096).contains(bytes.get_ref()) => {
                    return Err(self.refuse(bytes, "1 to 4096"));
                }
                given => given.as_ref().map_or(LINE_BYTES, |bytes| *bytes.get_ref()),
            },
            refill_ns: self.by_distance(&table.refill_ns, "refill_ns", REFILL_NS, topology)?,
            c2c_ns: self.by_distance(&table.c2c_ns, "c2c_ns", C2C_NS, topology)?,
            reuse_ns: self.within(
                &table.reuse_ns,
                wide,
                ("cache.reuse_ns", REUSE_NS, FROM_SERVER),
            )?,
            handoff_lines: self.within(
                &table.handoff_lines,
                wide,
                ("cache.handoff_lines", HANDOFF_LINES, CHOICE),
            )?,
            working_set_kib,
        })
    }

    /// Distances that grow; a missing one is the server's, or as the one before if that is more.
    fn by_distance(
        &mut self,
        table: &Maybe<Distances>,
        name: &str,
        usual: [u64; 4],
        topology: &Topology,
    ) -> Result<ByDistance, MachineError> {
        let none = Distances::default();
        let given = table.as_ref().map_or(&none, |table| table.get_ref());
        let given = [given.sibling, given.llc, given.other_llc, given.node];
        let first = (0..topology.cpus()).any(|cpu| topology.siblings(cpu).len() > 1);
        let matters = [
            first && name == "c2c_ns",
            true,
            topology.llcs() > topology.nodes(),
            topology.nodes() > 1,
        ];
        let keys = ["sibling", "llc", "other_llc", "node"];
        let (mut values, mut least) = ([0; 4], 0);
        for at in 0..4 {
            values[at] = match given[at] {
                Some(value) if value < least || value > 1_000_000 => match table {
                    Some(table) => {
                        let expected = format!(
                            "{} from {least} to 1000000, no less than nearer ones",
                            keys[at]
                        );
                        return Err(self.refuse(table, &expected));
                    }
                    None => value,
                },
                Some(value) => value,
                None if matters[at] => {
                    let key = format!("cache.{name}.{}", keys[at]);
                    self.assume(&key, usual[at].max(least), FROM_SERVER)
                }
                None => usual[at].max(least),
            };
            least = values[at];
        }
        let [sibling, llc, other_llc, node] = values;
        Ok(ByDistance { sibling, llc, other_llc, node })
    }
}
