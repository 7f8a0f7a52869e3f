// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loader as the sched_ext project's are, with libbpf-rs.

use anyhow::{Context, Result};
use libbpf_rs::{MapCore, MapFlags, MapType, ObjectBuilder};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Loads and attaches the scheduler of an object. Then it looks at the object's counters each
/// 100 ms, so many times, and stores how often it did. In the end it detaches the scheduler, or
/// executes itself with other arguments.
pub(crate) fn schedule(object: &str, times: u32, then: &[&str]) -> Result<()> {
    let mut open = ObjectBuilder::default().open_file(object)?;
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy().ends_with(".rodata") {
            let data = map.initial_value_mut().context("constants")?;
            data[..4].copy_from_slice(&std::process::id().to_le_bytes());
        }
    }
    let mut loaded = open.load()?;
    let link = {
        let mut maps = loaded.maps_mut();
        let scheduler = maps.find(|map| map.map_type() == MapType::StructOps);
        scheduler.context("a scheduler")?.attach_struct_ops()?
    };
    println!("attached");
    for turn in 1..=times {
        thread::sleep(Duration::from_millis(100));
        let counters = map(&loaded, "counters")?;
        let per_cpu = counters.lookup_percpu(&0u32.to_le_bytes(), MapFlags::ANY)?;
        let of_cpu = |bytes: Vec<u8>| bytes.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        let enqueued: u64 = per_cpu.context("an entry")?.into_iter().map(of_cpu).sum();
        let turns = map(&loaded, "turns")?;
        turns.update(&0u32.to_le_bytes(), &turn.to_le_bytes(), MapFlags::ANY)?;
        println!("turn {turn}: {enqueued} enqueued");
    }
    if !then.is_empty() {
        let itself = std::env::current_exe()?;
        return Err(Command::new(itself).args(then).exec().into());
    }
    drop(link);
    println!("detached");
    Ok(())
}

fn map<'a>(object: &'a libbpf_rs::Object, name: &str) -> Result<libbpf_rs::Map<'a>> {
    let name = std::ffi::OsStr::new(name);
    object.maps().find(|map| map.name() == name).context("a map")
}
