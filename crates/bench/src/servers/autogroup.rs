// SPDX-License-Identifier: MIT OR Apache-2.0
//! Autogroups: the scheduler's groups by session, within which nice values count.

use crate::error::Error;

const FILE: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// Are they on? A kernel without them has them off.
pub fn is_on() -> bool {
    std::fs::read_to_string(FILE).is_ok_and(|text| text.trim() == "1")
}

/// Switches them on or off.
pub(crate) fn set(on: bool) -> Result<(), Error> {
    if on == is_on() {
        return Ok(());
    }
    std::fs::write(FILE, if on { "1" } else { "0" })
        .map_err(|e| Error::system(&format!("write {FILE}"), e))
}
