// SPDX-License-Identifier: MIT OR Apache-2.0
//! The BPF programs in the kernel: loads them, reads their events, asks their maps.

use crate::customers::{Clients, Customers};
use crate::error::BoostError;
use crate::process;
use crate::record::{Event, Worker, WORKER, WORKERS};
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, RingBuffer,
    RingBufferBuilder,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

static OBJECT: &[u8] = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/boost.bpf.o"))).0;

/// libbpf reads headers in place.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

/// What is done for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing.
    None = 0,
    /// It waits for answers, and comes sooner.
    Waits = 1,
    /// It serves.
    Elevated = 2,
}

/// The programs, attached until they are dropped.
pub struct Programs {
    /// Before all else: nothing is written any more.
    _links: Vec<Link>,
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Event>>>,
    live: MapHandle,
    workers: MapHandle,
    boosted: MapHandle,
    lost: MapHandle,
    _object: Object,
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Programs")
    }
}

impl Programs {
    /// Loads and attaches them. Nothing is told until [`Self::set_live`] says so.
    pub fn start(customers: &Customers, clients: Clients) -> Result<Self, BoostError> {
        if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(BoostError::Types);
        }
        rota_libbpf_log::start(false);
        let refused = |what| move |e| BoostError::refused(what, e);
        let mut open =
            ObjectBuilder::default().open_memory(OBJECT).map_err(refused("opening programs"))?;
        configure(&mut open, customers, clients).map_err(refused("setting up the programs"))?;
        let object = open.load().map_err(refused("loading the programs"))?;
        let map = |name: &'static str| {
            let found = object.maps().find(|map| map.name() == name);
            let missing = || std::io::Error::from(std::io::ErrorKind::NotFound).into();
            let found = found.ok_or_else(missing).map_err(refused(name))?;
            MapHandle::try_from(&found).map_err(refused(name))
        };
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let ring = ring(&map("ring")?, &arrived).map_err(refused("reading events"))?;
        let listened = map("listened")?;
        for port in listened_ports() {
            // Beyond the map's size, connections that are there already are a client's.
            let _ = listened.update(&port.to_ne_bytes(), &[1], MapFlags::ANY);
        }
        let mut links = Vec::new();
        for program in object.progs_mut() {
            links.push(program.attach().map_err(refused("attaching the programs"))?);
        }
        Ok(Self {
            _links: links,
            ring,
            arrived,
            live: map("live")?,
            workers: map("workers")?,
            boosted: map("boosted")?,
            lost: map("lost")?,
            _object: object,
        })
    }

    /// Whether anybody can be elevated now, and how often a thread may be told of.
    pub fn set_live(&self, active: bool, interval: Duration) -> Result<(), BoostError> {
        let mut value = (interval.as_nanos() as u64).to_ne_bytes().to_vec();
        value.extend(u64::from(active).to_le_bytes());
        let set = self.live.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY);
        set.map_err(|e| BoostError::refused("changing the programs' settings", e))
    }

    /// Waits for events, at most this long, and returns those that are there.
    pub fn wait(&self, timeout: Duration) -> Result<Vec<Event>, BoostError> {
        match self.ring.poll(timeout) {
            Err(e) if e.kind() == libbpf_rs::ErrorKind::Interrupted => {}
            other => other.map_err(|e| BoostError::refused("reading events", e))?,
        }
        Ok(self.arrived.take())
    }

    /// What is known of a thread; `None` if it is gone, or never received from a customer.
    pub fn worker(&self, tid: u32) -> Option<Worker> {
        self.slot(tid).filter(|worker| worker.tid == tid)
    }

    /// CPU time of a thread that ended, up to its last tick; `None` if nobody knows any more.
    pub fn ended_cpu_ns(&self, tid: u32) -> Option<u64> {
        self.slot(tid).filter(|worker| worker.ended_tid == tid).map(|worker| worker.ended_cpu_ns)
    }

    fn slot(&self, tid: u32) -> Option<Worker> {
        let slot = (tid & (WORKERS - 1)).to_ne_bytes();
        Worker::decode(&self.workers.lookup(&slot, MapFlags::ANY).ok()??)
    }

    /// Forgets what a thread has open, as nobody answers.
    pub fn forget_open(&self, tid: u32) {
        let slot = (tid & (WORKERS - 1)).to_ne_bytes();
        let Ok(Some(mut value)) = self.workers.lookup(&slot, MapFlags::ANY) else { return };
        let worker = Worker::decode(&value).filter(|w| w.tid == tid && value.len() == WORKER);
        let Some(worker) = worker else { return };
        value[32..36].copy_from_slice(&0u32.to_ne_bytes());
        value[36..40].copy_from_slice(&worker.generation.wrapping_add(1).to_ne_bytes());
        // A message that comes just now may be forgotten, too: the next one counts again.
        let _ = self.workers.update(&slot, &value, MapFlags::ANY);
    }

    /// What is done for this thread: events are needed of what asks for more.
    pub fn set_level(&self, tid: u32, level: Level) {
        let key = tid.to_ne_bytes();
        // A full map only means events that nobody needs.
        let _ = match level {
            Level::None => self.boosted.delete(&key),
            level => self.boosted.update(&key, &(level as u32).to_ne_bytes(), MapFlags::ANY),
        };
    }

    /// Events that found no room, and threads.
    pub fn lost(&self) -> u64 {
        let value = self.lost.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
        let counts = value.ok().flatten().unwrap_or_default();
        let count = |bytes: &Vec<u8>| {
            bytes.get(..8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes)
        };
        counts.iter().map(count).sum()
    }
}

fn configure(
    open: &mut OpenObject,
    customers: &Customers,
    clients: Clients,
) -> Result<(), libbpf_rs::Error> {
    let mut config: Vec<u8> = customers.table().iter().flat_map(|w| w.to_ne_bytes()).collect();
    for word in [clients.roles(), clients.waiters(), std::process::id(), 0] {
        config.extend(word.to_ne_bytes());
    }
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy().ends_with(".rodata") {
            map.set_initial_value(&config)?;
        }
    }
    Ok(())
}

/// The reader's end of the ring.
fn ring(
    map: &MapHandle,
    arrived: &Rc<RefCell<Vec<Event>>>,
) -> Result<RingBuffer<'static>, libbpf_rs::Error> {
    let arrived = Rc::clone(arrived);
    let mut builder = RingBufferBuilder::new();
    builder.add(map, move |bytes: &[u8]| {
        arrived.borrow_mut().extend(Event::decode(bytes));
        0
    })?;
    builder.build()
}

fn listened_ports() -> Vec<u16> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let text = |path: &&str| std::fs::read_to_string(path).unwrap_or_default();
    tables.iter().flat_map(|path| process::listened(&text(path))).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn objects_that_ship_are_of_these_sources() {
        let shipped = include_str!("../objects/SOURCES");
        let built = include_str!(concat!(env!("OUT_DIR"), "/SOURCES"));
        assert_eq!(shipped, built, "make objects compiles them anew");
    }
}
