// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes on while this machine is shown, wherever the numbers come from.

use super::recordings::Recordings;
use super::schedulers::{News, Schedulers};
use super::shared::Shared;
use crate::commands::record::TargetArgs;
use rota_top::Snapshot;
use std::sync::Arc;

/// What goes on besides.
pub(super) struct Around<'a> {
    pub(super) recordings: Recordings,
    schedulers: Schedulers,
    pub(super) shared: &'a Shared,
}

impl<'a> Around<'a> {
    /// From now on.
    pub(super) fn new(target: &TargetArgs, shared: &'a Arc<Shared>) -> Self {
        let recordings = Recordings::new(target, shared);
        Self { recordings, schedulers: Schedulers::from_now(), shared }
    }

    /// Says what became of schedulers since the last time.
    pub(super) fn schedulers(&mut self, mut tell: impl FnMut(News)) {
        for news in self.schedulers.look() {
            if let News::Replaced(what) = &news {
                self.shared.say(what.clone());
            }
            tell(news);
        }
    }

    /// There is another picture.
    pub(super) fn show(&self, snapshot: Arc<Snapshot>, lost: u64) {
        let mut latest = self.shared.latest();
        latest.snapshot = snapshot;
        latest.lost = lost;
        latest.scheduler = self.schedulers.loaded().cloned();
    }
}
