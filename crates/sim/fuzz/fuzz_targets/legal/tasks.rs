// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that are no servers, and their phases.

use super::settings::Class;
use super::spans::span;
use super::{member, object, File};
use libfuzzer_sys::arbitrary::{Result, Unstructured};

/// The latest start, in microseconds.
const DELAY: u32 = 15_000;

/// What the events of a task must know of it.
pub(super) struct Own {
    pub(super) number: u32,
    /// Started from the beginning.
    pub(super) instances: u32,
}

impl File {
    /// `"t<number>": {…}`.
    pub(super) fn task(
        &self,
        u: &mut Unstructured<'_>,
        number: u32,
        fair_by_default: bool,
    ) -> Result<String> {
        let class = if u.ratio(3, 4)? { Class::Fair } else { Class::Any };
        // Something has to start, and the first leads processes.
        let instances = u.int_in_range(u32::from(number == 0)..=4)?;
        let own = Own { number, instances };
        let mut keys = vec![member("instance", &instances.to_string())];
        keys.extend(self.settings(u, class, !fair_by_default)?);
        for key in ["delay", "arrive"] {
            if u.ratio(1, 4)? {
                keys.push(member(key, &span(u, DELAY)?));
            }
        }
        if number > 0 && u.ratio(1, 5)? {
            keys.push(member("thread_of", u.choose(&[r#""t0""#, r#""t0""#])?));
        } else {
            if u.ratio(1, 6)? {
                keys.push(member("uid", &u.int_in_range(0..=u32::MAX - 1)?.to_string()));
            }
            if u.ratio(1, 6)? {
                keys.push(member("session", &u.int_in_range(1..=i32::MAX)?.to_string()));
            }
        }
        if u.arbitrary()? {
            keys.extend(self.events(u, &own)?);
            keys.extend(loops(u)?);
        } else {
            keys.push(member("phases", &self.phases(u, class, &own)?));
            keys.extend(loops(u)?);
        }
        Ok(member(&format!("t{number}"), &object(&keys)))
    }

    fn phases(&self, u: &mut Unstructured<'_>, class: Class, own: &Own) -> Result<String> {
        let mut phases = Vec::new();
        for number in 0..u.int_in_range(1..=3)? {
            let mut keys = loops(u)?;
            if class == Class::Any || u.arbitrary()? {
                keys.extend(self.settings(u, class, false)?);
            }
            keys.extend(self.events(u, own)?);
            phases.push(member(&format!("p{number}"), &object(&keys)));
        }
        Ok(object(&phases))
    }
}

fn loops(u: &mut Unstructured<'_>) -> Result<Vec<String>> {
    Ok(match u.int_in_range(0..=5)? {
        0..=2 => Vec::new(),
        3 => vec![member("loop", "-1")],
        _ => vec![member("loop", &u.int_in_range(0..=30)?.to_string())],
    })
}
