// SPDX-License-Identifier: MIT OR Apache-2.0
//! The load of a cell: half of the tasks never sleep, the others run for 1 ms and sleep for 3 ms. Those
//! that never sleep yield each millisecond: else tasks would starve under a policy that takes nobody's
//! CPU away, and 10,000 on one CPU under any.

use std::io;
use std::path::{Path, PathBuf};

/// Writes the workload of so many tasks, if it is not there already.
pub(crate) fn file(tasks: u32, directory: &Path) -> io::Result<PathBuf> {
    let path = directory.join(format!("{tasks}.json"));
    if !path.exists() {
        std::fs::write(&path, text(tasks))?;
    }
    Ok(path)
}

fn text(tasks: u32) -> String {
    let sleepers = tasks / 2;
    let hogs = tasks - sleepers;
    let mut kinds =
        vec![format!(r#""hog": {{"instance": {hogs}, "loop": -1, "run": 1000, "yield": ""}}"#)];
    if sleepers > 0 {
        kinds.push(format!(
            r#""sleeper": {{"instance": {sleepers}, "loop": -1, "run": 1000, "sleep": 3000}}"#
        ));
    }
    format!("{{\"tasks\": {{{}}}}}\n", kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_tasks_sleep_and_an_odd_one_does_not() {
        let json: serde_json::Value = serde_json::from_str(&text(7)).expect("JSON");
        assert_eq!(json["tasks"]["hog"]["instance"], 4);
        assert_eq!(json["tasks"]["sleeper"]["instance"], 3);
        let json: serde_json::Value = serde_json::from_str(&text(1)).expect("JSON");
        assert!(json["tasks"].get("sleeper").is_none());
    }
}
