// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which sched_ext scheduler the kernel has, and how others left.

use rota_kernel::{sysfs, KernelLog};

/// The first kind that is the policy's failure (`enum scx_exit_kind`).
const SCX_EXIT_ERROR: u32 = 1024;

/// What became of schedulers since the last look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Another one is there.
    Loaded,
    /// One is gone, and the kernel's own schedules.
    Left { kind: u32, code: i64, reason: String },
    /// One was ejected, and another one has its place.
    Replaced(String),
}

#[derive(Debug)]
pub(super) struct Schedulers {
    /// What it says of schedulers that left; how many it was, and the last one, until the line with
    /// the reason is there.
    log: KernelLog,
    ended: usize,
    leaving: Option<String>,
    loaded: Option<String>,
}

impl Schedulers {
    pub(super) fn from_now() -> Self {
        Self { log: KernelLog::from_now(), ended: 0, leaving: None, loaded: None }
    }

    /// The one that is loaded.
    pub(super) fn loaded(&self) -> Option<&String> {
        self.loaded.as_ref()
    }

    /// What is new.
    pub(super) fn look(&mut self) -> Vec<News> {
        let mut news = Vec::new();
        let loaded = sysfs::loaded();
        if loaded.is_some() && self.loaded != loaded {
            news.push(News::Loaded);
        }
        let left = self.leaving.take();
        news.extend(left.and_then(|name| self.left(&name, loaded.is_none())));
        let ended = self.log.ended();
        if ended.len() > self.ended {
            (self.ended, self.leaving) = (ended.len(), ended.last().cloned());
        }
        self.loaded = loaded;
        news
    }

    /// A scheduler is gone, and maybe another one has its place.
    fn left(&self, name: &str, none_follows: bool) -> Option<News> {
        let exit = self.log.exit_of(name)?;
        if !none_follows {
            return exit.is_error().then(|| News::Replaced(format!("{name} was ejected: {exit}")));
        }
        // A reason that is not known here is no ordinary end.
        let kind = if exit.is_error() { exit.kind.max(SCX_EXIT_ERROR) } else { exit.kind };
        Some(News::Left { kind, code: exit.code, reason: exit.to_string() })
    }
}
