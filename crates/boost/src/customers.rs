// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who counts as a customer: nobody is their own. What the BPF programs find out about the other
//! end of a socket is a set of bits; the policy here becomes a table with an answer for each set.

use std::fmt;
use std::str::FromStr;

/// The other end is another machine, or looks like it.
pub const REMOTE: u32 = 1;
/// It is on this machine, but nobody knows who.
pub const UNKNOWN: u32 = 2;
/// The same process.
pub const SAME_PROCESS: u32 = 4;
/// Parent, child, or further up or down.
pub const FAMILY: u32 = 8;
/// The same session.
pub const SAME_SESSION: u32 = 16;
/// The same user.
pub const SAME_USER: u32 = 32;
/// The same cgroup.
pub const SAME_CGROUP: u32 = 64;
/// It works for a customer itself.
pub const ON_BEHALF: u32 = 128;

/// A kind of customer that a user may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Remote,
    OtherUser,
    OtherSession,
    OtherCgroup,
    Unknown,
    OnBehalf,
}

const NAMES: [(&str, Kind); 6] = [
    ("remote", Kind::Remote),
    ("other-user", Kind::OtherUser),
    ("other-session", Kind::OtherSession),
    ("other-cgroup", Kind::OtherCgroup),
    ("on-behalf", Kind::OnBehalf),
    ("unknown", Kind::Unknown),
];

/// A policy: a list of kinds, any of which makes a customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Customers(Vec<Kind>);

impl Default for Customers {
    /// Other machines, other users, and who works for one of these.
    fn default() -> Self {
        Self(vec![Kind::Remote, Kind::OtherUser, Kind::OnBehalf])
    }
}

impl Customers {
    /// Is somebody in this relation a customer? Never the process itself and its family.
    pub fn accept(&self, relation: u32) -> bool {
        if relation & (SAME_PROCESS | FAMILY) != 0 {
            return false;
        }
        let local = relation & (REMOTE | UNKNOWN) == 0;
        self.0.iter().any(|kind| match kind {
            Kind::Remote => relation & REMOTE != 0,
            Kind::Unknown => relation & UNKNOWN != 0,
            Kind::OtherUser => local && relation & SAME_USER == 0,
            Kind::OtherSession => local && relation & SAME_SESSION == 0,
            Kind::OtherCgroup => local && relation & SAME_CGROUP == 0,
            Kind::OnBehalf => local && relation & ON_BEHALF != 0,
        })
    }

    /// The answers for all relations: bit `r % 64` of word `r / 64`.
    pub fn table(&self) -> [u64; 4] {
        let mut words = [0; 4];
        for relation in (0..256u32).filter(|r| self.accept(*r)) {
            words[relation as usize / 64] |= 1 << (relation % 64);
        }
        words
    }
}

impl FromStr for Customers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut kinds = Vec::new();
        for word in text.split(',').map(str::trim) {
            let found = NAMES.iter().find(|(name, _)| *name == word);
            let Some((_, kind)) = found else {
                let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
                return Err(format!("{word:?}: expected a list of {}", names.join(", ")));
            };
            if !kinds.contains(kind) {
                kinds.push(*kind);
            }
        }
        Ok(Self(kinds))
    }
}

impl fmt::Display for Customers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |kind: &Kind| NAMES.iter().find(|(_, k)| k == kind).map_or("", |(name, _)| name);
        f.write_str(&self.0.iter().map(name).collect::<Vec<_>>().join(","))
    }
}

/// A relation in words, for logs.
pub fn describe(relation: u32) -> String {
    if relation & REMOTE != 0 {
        return "another machine".into();
    }
    if relation & UNKNOWN != 0 {
        return "this machine, sender unknown".into();
    }
    if relation & SAME_PROCESS != 0 {
        return "the process itself".into();
    }
    if relation & FAMILY != 0 {
        return "its own family".into();
    }
    let other = |bit, what| (relation & bit == 0).then_some(what);
    let mut words: Vec<&str> = [
        other(SAME_USER, "another user"),
        other(SAME_SESSION, "another session"),
        other(SAME_CGROUP, "another cgroup"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if words.is_empty() {
        words.push("the same user, session and cgroup");
    }
    if relation & ON_BEHALF != 0 {
        words.push("on behalf of a customer");
    }
    words.join(", ")
}

/// Roles of the end that received, as bits of what the programs get: who accepted the connection.
const SERVER: u32 = 1 << 1;
/// Who connected, and ends that nothing is known of.
const CLIENT_AND_PAIR: u32 = 1 << 2 | 1 << 3;

/// What is done for who gets an answer. Servers are elevated in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clients {
    /// Nothing.
    None,
    /// A short slice, and a nice value while it uses no more than its fair share: it comes
    /// sooner, and gets no more.
    #[default]
    Fair,
    /// What it receives counts as a request, as in the paper.
    Full,
}

const CLIENTS: [(&str, Clients); 3] =
    [("none", Clients::None), ("fair", Clients::Fair), ("full", Clients::Full)];

impl Clients {
    /// The roles that have requests, as the programs take them.
    pub fn roles(self) -> u32 {
        SERVER | if self == Self::Full { CLIENT_AND_PAIR } else { 0 }
    }

    /// The roles that wait for answers.
    pub fn waiters(self) -> u32 {
        if self == Self::Fair {
            CLIENT_AND_PAIR
        } else {
            0
        }
    }
}

impl FromStr for Clients {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = CLIENTS.iter().find(|(name, _)| *name == text);
        found.map(|(_, clients)| *clients).ok_or_else(|| "expected none, fair or full".into())
    }
}

impl fmt::Display for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLIENTS.iter().find(|(_, c)| c == self).map_or("", |(name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy(text: &str) -> Customers {
        text.parse().expect("a policy")
    }

    #[test]
    fn a_customer_is_somebody_else() {
        let friend = SAME_USER | SAME_CGROUP;
        for (who, relation, expected) in [
            ("remote", REMOTE, true),
            ("remote", 0, false),
            ("remote", UNKNOWN, false),
            ("unknown", UNKNOWN, true),
            ("other-user", SAME_SESSION | SAME_CGROUP, true),
            ("other-user", friend, false),
            ("other-session", friend, true),
            ("other-session", friend | SAME_SESSION, false),
            ("other-cgroup", SAME_USER, true),
            ("other-user,on-behalf", friend | ON_BEHALF, true),
            ("other-user", friend | ON_BEHALF, false),
        ] {
            assert_eq!(policy(who).accept(relation), expected, "{who} {relation}");
        }
    }

    #[test]
    fn a_policy_reads_back_as_it_was_written() {
        let all = "remote,other-user,other-session,other-cgroup,on-behalf,unknown";
        assert_eq!(policy(all).to_string(), all);
        assert_eq!(policy("remote, other-user,on-behalf"), Customers::default());
        for bad in ["", "anybody", "remote;unknown", "remote,"] {
            assert!(bad.parse::<Customers>().is_err(), "{bad}");
        }
        for (name, clients) in CLIENTS {
            assert_eq!((name.parse(), clients.to_string()), (Ok(clients), name.to_owned()));
        }
        assert!("peer".parse::<Clients>().is_err());
    }

    #[test]
    fn who_waits_for_an_answer_has_a_request_or_a_fair_share_never_both() {
        for (_, clients) in CLIENTS {
            assert_eq!(clients.roles() & clients.waiters(), 0);
            assert_ne!(clients.roles() & SERVER, 0);
        }
    }

    proptest! {
        /// Whatever the policy: not oneself, and not one's family.
        #[test]
        fn nobody_is_their_own_customer(kinds in prop::collection::vec(0usize..6, 1..6), r in 0u32..256) {
            let customers = Customers(kinds.into_iter().map(|i| NAMES[i].1).collect());
            if r & (SAME_PROCESS | FAMILY) != 0 {
                prop_assert!(!customers.accept(r));
            }
            let table = customers.table();
            prop_assert_eq!(table[r as usize / 64] >> (r % 64) & 1 == 1, customers.accept(r));
        }

        #[test]
        fn any_text_is_a_policy_or_an_error(text in ".*") {
            let _ = text.parse::<Customers>();
            let _ = text.parse::<Clients>();
        }
    }
}
