// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps that a loader makes for the slots of a map of maps.

use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, Object};
use rota_object::image::Image;
use std::os::fd::{AsFd, AsRawFd};

/// Makes a map like the inner prototype for every free slot, and puts it there.
pub(crate) fn fill(object: &Object, image: &Image, name: &str) -> Result<(), String> {
    let def = image.maps.iter().find(|d| d.name == name);
    let inner = def.and_then(|d| d.inner.as_deref()).ok_or("is not a map of maps")?;
    let outer = object.maps().find(|m| m.name() == name).ok_or("is not in the kernel")?;
    let opts = bpf_map_create_opts {
        sz: size_of::<bpf_map_create_opts>() as u64,
        map_flags: inner.flags,
        map_extra: inner.extra,
        ..bpf_map_create_opts::default()
    };
    let kind = MapType::from(inner.kind);
    for slot in 0..outer.max_entries() {
        let key = slot.to_le_bytes();
        if matches!(outer.lookup(&key, MapFlags::ANY), Ok(Some(_))) {
            continue;
        }
        let new = MapHandle::create(
            kind,
            None::<&str>,
            inner.key_size,
            inner.value_size,
            inner.max_entries,
            &opts,
        )
        .map_err(|e| format!("cannot make the map of slot {slot}: {e:#}"))?;
        let fd = new.as_fd().as_raw_fd().to_le_bytes();
        // From here on the slot keeps the map alive.
        outer
            .update(&key, &fd, MapFlags::ANY)
            .map_err(|e| format!("slot {slot} does not take a map: {e:#}"))?;
    }
    Ok(())
}
