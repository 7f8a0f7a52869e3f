// SPDX-License-Identifier: MIT OR Apache-2.0
//! The buffers that the programs fill: one for each CPU that is on line.

use super::cpus;
use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, Object};
use std::os::fd::{AsFd, AsRawFd};

/// The map of them in `bpf/record.bpf.h`.
pub(crate) const RINGS: &str = "rings";

/// Makes a buffer of so many bytes for each CPU that is on line.
pub(crate) fn make(object: &Object, bytes: u32) -> Result<Vec<MapHandle>, libbpf_rs::Error> {
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let all = object.maps().find(|map| map.name() == RINGS).ok_or_else(missing)?;
    let opts = bpf_map_create_opts {
        sz: size_of::<bpf_map_create_opts>() as u64,
        ..bpf_map_create_opts::default()
    };
    cpus::online()
        .into_iter()
        .map(|cpu| {
            let ring = MapHandle::create(MapType::RingBuf, Some("ring"), 0, 0, bytes, &opts)?;
            let fd = ring.as_fd().as_raw_fd();
            all.update(&cpu.to_ne_bytes(), &fd.to_ne_bytes(), MapFlags::ANY)?;
            Ok(ring)
        })
        .collect()
}
