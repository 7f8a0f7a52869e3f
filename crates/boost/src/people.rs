// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which users are people, and which are services. Any person may write a program that looks like
//! a server with a customer, and may know somebody who plays the customer. Nobody can log in as a
//! service's user, so that its servers are what the administrator installed.

/// Ids of people who can log in: `UID_MIN` to `UID_MAX` of `/etc/login.defs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct People {
    first: u32,
    last: u32,
}

impl Default for People {
    /// The values that every distribution ships (login.defs(5)).
    fn default() -> Self {
        Self { first: 1000, last: 60_000 }
    }
}

/// From here on ids are of networks' directories, and of containers.
const BEYOND_SERVICES: u32 = 1 << 16;

impl People {
    /// As this machine has it.
    pub fn of_machine() -> Self {
        std::fs::read_to_string("/etc/login.defs").map_or(Self::default(), |text| Self::of(&text))
    }

    /// From the text of `login.defs`; what is not there or no number is the default.
    fn of(text: &str) -> Self {
        let value = |key: &str| {
            // The last one counts, as for login(1).
            let found = text.lines().rev().find_map(|line| {
                let mut words = line.split_whitespace();
                (words.next() == Some(key)).then(|| words.next().and_then(number)).flatten()
            });
            found.filter(|id| *id > 0)
        };
        let Self { first, last } = Self::default();
        Self { first: value("UID_MIN").unwrap_or(first), last: value("UID_MAX").unwrap_or(last) }
    }

    /// Is this user one of them? Of ids beyond those of services nobody knows: they may be.
    pub fn has(&self, uid: u32) -> bool {
        (self.first..=self.last).contains(&uid) || uid >= BEYOND_SERVICES
    }
}

/// As strtol(3) reads it with base 0.
fn number(word: &str) -> Option<u32> {
    match (word.strip_prefix("0x"), word.strip_prefix('0')) {
        (Some(hex), _) => u32::from_str_radix(hex, 16).ok(),
        (None, Some(octal)) if !octal.is_empty() => u32::from_str_radix(octal, 8).ok(),
        _ => word.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ids as systemd lists them (systemd.io/UIDS-GIDS): system users, people, dynamic service
    /// users, nobody, containers.
    #[test]
    fn people_are_told_from_services() {
        let people = People::default();
        for (uid, expected) in [
            (0, false),
            (999, false),
            (1000, true),
            (60_000, true),
            (61_184, false),
            (65_534, false),
            (65_536, true),
            (524_288, true),
            (u32::MAX, true),
        ] {
            assert_eq!(people.has(uid), expected, "{uid}");
        }
    }

    #[test]
    fn the_machines_own_limits_count() {
        let text = "# UID_MIN 7\nUID_MIN\t\t  500\nSYS_UID_MIN 100\nUID_MAX 0x10\nUID_MAX 070000\n";
        assert_eq!(People::of(text), People { first: 500, last: 0o70000 });
        assert_eq!(People::of("UID_MIN many\nUID_MAX"), People::default());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "((UID_M(IN|AX)|#)?[ \t]*[0-9a-fx-]{0,12}\n){0,6}.*") {
            let People { first, .. } = People::of(&text);
            prop_assert!(first > 0, "root is a service");
        }
    }
}
