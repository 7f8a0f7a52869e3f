// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an image to a running instance: its maps are made, its code is decoded.

use crate::engine::Kept;
use crate::error::StartError;
use crate::host::Host;
use crate::interpreter::decode;
use crate::layout::Layout;
use crate::maps::{self, Body, Map};
use crate::places::Places;
use crate::runtime::{Parts, Runtime};
use crate::table::CallTable;
use rota_object::image::Image;
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl<H: Host> Runtime<H> {
    /// Creates the image's maps in the host's memory and decodes its code.
    pub fn new(image: Arc<Image>, table: &CallTable<H>, host: &mut H) -> Result<Self, StartError> {
        let (maps, places) = create_maps(&image, host)?;
        let places = Arc::new(places);
        let code = decode(&image, table, &places);
        let layout = Layout::of(&image.kernel_btf);
        let engine = host.engine();
        Ok(Self::of(Parts { image, code, places, maps, layout, engine }))
    }

    /// Another instance of the same image, for another host. What was decoded is used again
    /// if the new host puts everything where this one's did.
    pub fn another(&self, table: &CallTable<H>, host: &mut H) -> Result<Self, StartError> {
        let image = Arc::clone(self.image());
        let (maps, places) = create_maps(&image, host)?;
        let (code, places) = if places == *self.places {
            (Arc::clone(self.code()), Arc::clone(&self.places))
        } else {
            let code = decode(&image, table, &places);
            (code, Arc::new(places))
        };
        let layout = self.layout.clone();
        let engine = host.engine();
        let mut other = Self::of(Parts { image, code, places, maps, layout, engine });
        other.set_budget(self.budget());
        Ok(other)
    }
}

/// An image's maps in the host's memory, and where they and everything else are.
fn create_maps<H: Host>(image: &Image, host: &mut H) -> Result<(Vec<Map>, Places), StartError> {
    let cpus = host.nr_cpus();
    let mut places = Places {
        values: Vec::new(),
        ksyms: Vec::new(),
        arrays: Vec::new(),
        arena: 0,
        kept: Vec::new(),
        frozen: FxHashMap::default(),
    };
    let mut maps = Vec::new();
    for def in &image.maps {
        let created = maps::create(def, &image.btf, host.memory(), cpus);
        let maps::Created { map, base } = created.map_err(|what| StartError::Map {
            object: image.name.clone(),
            map: def.name.clone(),
            what,
        })?;
        match &map.body {
            Body::Arena => places.arena = base >> 32 << 32,
            Body::Array(_) if def.read_only => {
                let bytes = host.memory().bytes(base, def.value_size).unwrap_or(&[]);
                places.frozen.insert(base, bytes.into());
            }
            _ => {}
        }
        let array = match &map.body {
            Body::Array(array) => Some(array.place()),
            _ => None,
        };
        places.kept.extend(array.map(|array| Kept {
            region: (array.base >> 32) as u32,
            bytes: host.memory().own_bytes(array.base),
            storable: !def.read_only,
        }));
        places.arrays.push(array);
        places.values.push(base);
        maps.push(map);
    }
    for name in &image.ksyms {
        places.ksyms.push(host.ksym(name).unwrap_or(0));
    }
    Ok((maps, places))
}
