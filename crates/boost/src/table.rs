// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a thread is elevated, and how fast that decays. [CAS Table 1]

use std::time::Duration;

/// Load average 1 in the units of the table: `avenrun` has 11 bits after the point.
pub const LOAD_ONE: u32 = 2048;

/// Through what kind of socket the request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// A UNIX socket: a user of this machine, or a service that works for one.
    Unix,
    /// A network socket.
    Network,
}

/// One elevation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elevation {
    /// Nice value, negative.
    pub nice: i32,
    /// After which it rises by one.
    pub delay: Duration,
}

/// Rows of Table 1: up to this load, nice of UNIX and network sockets, delay in milliseconds.
const ROWS: [(u32, i32, i32, u64); 7] = [
    (1600, 0, 0, 0),
    (3000, -1, 0, 200),
    (5000, -2, -1, 300),
    (8000, -4, -2, 400),
    (12000, -6, -3, 500),
    (16000, -7, -4, 600),
    (u32::MAX, -15, -5, 600),
];

/// The elevation at a load per CPU, in units of [`LOAD_ONE`]; `None` where there is none.
///
/// The paper's machine has one CPU. On one with more the load is divided by their number.
pub fn elevation(load_per_cpu: u32, family: Family) -> Option<Elevation> {
    let (_, unix, network, delay) = ROWS.into_iter().find(|row| load_per_cpu <= row.0)?;
    let nice = match family {
        Family::Unix => unix,
        Family::Network => network,
    };
    (nice < 0).then_some(Elevation { nice, delay: Duration::from_millis(delay) })
}

/// Is anybody elevated at this load?
pub fn is_active(load_per_cpu: u32) -> bool {
    elevation(load_per_cpu, Family::Unix).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nice(load: u32, family: Family) -> i32 {
        elevation(load, family).map_or(0, |e| e.nice)
    }

    /// [CAS Table 1], row by row, at its bounds.
    #[test]
    fn the_rows_are_those_of_the_paper() {
        for (load, unix, network, delay) in [
            (0, 0, 0, 0),
            (1600, 0, 0, 0),
            (1601, -1, 0, 200),
            (3000, -1, 0, 200),
            (3001, -2, -1, 300),
            (5000, -2, -1, 300),
            (8000, -4, -2, 400),
            (12000, -6, -3, 500),
            (16000, -7, -4, 600),
            (16001, -15, -5, 600),
        ] {
            assert_eq!((nice(load, Family::Unix), nice(load, Family::Network)), (unix, network));
            if let Some(e) = elevation(load, Family::Unix) {
                assert_eq!(e.delay.as_millis(), delay, "{load}");
            }
        }
    }

    proptest! {
        #[test]
        fn more_load_never_means_less_and_unix_comes_first(a: u32, b: u32) {
            let (low, high) = (a.min(b), a.max(b));
            for family in [Family::Unix, Family::Network] {
                prop_assert!(nice(high, family) <= nice(low, family));
            }
            prop_assert!(nice(a, Family::Unix) <= nice(a, Family::Network));
            prop_assert_eq!(is_active(a), nice(a, Family::Unix) < 0);
        }
    }
}
