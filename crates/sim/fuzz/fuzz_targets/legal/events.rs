// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of a task or a phase.

use super::spans::span;
use super::tasks::Own;
use super::{member, File};
use libfuzzer_sys::arbitrary::{Result, Unstructured};

/// The longest span, in microseconds.
const SPAN: u32 = 6_000;
/// Between two forks a task works so long at least, so that forks do not become ever more at once.
const BETWEEN_FORKS: u32 = 300;

impl File {
    /// Some, one of which takes time: else a loop would never end.
    pub(super) fn events(&self, u: &mut Unstructured<'_>, own: &Own) -> Result<Vec<String>> {
        let mut events = Vec::new();
        for _ in 0..u.int_in_range(0..=6)? {
            let event = match u.int_in_range(0..=9)? {
                0..=2 => self.time(u)?,
                3 if u.arbitrary()? => {
                    // Else most tasks soon wait for ever.
                    let (mutex, held) = (u.int_in_range(0..=1)?, span(u, SPAN)?);
                    let m = format!("\"m{mutex}\"");
                    events.extend([member("lock", &m), member("run", &held)]);
                    ("unlock", m)
                }
                3 => self.lock(u)?,
                4 | 5 => self.meeting(u, own)?,
                6 => memory(u)?,
                7 => flow(u)?,
                8 if self.sockets > 0 => self.send(u, false)?,
                _ => self.other(u, own)?,
            };
            // Keys may repeat, or have any ending.
            let (key, value) = event;
            let ending = *u.choose(&["", "1", "_a", " b"])?;
            events.push(member(&format!("{key}{ending}"), &value));
        }
        let forks = events.iter().any(|event| event.starts_with("\"fork"));
        let least = if forks { BETWEEN_FORKS } else { 1 };
        let at = u.int_in_range(0..=events.len())?;
        events.insert(at, member("run", &u.int_in_range(least..=least + SPAN / 10)?.to_string()));
        Ok(events)
    }

    fn time(&self, u: &mut Unstructured<'_>) -> Result<(&'static str, String)> {
        let reference = u.choose(&["unique", "unique2", "shared", "other"])?;
        let mode = u.choose(&["", r#", "mode": "relative""#, r#", "mode": "absolute""#])?;
        Ok(match u.int_in_range(0..=4)? {
            0 => ("run", span(u, SPAN)?),
            1 => ("runtime", span(u, SPAN)?),
            2 => ("sleep", span(u, SPAN)?),
            3 => ("yield", r#""""#.into()),
            _ => {
                let period = span(u, SPAN)?;
                ("timer", format!(r#"{{"ref": "{reference}", "period": {period}{mode}}}"#))
            }
        })
    }

    fn lock(&self, u: &mut Unstructured<'_>) -> Result<(&'static str, String)> {
        let (mutex, condition) = (u.int_in_range(0..=1)?, u.int_in_range(0..=1)?);
        let both = match u.ratio(1, 6)? {
            true => "{}".to_owned(),
            false => format!(r#"{{"ref": "c{condition}", "mutex": "m{mutex}"}}"#),
        };
        Ok(match u.int_in_range(0..=7)? {
            0 | 1 => ("lock", format!("\"m{mutex}\"")),
            2 | 3 => ("unlock", format!("\"m{mutex}\"")),
            4 => ("wait", both),
            5 => ("sync", both),
            6 => ("signal", format!("\"c{condition}\"")),
            _ => ("broad", format!("\"c{condition}\"")),
        })
    }

    fn meeting(&self, u: &mut Unstructured<'_>, own: &Own) -> Result<(&'static str, String)> {
        let number = u.int_in_range(0..=1)?;
        Ok(match u.int_in_range(0..=6)? {
            0 | 1 => ("sem_post", format!("\"p{number}\"")),
            2 => ("sem_wait", format!("\"p{number}\"")),
            3 => ("suspend", r#""""#.into()),
            4 => ("resume", format!("\"t{}\"", u.int_in_range(0..=self.tasks)?)),
            // Only those that are there from the beginning count.
            5 if own.instances > 0 => ("barrier", format!("\"b{number}\"")),
            _ => ("broad", format!("\"c{number}\"")),
        })
    }

    /// Only later tasks are forked, so that forks of forks come to an end.
    fn other(&self, u: &mut Unstructured<'_>, own: &Own) -> Result<(&'static str, String)> {
        let last = self.tasks - 1;
        if own.number < last && u.arbitrary()? {
            let task = u.int_in_range(own.number + 1..=last)?;
            if u.ratio(1, 3)? {
                let (number, run) = (u.int_in_range(0..=1)?, u.int_in_range(0..=50)?);
                let call = format!(r#""fork": "t{task}", "run": {run}, "sem_wait": "p{number}""#);
                return Ok(("vfork", format!("{{{call}}}")));
            }
            return Ok(("fork", format!("\"t{task}\"")));
        }
        if u.ratio(1, 4)? {
            return Ok(("exit", format!("\"p{}\"", u.int_in_range(0..=1)?)));
        }
        Ok(("yield", r#""""#.into()))
    }
}

fn memory(u: &mut Unstructured<'_>) -> Result<(&'static str, String)> {
    let count = u.int_in_range(0..=1_000_000)?;
    Ok(match u.int_in_range(0..=4)? {
        0 => ("mem", count.to_string()),
        1 => ("iorun", count.to_string()),
        2 => ("memrun", format!(r#"{{"type": "read", "size": 4096, "count": {count}}}"#)),
        // Who shares a buffer says the same of it.
        3 => {
            let shared = r#""type": "write", "size": 65536, "ref": "buffer""#;
            ("memrun", format!(r#"{{{shared}, "count": {count}}}"#))
        }
        _ => {
            let pattern = u.choose(&["random", "sequential"])?;
            let (stride, size) = (u.int_in_range(8..=4096)?, u.int_in_range(8192..=1 << 26)?);
            let place = format!(r#""size": {size}, "stride": {stride}, "pattern": "{pattern}""#);
            ("memrun", format!(r#"{{"type": "chase", {place}, "count": {}}}"#, count / 100))
        }
    })
}

/// At streams that are there by their name alone.
fn flow(u: &mut Unstructured<'_>) -> Result<(&'static str, String)> {
    let (stream, bytes) = (u.int_in_range(0..=1)?, u.int_in_range(1..=5_000u32)?);
    let calls = u.int_in_range(1..=bytes.min(20))?;
    let way = u.choose(&["put", "put", "take"])?;
    let run = u.int_in_range(0..=SPAN)?;
    Ok(("flow", format!(r#"{{"run": {run}, "{way}": {{"st{stream}": [{bytes}, {calls}]}}}}"#)))
}
