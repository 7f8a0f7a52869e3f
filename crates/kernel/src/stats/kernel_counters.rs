// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters in `/sys/kernel/sched_ext`.

use super::Event;
use std::path::Path;

/// All that this kernel has; older ones have no `events`.
pub(super) fn read(sched_ext: &Path) -> Vec<Event> {
    let text = |name: &str| std::fs::read_to_string(sched_ext.join(name)).unwrap_or_default();
    let rejected = text("nr_rejected").trim().parse().ok();
    let rejected = rejected.map(|count| Event { name: "nr_rejected".into(), count });
    rejected.into_iter().chain(events(&text("root/events"))).collect()
}

/// Lines such as `SCX_EV_SELECT_CPU_FALLBACK 3`.
fn events(text: &str) -> Vec<Event> {
    let event = |line: &str| {
        let (name, count) = line.trim().split_once(' ')?;
        Some(Event { name: name.into(), count: count.trim().parse().ok()? })
    };
    text.lines().filter_map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_lines_of_a_name_and_a_number() {
        let found = events("SCX_EV_A 3\nSCX_EV_B 18446744073709551615\nodd\nSCX_EV_C x\n");
        let a = Event { name: "SCX_EV_A".into(), count: 3 };
        let b = Event { name: "SCX_EV_B".into(), count: u64::MAX };
        assert_eq!(found, [a, b]);
    }

    #[test]
    fn kernel_without_events_has_rejections_only() {
        let dir = tempfile::tempdir().expect("directory");
        std::fs::write(dir.path().join("nr_rejected"), "7\n").expect("written");
        assert_eq!(read(dir.path()), [Event { name: "nr_rejected".into(), count: 7 }]);
        assert_eq!(read(Path::new("/nonexistent")), []);
    }
}
