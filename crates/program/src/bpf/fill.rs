// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the tables that were kept before there was a machine into the machine's maps.

use super::attr::word;
use super::objects::{Map, ObjectId};
use super::played::{InMachine, Played};
use super::table::Table;
use super::Caller;
use rota_machine::user_half::Live;
use rota_object::image::{map_type, MapId};
use rota_object::set_up::SetUpStep;

impl Played {
    /// Puts what maps hold into the machine that was made from [`Played::image`]. From then on
    /// commands act there.
    ///
    /// # Errors
    /// If the machine does not take an entry.
    pub fn fill(&mut self, live: &mut Live<'_>, caller: &mut dyn Caller) -> Result<(), String> {
        let Some(machine) = &self.in_machine else {
            return Err("no image was made of what is loaded".into());
        };
        let mut steps = Vec::new();
        for (id, number) in &machine.maps {
            let Ok(map) = self.objects.map(*id) else { continue };
            self.fill_map(machine, map, *number, live, &mut steps).map_err(|errno| {
                format!("map {}: the machine refuses what it holds: error {errno}", map.name)
            })?;
        }
        steps.into_iter().for_each(|step| self.record_step(|| step));
        if let Some(machine) = &mut self.in_machine {
            machine.filled = true;
        }
        self.record_known(live);
        self.pages_in(live, caller);
        self.share_pages(live, caller);
        Ok(())
    }

    fn fill_map(
        &self,
        machine: &InMachine,
        map: &Map,
        number: MapId,
        live: &mut Live<'_>,
        steps: &mut Vec<SetUpStep>,
    ) -> Result<(), i64> {
        let recorded = self.recorder.is_some();
        let mut set = |key: &[u8], value: &[u8]| {
            live.rt.set_element(live.system, number, key, value, 0)?;
            if recorded {
                let (key, value) = (key.to_vec(), value.to_vec());
                steps.push(SetUpStep::Set { map: number, key, value, flags: 0 });
            }
            Ok::<(), i64>(())
        };
        match &map.table {
            // part of the image
            Table::Array { .. } if map.kind == map_type::ARRAY && map.max_entries == 1 => {}
            Table::Array { values, size } => {
                for (index, value) in (0u32..).zip(values.chunks_exact(*size)) {
                    if value.iter().any(|byte| *byte != 0) {
                        set(&index.to_le_bytes(), value)?;
                    }
                }
            }
            Table::Hash(entries) | Table::Trie(entries) => {
                entries.iter().try_for_each(|(key, value)| set(key, value))?;
            }
            Table::ObjectsByKey(entries) => {
                for (key, value) in entries.iter() {
                    let inner = machine.maps.get(&ObjectId(word(value, 0))).ok_or(2)?;
                    set(key, &inner.0.to_le_bytes())?;
                }
            }
            Table::Objects { slots, .. } => {
                for (index, object) in slots {
                    let number = match map.kind {
                        // of another object, which the machine does not run
                        map_type::PROG_ARRAY => machine.programs.get(object).map(|func| func.0),
                        _ => machine.maps.get(object).map(|map| map.0),
                    };
                    set(&index.to_le_bytes(), &number.ok_or(2)?.to_le_bytes())?;
                }
            }
            Table::Queue(queue) => queue.iter().try_for_each(|value| set(&[], value))?,
            Table::Bloom(values) => values.iter().try_for_each(|value| set(&[], value))?,
            Table::Pages | Table::StructOps(_) | Table::None => {}
        }
        Ok(())
    }
}
