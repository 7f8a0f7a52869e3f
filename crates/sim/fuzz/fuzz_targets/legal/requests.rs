// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets, those who send there, and those who serve.

use super::settings::Class;
use super::spans::span;
use super::{member, object, File};
use libfuzzer_sys::arbitrary::{Result, Unstructured};

/// The longest demand, in microseconds.
const DEMAND: u32 = 2_000;

impl File {
    /// `sockets` and `customers`.
    pub(super) fn requests(
        &self,
        u: &mut Unstructured<'_>,
        members: &mut Vec<String>,
    ) -> Result<()> {
        if self.sockets == 0 {
            return Ok(());
        }
        let mut sockets = Vec::new();
        for number in 0..self.sockets {
            let kind = *u.choose(&["unix", "tcp"])?;
            let value = match u.arbitrary()? {
                true => format!("\"{kind}\""),
                false => {
                    let backlog = *u.choose(&[1, 2, 5, 1_000_000])?;
                    format!(r#"{{"kind": "{kind}", "backlog": {backlog}}}"#)
                }
            };
            sockets.push(member(&format!("s{number}"), &value));
        }
        members.push(member("sockets", &object(&sockets)));
        let mut customers = Vec::new();
        for number in 0..u.int_in_range(0..=2)? {
            customers.push(member(&format!("c{number}"), &self.customers(u)?));
        }
        members.push(member("customers", &object(&customers)));
        Ok(())
    }

    fn customers(&self, u: &mut Unstructured<'_>) -> Result<String> {
        let mut keys = vec![member("to", &self.socket(u)?)];
        let is_regular = match u.int_in_range(0..=3)? {
            0 => {
                keys.push(member("rate", &u.int_in_range(1..=5_000)?.to_string()));
                true
            }
            1 => {
                keys.push(member("every", &u.int_in_range(100..=5_000)?.to_string()));
                true
            }
            2 => {
                let (first, gap) = (u.int_in_range(0..=9_000)?, u.int_in_range(0..=900)?);
                let demand = u.int_in_range(0..=DEMAND)?;
                let second = first + gap;
                keys.push(member("at", &format!("[{first}, [{second}, {demand}], {second}]")));
                false
            }
            _ => {
                keys.push(member("users", &u.int_in_range(1..=20)?.to_string()));
                if u.arbitrary()? {
                    keys.push(member("think", &span(u, 5_000)?));
                }
                false
            }
        };
        if is_regular && u.ratio(1, 3)? {
            keys.push(member("batch", &u.int_in_range(1..=10)?.to_string()));
        }
        if is_regular && u.ratio(1, 3)? {
            keys.push(member("on", &u.int_in_range(1..=9_000)?.to_string()));
            keys.push(member("off", &u.int_in_range(1..=9_000)?.to_string()));
        }
        for (key, most) in [("demand", DEMAND), ("delay", 9_000)] {
            if u.arbitrary()? {
                keys.push(member(key, &span(u, most)?));
            }
        }
        if u.ratio(1, 4)? {
            keys.push(member("count", &u.int_in_range(1..=50)?.to_string()));
        }
        Ok(object(&keys))
    }

    fn socket(&self, u: &mut Unstructured<'_>) -> Result<String> {
        Ok(format!("\"s{}\"", u.int_in_range(0..=self.sockets - 1)?))
    }

    /// `serves`: the sender has a request at hand, of which a part may be the demand.
    pub(super) fn send(
        &self,
        u: &mut Unstructured<'_>,
        serves: bool,
    ) -> Result<(&'static str, String)> {
        let to = self.socket(u)?;
        if u.ratio(1, 3)? {
            return Ok(("send", to));
        }
        let demand = match serves && u.arbitrary()? {
            true => r#"{"request": 0.4}"#.to_owned(),
            false => span(u, DEMAND)?,
        };
        let wait: bool = u.arbitrary()?;
        Ok(("send", format!(r#"{{"to": {to}, "demand": {demand}, "wait": {wait}}}"#)))
    }

    /// Each socket has servers; all but the last may hand requests over to the next one.
    pub(super) fn servers(&self, u: &mut Unstructured<'_>) -> Result<Vec<String>> {
        let mut servers = Vec::new();
        for number in 0..self.sockets {
            let mut keys = vec![member("instance", &u.int_in_range(1..=3)?.to_string())];
            keys.extend(self.settings(u, Class::Fair, true)?);
            keys.push(member("recv", &format!("\"s{number}\"")));
            for _ in 0..u.int_in_range(0..=2)? {
                let part = f64::from(u.int_in_range(1..=3_000)?) / 1000.0;
                let event = *u.choose(&["run", "runtime", "sleep"])?;
                keys.push(member(event, &format!(r#"{{"request": {part}}}"#)));
            }
            if u.ratio(1, 4)? {
                let (key, value) = self.send(u, true)?;
                keys.push(member(key, &value));
            }
            let next = number + 1;
            match next < self.sockets && u.arbitrary()? {
                true => {
                    let to = format!(r#"{{"to": "s{next}", "forward": true}}"#);
                    keys.push(member("send", &to));
                }
                false => keys.push(member("reply", &format!("\"s{number}\""))),
            }
            // Else a request that asks for nothing could be served for ever at one instant.
            keys.push(member("run9", "5"));
            servers.push(member(&format!("server{number}"), &object(&keys)));
        }
        Ok(servers)
    }
}
