// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cgroups of a recording, and the values of their files.

use crate::settings::Keys;
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most levels below the root that a workload's group can have.
const MOST_LEVELS: usize = 15;

/// Values of a group's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) weight: u32,
    /// Quota and period.
    pub(crate) limit_ns: Option<(u64, u64)>,
    pub(crate) idle: bool,
}

/// What is known of groups.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// As they were first.
    values: BTreeMap<Arc<str>, Values>,
    /// Those that had other values later.
    pub(crate) changed: BTreeSet<Arc<str>>,
}

impl Groups {
    pub(crate) fn set(&mut self, path: &Arc<str>, values: Values) {
        let first = *self.values.entry(Arc::clone(path)).or_insert(values);
        if first != values {
            self.changed.insert(Arc::clone(path));
        }
    }

    /// The files of a group that do not hold what they hold at first.
    fn files(&self, path: &str) -> Keys {
        let mut keys = Keys::new();
        let Some(Values { weight, limit_ns, idle }) = self.values.get(path) else { return keys };
        match idle {
            // The kernel takes no weight then.
            true => keys.push(("cpu.idle", json!(1))),
            false if *weight != 100 => keys.push(("cpu.weight", json!(weight))),
            false => {}
        }
        if let Some((quota_ns, period_ns)) = limit_ns {
            let text = format!("{} {}", quota_ns / 1000, period_ns / 1000);
            keys.push(("cpu.max", json!(text)));
        }
        keys
    }

    /// The value of `taskgroup`, with the files where the group is mentioned for the first time.
    pub(crate) fn mention(&self, path: &Arc<str>, mentioned: &mut BTreeSet<Arc<str>>) -> Value {
        let path = plain(path);
        let files = self.files(&path);
        if !mentioned.insert(Arc::clone(&path)) || files.is_empty() {
            return json!(&*path);
        }
        let all = std::iter::once(("path", json!(&*path))).chain(files);
        all.map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The groups that those are in which were mentioned, and that no task is in: each with a file
    /// and its value.
    pub(crate) fn above(
        &self,
        mentioned: &BTreeSet<Arc<str>>,
    ) -> Vec<(String, &'static str, Value)> {
        let mut above: BTreeSet<&str> = BTreeSet::new();
        for path in mentioned {
            above.extend(path.match_indices('/').skip(1).map(|(end, _)| &path[..end]));
        }
        above.retain(|path| !mentioned.contains(*path));
        let files = |path: &&str| {
            let path = (*path).to_owned();
            self.files(&path).into_iter().map(move |(key, value)| (path.clone(), key, value))
        };
        above.iter().flat_map(files).collect()
    }
}

/// A path that a workload can have: what is deeper counts for the group above it.
fn plain(path: &Arc<str>) -> Arc<str> {
    match path.match_indices('/').nth(MOST_LEVELS) {
        Some((end, _)) => path[..end].into(),
        None => Arc::clone(path),
    }
}
