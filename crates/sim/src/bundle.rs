// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler's program had set up by the time it attached, as one file: it runs anywhere
//! without the program.

use crate::error::SimError;
use crate::policy::Policy;
use crate::replay::replay;
use crate::seen::{self, Seen};
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::system::System;
use rota_machine::topology::{Place, Topology};
use rota_object::btf::{Btf, Bundled};
use rota_object::image::{map_type, Image, Initial, MapDef, MapId, StructOps};
use rota_object::set_up::SetUpStep;
use rota_vm::host::Host;
use rota_vm::memory::PAGE_SIZE;
use rota_vm::runtime::Runtime;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::sync::Arc;
use thiserror::Error;

/// How a bundle begins: what follows is compressed by gzip. The number changes with it.
pub const BUNDLE_BEGINS: &[u8] = b"rota bundle 6\n";

/// Most bytes of one, unpacked: no scheduler has as many.
const LARGEST: u64 = 1 << 30;

const AS_WRITTEN: &str = "expected a bundle as it was written";

/// Bytes that are not a bundle, or one that does not hold together.
#[derive(Debug, Error)]
#[error("{file}: {what}")]
pub struct BundleError {
    /// The bundle, as it was called.
    pub file: String,
    /// What is wrong with it.
    pub what: String,
}

fn numbers(place: &Place) -> [u32; 5] {
    let Place { core, cluster, llc, node, package } = *place;
    [core, cluster, llc, node, package]
}

fn place([core, cluster, llc, node, package]: [u32; 5]) -> Place {
    Place { core, cluster, llc, node, package }
}

/// Whether a file is a bundle, of this version or another.
pub fn is_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(b"rota bundle ")
}

/// The program that set it up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Its file's name.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// SHA-256 of its file, as hexadecimal digits.
    pub sha256: String,
    /// Version of the Rota that played its kernel.
    pub rota: String,
    /// The machine that it found, as `--machine` names it; `None`: as `--topology` describes it.
    pub machine: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Bundle {
    origin: Origin,
    /// Core, cluster, last-level cache, node and package of each CPU.
    places: Vec<[u32; 5]>,
    /// Of nodes, a row for each; none: the kernel's defaults.
    distances: Vec<Vec<u32>>,
    /// What the program could see of the hardware; `None`: a flat machine.
    seen: Option<Vec<Seen>>,
    /// Release of the kernel.
    kernel: String,
    /// Its types, if they are not bundled with Rota.
    types: Option<Vec<u8>>,
    /// Checksum of the types as the machine laid them out: the image's code goes by them.
    laid_out: u32,
    hz: u32,
    image: Image,
    contents: Contents,
}

/// What maps hold that their definitions do not say.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Contents {
    /// Keys and values, by the number of the map.
    elements: Vec<(u32, Vec<Element>)>,
    /// Pages of arenas, by the number of the map.
    pages: Vec<(u32, Vec<Page>)>,
    /// In place of that: how it comes about, where code of the object has made what is no bytes.
    steps: Vec<SetUpStep>,
}

/// Key and value; of a queue the key is empty.
type Element = (Vec<u8>, Vec<u8>);
/// Number and bytes.
type Page = (u32, Vec<u8>);

/// A policy as its program had set it up.
#[derive(Clone, Debug)]
pub(crate) struct SetUp {
    pub(crate) origin: Origin,
    pub(crate) topology: Topology,
    seen: Option<Vec<Seen>>,
    contents: Contents,
}

impl SetUp {
    /// Whether it fits a machine: a program sets up what it found.
    pub(crate) fn check(&self, name: &str, config: &Config) -> Result<(), SimError> {
        let refused = |what: String| {
            let fits = self.options();
            Err(SimError::Program(format!("{name}: set up for {what}: expected {fits}")))
        };
        let topology = &config.topology;
        if self.topology != *topology {
            let (then, now) = (describe(&self.topology), describe(topology));
            return refused(format!("{then}, not for {now}"));
        }
        seen::difference(self.seen.as_deref(), config.hardware.as_deref()).map_or(Ok(()), refused)
    }

    /// The options of a machine that it fits.
    fn options(&self) -> String {
        match (&self.origin.machine, self.topology.sizes()) {
            (None, Some([smt, llc, node])) => {
                let cpus = self.topology.cpus();
                format!("--cpus {cpus} --topology smt={smt},llc={llc},node={node}")
            }
            (Some(name), _) => format!("--machine {name}"),
            (None, None) => "the machine that it was made for".into(),
        }
    }

    /// Puts the contents of all maps into a new instance.
    pub(crate) fn restore(
        &self,
        name: &str,
        rt: &mut Runtime<System>,
        system: &mut System,
    ) -> Result<(), SimError> {
        let refused = |map: u32, what: String| SimError::Map {
            object: name.to_owned(),
            map: rt_name(rt.image(), map),
            what,
        };
        for (map, pages) in &self.contents.pages {
            let base = rt.map_base(MapId(*map)).map(|base| base >> 32 << 32);
            let base = base.ok_or_else(|| refused(*map, "is no arena".into()))?;
            let there = system.memory().arena_pages(base);
            for (number, bytes) in pages {
                let at = base + u64::from(*number) * u64::from(PAGE_SIZE);
                let memory = system.memory();
                let has = there.contains(number) || memory.arena_alloc(base, Some(at), 1).is_some();
                let place = if has { memory.bytes_mut(at, bytes.len() as u32).ok() } else { None };
                let place =
                    place.ok_or_else(|| refused(*map, format!("has no room for page {number}")))?;
                place.copy_from_slice(bytes);
            }
        }
        for (map, elements) in &self.contents.elements {
            for (key, value) in elements {
                let set = rt.set_element(system, MapId(*map), key, value, 0);
                if let Err(errno) = set {
                    return Err(SimError::Map {
                        object: name.to_owned(),
                        map: rt_name(rt.image(), *map),
                        what: format!("refuses an entry: error {errno}"),
                    });
                }
            }
        }
        self.contents.steps.iter().try_for_each(|step| {
            replay(step, rt, system).map_err(|what| {
                SimError::Program(format!("{name}: cannot be set up again: {what}"))
            })
        })
    }
}

fn rt_name(image: &Image, map: u32) -> String {
    image.maps.get(map as usize).map_or_else(|| map.to_string(), |def| def.name.clone())
}

fn describe(topology: &Topology) -> String {
    let cpus = topology.cpus();
    let s = if cpus == 1 { "" } else { "s" };
    match topology.sizes() {
        Some([smt, llc, node]) => format!("{cpus} CPU{s} with smt={smt},llc={llc},node={node}"),
        None => {
            let (cores, llcs, nodes) = (topology.cores(), topology.llcs(), topology.nodes());
            format!(
                "{cpus} CPU{s} that are not alike ({cores} cores, {llcs} caches, {nodes} nodes)"
            )
        }
    }
}

/// Writes what an instance holds now, with the table that it was attached with.
pub(crate) fn write(
    policy: &Policy,
    origin: Origin,
    table: StructOps,
    steps: Vec<SetUpStep>,
    config: &Config,
    rt: &mut Runtime<System>,
    system: &mut System,
) -> Result<Vec<u8>, SimError> {
    let name = origin.program.clone();
    let mut image = (**policy.image()).clone();
    image.struct_ops = vec![table];
    let mut contents = Contents::default();
    if rt.is_all_in_maps() {
        for map in 0..image.maps.len() as u32 {
            hold(&mut image.maps[map as usize], map, &mut contents, rt, system);
        }
    } else if steps.is_empty() {
        return Err(SimError::Program(format!(
            "{name}: cannot be bundled: before it attaches it makes kernel objects or timers, which \
             no file can hold; expected to be run itself: -- {name}"
        )));
    } else {
        contents.steps = steps;
    }
    let kernel = policy.kernel();
    let known = Bundled::find(kernel.release());
    let is_known = known.is_some_and(|known| Arc::ptr_eq(&known.btf(), kernel.given_btf()));
    let topology = &config.topology;
    let bundle = Bundle {
        origin,
        places: topology.places().iter().map(numbers).collect(),
        distances: topology.distances(),
        seen: Seen::of(config.hardware.as_deref()),
        kernel: kernel.release().to_owned(),
        types: (!is_known).then(|| kernel.given_btf().to_bytes()),
        laid_out: checksum(kernel.btf()),
        hz: kernel.hz(),
        image,
        contents,
    };
    let failed = |error: &dyn std::fmt::Display| {
        SimError::Program(format!("{name}: cannot be written: {error}"))
    };
    let plain = postcard::to_stdvec(&bundle).map_err(|error| failed(&error))?;
    let mut packed = GzEncoder::new(BUNDLE_BEGINS.to_vec(), Compression::fast());
    packed.write_all(&plain).map_err(|error| failed(&error))?;
    packed.finish().map_err(|error| failed(&error))
}

fn checksum(types: &Btf) -> u32 {
    let mut sum = Crc::new();
    sum.update(&types.to_bytes());
    sum.sum()
}

/// Keeps what a map holds: in its definition where that can say it.
fn hold(
    def: &mut MapDef,
    map: u32,
    contents: &mut Contents,
    rt: &mut Runtime<System>,
    system: &mut System,
) {
    let id = MapId(map);
    match def.kind {
        map_type::ARRAY => {
            let Some(base) = rt.map_base(id) else { return };
            let len = system.memory().region_size(base);
            if let Ok(bytes) = system.memory().bytes(base, len) {
                def.initial = Some(Initial::new(bytes, bytes.len()));
            }
        }
        map_type::ARENA => {
            let Some(base) = rt.map_base(id).map(|base| base >> 32 << 32) else { return };
            let mut pages = Vec::new();
            for number in system.memory().arena_pages(base) {
                let at = base + u64::from(number) * u64::from(PAGE_SIZE);
                if let Ok(bytes) = system.memory().bytes(at, PAGE_SIZE) {
                    pages.push((number, bytes.to_vec()));
                }
            }
            contents.pages.push((map, pages));
        }
        map_type::QUEUE | map_type::STACK => {
            let values = rt.queue_values(id).into_iter().map(|value| (Vec::new(), value));
            contents.elements.push((map, values.collect()));
        }
        _ => {
            let mut elements = Vec::new();
            let mut last: Option<Vec<u8>> = None;
            while let Ok(key) = rt.next_key(id, last.as_deref()) {
                if let Ok(value) = rt.element(system, id, &key) {
                    if value.iter().any(|byte| *byte != 0) || def.kind != map_type::PERCPU_ARRAY {
                        elements.push((key.clone(), value));
                    }
                }
                last = Some(key);
            }
            if !elements.is_empty() {
                contents.elements.push((map, elements));
            }
        }
    }
}

/// Reads a bundle: the policy, for the kernel that its program saw.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<(Image, Kernel, SetUp), BundleError> {
    let fail = |what: String| BundleError { file: name.to_owned(), what };
    let Some(rest) = bytes.strip_prefix(BUNDLE_BEGINS) else {
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(&line[..line.len().min(40)]).into_owned();
        return Err(fail(format!("begins with {line:?}, expected a bundle of version 6")));
    };
    let mut plain = Vec::new();
    let read = GzDecoder::new(rest).take(LARGEST).read_to_end(&mut plain);
    read.map_err(|error| fail(format!("is damaged: {error}, {AS_WRITTEN}")))?;
    let bundle: Bundle = postcard::from_bytes(&plain)
        .map_err(|error| fail(format!("is damaged: {error}, {AS_WRITTEN}")))?;
    let Bundle {
        origin,
        places,
        distances,
        seen,
        kernel,
        types,
        laid_out,
        hz,
        mut image,
        contents,
    } = bundle;
    let kernel = match types {
        None => Kernel::bundled(&kernel).map_err(|error| fail(error.to_string()))?,
        Some(types) => {
            let btf = Btf::parse(&types).map_err(|error| fail(format!("kernel: {error}")))?;
            Kernel::of_btf(Arc::new(btf))
        }
    };
    if laid_out != checksum(kernel.btf()) {
        let rota = origin.rota;
        return Err(fail(format!(
            "is of Rota {rota}, which laid out the kernel's types in another way: expected a bundle of \
             this version"
        )));
    }
    let places: Vec<Place> = places.into_iter().map(place).collect();
    let topology = Topology::of_places(&places, &distances);
    let topology = topology.map_err(|error| fail(format!("is damaged: {error}")))?;
    if seen.as_ref().is_some_and(|seen| seen.len() != topology.cpus() as usize) {
        return Err(fail("is damaged: it has hardware of other CPUs".into()));
    }
    image.check().map_err(|what| fail(format!("is damaged: {what}")))?;
    let numbers = contents.elements.iter().map(|(map, _)| map);
    let mut numbers = numbers.chain(contents.pages.iter().map(|(map, _)| map));
    if let Some(map) = numbers.find(|map| **map as usize >= image.maps.len()) {
        return Err(fail(format!("is damaged: it has contents of map {map}, which is not there")));
    }
    if let Some(what) = contents.steps.iter().find_map(|step| step.check(&image).err()) {
        return Err(fail(format!("is damaged: its set-up has {what}, which is not there")));
    }
    image.kernel_btf = Arc::clone(kernel.btf());
    name.clone_into(&mut image.name);
    Ok((image, kernel.with_hz(hz.max(1)), SetUp { origin, topology, seen, contents }))
}
