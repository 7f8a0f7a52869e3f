// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps what the program does to maps and programs before it attaches, for a bundle.

use super::image::MapBytes;
use super::played::Played;
use rota_machine::user_half::Live;
use rota_object::image::MapId;
use rota_object::set_up::SetUpStep;
use rota_vm::host::Host;
use std::collections::BTreeMap;

const PAGE: usize = 4096;

/// The steps so far.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    steps: Vec<SetUpStep>,
    /// Pages of mapped maps as the last step left them: what differs the program has written.
    known: BTreeMap<(MapId, u32), Vec<u8>>,
}

impl Played {
    /// Keeps the steps from now on; there is no machine yet.
    pub fn record(&mut self) {
        self.recorder = Some(Recorder::default());
    }

    /// The steps that were kept, with what the program has written until now.
    pub fn recorded(&mut self, live: &mut Live<'_>) -> Vec<SetUpStep> {
        self.record_writes(live);
        self.recorder.take().map(|recorder| recorder.steps).unwrap_or_default()
    }

    pub(super) fn record_step(&mut self, step: impl FnOnce() -> SetUpStep) {
        if let Some(recorder) = &mut self.recorder {
            recorder.steps.push(step());
        }
    }

    /// What the program has written to maps that it maps, since [`Played::record_known`].
    pub(super) fn record_writes(&mut self, live: &mut Live<'_>) {
        let Some(mut recorder) = self.recorder.take() else { return };
        for (map, number, bytes) in self.pages_of_machine(live) {
            let known = recorder.known.get(&(map, number)).map(Vec::as_slice);
            let as_before = known.map_or_else(|| bytes.iter().all(|b| *b == 0), |k| k == bytes);
            if !as_before {
                let at = number * PAGE as u32;
                recorder.steps.push(SetUpStep::Write { map, at, bytes });
            }
        }
        self.recorder = Some(recorder);
    }

    /// What these maps hold now was not written by the program.
    pub(super) fn record_known(&mut self, live: &mut Live<'_>) {
        let Some(mut recorder) = self.recorder.take() else { return };
        let pages = self.pages_of_machine(live);
        recorder.known = pages.into_iter().map(|(map, at, bytes)| ((map, at), bytes)).collect();
        self.recorder = Some(recorder);
    }

    /// Maps that the program can write to by memory, page by page, as the machine has them.
    fn pages_of_machine(&self, live: &mut Live<'_>) -> Vec<(MapId, u32, Vec<u8>)> {
        let mut pages = Vec::new();
        for (_, map, kind) in self.mapped_ones() {
            let Some(base) = live.rt.map_base(map) else { continue };
            match kind {
                MapBytes::Array(len) => {
                    let Ok(bytes) = live.system.memory().bytes(base, len) else { continue };
                    let numbered = (0u32..).zip(bytes.chunks(PAGE));
                    pages.extend(numbered.map(|(number, page)| (map, number, page.to_vec())));
                }
                MapBytes::Arena => {
                    let arena = base >> 32 << 32;
                    let memory = live.system.memory();
                    for number in memory.arena_pages(arena) {
                        let at = arena + u64::from(number) * PAGE as u64;
                        if let Ok(bytes) = memory.bytes(at, PAGE as u32) {
                            pages.push((map, number, bytes.to_vec()));
                        }
                    }
                }
                MapBytes::Ring(_) | MapBytes::UserRing(_) => {}
            }
        }
        pages
    }
}
