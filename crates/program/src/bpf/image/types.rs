// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of the image. libbpf has the same for all programs and maps of an object; other loaders, as
//! cilium's for Go, give each its own.

use super::{Btf, ImageError, ObjectId, Played, Program};
use crate::bpf::objects::Map;
use rota_object::btf::Shift;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All types, and where those of each object are among them.
pub(super) struct Types {
    pub(super) btf: Arc<Btf>,
    shifts: BTreeMap<ObjectId, Shift>,
}

impl Types {
    /// By how much the ids of these types are others in the image; `None` if they are not in it.
    pub(super) fn shift(&self, types: Option<ObjectId>) -> Option<Shift> {
        self.shifts.get(&types?).copied()
    }
}

impl Played {
    /// Types of programs and of the maps that they use.
    pub(super) fn types_of(
        &self,
        programs: &[(ObjectId, &Program)],
        maps: &[ObjectId],
    ) -> Result<Types, ImageError> {
        let of_programs = programs.iter().filter_map(|(_, program)| program.btf);
        let maps = maps.iter().filter_map(|id| self.objects.map(*id).ok());
        let mut all: Vec<(ObjectId, &Arc<Btf>)> = Vec::new();
        for id in of_programs.chain(maps.flat_map(of_map)) {
            if all.iter().any(|(known, _)| *known == id) {
                continue;
            }
            if let Ok(types) = self.objects.types(id) {
                all.push((id, &types.btf));
            }
        }
        match all[..] {
            [] => Err(ImageError::NoTypes),
            [(id, btf)] => {
                let shifts = BTreeMap::from([(id, Shift::default())]);
                Ok(Types { btf: Arc::clone(btf), shifts })
            }
            _ => {
                let parts: Vec<&Btf> = all.iter().map(|(_, btf)| &***btf).collect();
                let (btf, shifts) = Btf::join(&parts);
                let shifts = all.iter().map(|(id, _)| *id).zip(shifts).collect();
                Ok(Types { btf: Arc::new(btf), shifts })
            }
        }
    }
}

/// Of the map, and of maps in it.
fn of_map(map: &Map) -> impl Iterator<Item = ObjectId> {
    map.btf.into_iter().chain(map.inner.as_ref().and_then(|inner| inner.btf))
}
