// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events from outside, which the machine must take: those that have no effect, too.

use super::{member, File};
use libfuzzer_sys::arbitrary::{Result, Unstructured};

/// The latest, in microseconds: within the shortest run.
const LATEST: u32 = 990;

/// Groups that the events make first, so that the file knows them.
const MADE: [&str; 3] = ["/o", "/o/x", "/p"];

impl File {
    /// `"events"`, in some files.
    pub(super) fn outside(
        &self,
        u: &mut Unstructured<'_>,
        members: &mut Vec<String>,
    ) -> Result<()> {
        if u.ratio(1, 2)? {
            return Ok(());
        }
        let made = |path| format!(r#"{{"at": 0, "cgroup": "{path}", "create": true}}"#);
        let mut events: Vec<String> = MADE.iter().map(made).collect();
        for number in 0..u.int_in_range(0..=12)? {
            let about = match u.int_in_range(0..=4)? {
                0..=2 => self.about_task(u)?,
                3 => about_group(u, self.cpus)?,
                _ => self.about_cpu(u)?,
            };
            let at = match number > 0 && u.ratio(1, 4)? {
                true => format!(r#""after": "e{}", "delay": 1"#, number - 1),
                false => member("at", &u.int_in_range(0..=LATEST - 20)?.to_string()),
            };
            events.push(format!(r#"{{"name": "e{number}", {at}, {about}}}"#));
        }
        members.push(member("events", &format!("[{}]", events.join(",\n"))));
        Ok(())
    }

    fn about_task(&self, u: &mut Unstructured<'_>) -> Result<String> {
        let act = match u.int_in_range(0..=6)? {
            0 => member("nice", &u.int_in_range(-20..=19)?.to_string()),
            1 => member("weight", &u.int_in_range(1..=10_000)?.to_string()),
            2 => member("cpus", &some_cpus(u, self.cpus)?),
            3 | 4 if self.smt > 1 => cookie(u)?,
            5 => member("move", &format!("\"{}\"", u.choose(&["/", "/o", "/o/x", "/p"])?)),
            // what a killed task holds with pi_enabled is no legal file
            _ => member("signal", u.choose(&[r#""SIGSTOP""#, r#""SIGCONT""#])?),
        };
        Ok(format!(r#""task": "t{}", {act}"#, u.int_in_range(0..=self.tasks - 1)?))
    }

    fn about_cpu(&self, u: &mut Unstructured<'_>) -> Result<String> {
        let cpu = u.int_in_range(0..=self.cpus - 1)?;
        let act = match u.ratio(3, 4)? {
            true => member("online", &u.arbitrary::<bool>()?.to_string()),
            false => {
                let of = u.choose(&["ext_server.runtime", "fair_server.runtime"])?;
                member(of, &u.int_in_range(0..=100_000)?.to_string())
            }
        };
        Ok(format!(r#""cpu": {cpu}, {act}"#))
    }
}

/// Core scheduling, for machines with siblings.
pub(super) fn cookie(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(member("core_cookie", u.choose(&[r#""""#, r#""A""#, r#""B""#])?))
}

fn some_cpus(u: &mut Unstructured<'_>, cpus: u32) -> Result<String> {
    let mut some = vec![u.int_in_range(0..=cpus - 1)?];
    some.extend((0..cpus).filter(|_| u.arbitrary() == Ok(true)));
    Ok(format!("{some:?}"))
}

fn about_group(u: &mut Unstructured<'_>, cpus: u32) -> Result<String> {
    let act = match u.int_in_range(0..=5)? {
        0 => member("cpu.weight", &u.int_in_range(1..=10_000)?.to_string()),
        1 => member("cpu.max", u.choose(&[r#""max""#, r#""2000 10000""#, r#""50000 100000""#])?),
        2 => member("cpu.idle", u.choose(&["0", "1"])?),
        3 => member("cpuset.cpus", &some_cpus(u, cpus)?),
        4 => member("destroy", "true"),
        _ => member("create", "true"),
    };
    Ok(format!(r#""cgroup": "{}", {act}"#, u.choose(&MADE)?))
}
