// SPDX-License-Identifier: MIT OR Apache-2.0
//! A colour for every task, the same in every picture of the same tasks.

use std::collections::{BTreeMap, BTreeSet};

use super::names::kind;
use super::TaskRow;

/// A fill and the colour of words on it.
pub(crate) struct Paint {
    pub(crate) fill: &'static str,
    pub(crate) ink: &'static str,
}

/// After M. Okabe and K. Ito's palette for all kinds of colour vision, without its black and
/// with its yellow darkened: all of them show on white and on black.
pub(crate) const PAINTS: [Paint; 8] = [
    Paint { fill: "#0072b2", ink: "#fff" },
    Paint { fill: "#e69f00", ink: "#111" },
    Paint { fill: "#009e73", ink: "#111" },
    Paint { fill: "#cc79a7", ink: "#111" },
    Paint { fill: "#56b4e9", ink: "#111" },
    Paint { fill: "#d55e00", ink: "#111" },
    Paint { fill: "#cdbb2d", ink: "#111" },
    Paint { fill: "#8a8f98", ink: "#111" },
];

/// Which paint each task has.
pub(crate) struct Colours {
    /// By name, or by kind of task.
    paint_of: BTreeMap<String, usize>,
    /// Instances of a task share its colour.
    pub(crate) by_kind: bool,
}

impl Colours {
    /// A colour for each task or, where there are too many tasks, for each kind of task.
    pub(crate) fn of(tasks: &[TaskRow]) -> Self {
        let names: BTreeSet<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        let kinds: BTreeSet<&str> = names.iter().map(|name| kind(name)).collect();
        let by_kind = names.len() > PAINTS.len() && kinds.len() > 1;
        let keys = if by_kind { kinds } else { names };
        let mut users = [0u32; PAINTS.len()];
        let mut paint_of = BTreeMap::new();
        for key in keys {
            // The name's own colour or the next one that is less used.
            let own = hash(key) % PAINTS.len();
            let least = users.iter().min().copied().unwrap_or(0);
            let next = (0..PAINTS.len()).map(|step| (own + step) % PAINTS.len());
            let paint = next.into_iter().find(|p| users[*p] == least).unwrap_or(own);
            users[paint] += 1;
            paint_of.insert(key.to_owned(), paint);
        }
        Colours { paint_of, by_kind }
    }

    /// Index of a task's paint.
    pub(crate) fn paint(&self, name: &str) -> usize {
        let key = if self.by_kind { kind(name) } else { name };
        self.paint_of.get(key).copied().unwrap_or(0)
    }

    /// Kinds of task with their paints, where these are what the colours mean.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&str, usize)> {
        let shown = self.by_kind.then_some(&self.paint_of);
        shown.into_iter().flatten().map(|(kind, paint)| (kind.as_str(), *paint))
    }
}

/// FNV-1a, which gives `A-0`, `B-1`, `C-2` and the like different colours.
fn hash(name: &str) -> usize {
    let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = name.bytes().fold(0x811c_9dc5, step);
    (hash ^ hash >> 16) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(names: &[&str]) -> Vec<TaskRow> {
        let row = |(pid, name): (u32, &&str)| TaskRow {
            pid,
            name: (*name).to_owned(),
            segments: Vec::new(),
        };
        (1..).zip(names).map(row).collect()
    }

    #[test]
    fn few_tasks_have_a_colour_each() {
        let names = ["a-0", "a-1", "a-2", "b-3", "b-4", "c-5", "c-6", "c-7"];
        let colours = Colours::of(&tasks(&names));
        let paints: BTreeSet<usize> = names.iter().map(|name| colours.paint(name)).collect();
        assert_eq!(paints.len(), 8);
        assert_eq!(colours.kinds().count(), 0);
    }

    #[test]
    fn of_many_tasks_instances_share_a_colour() {
        let names: Vec<String> = (0..12).map(|i| format!("{}-{i}", ["a", "b"][i % 2])).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let colours = Colours::of(&tasks(&names));
        assert_eq!(colours.paint("a-0"), colours.paint("a-2"));
        assert_ne!(colours.paint("a-0"), colours.paint("b-1"));
        let kinds: Vec<&str> = colours.kinds().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, ["a", "b"]);
    }

    #[test]
    fn many_instances_of_one_task_use_all_colours_evenly() {
        let names: Vec<String> = (0..16).map(|i| format!("hog-{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let colours = Colours::of(&tasks(&names));
        let mut users = [0; PAINTS.len()];
        names.iter().for_each(|name| users[colours.paint(name)] += 1);
        assert_eq!(users, [2; 8]);
    }

    #[test]
    fn the_order_in_which_tasks_come_does_not_matter() {
        let (one, other) = (tasks(&["x", "y", "z"]), tasks(&["z", "x", "y"]));
        for name in ["x", "y", "z"] {
            assert_eq!(Colours::of(&one).paint(name), Colours::of(&other).paint(name));
        }
    }
}
