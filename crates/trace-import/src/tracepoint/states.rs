// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `prev_state` of `sched_switch` says, which differs between kernels.

use crate::record::Left;

/// Which bits mean what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct States {
    /// Bits of all states.
    known: u64,
    /// Bits of tasks that have ended.
    dead: u64,
    /// Bits of tasks that sleep uninterruptibly.
    deep: u64,
}

impl States {
    /// Those of kernels since 4.14 (`TASK_REPORT`, include/linux/sched.h).
    pub(crate) const MODERN: States = States { known: 0xff, dead: 0x30, deep: 2 };

    /// By the letters in the tracepoint's format: `{ 0x00000001, "S" }, …`. X, Z and x have ended.
    pub(super) fn of_format(print: &str) -> Result<Self, String> {
        let mut states = States { known: 0, dead: 0, deep: 0 };
        for entry in print.split('{').skip(1) {
            let Some((number, rest)) = entry.split_once(',') else { continue };
            let number = number.trim();
            let bits = match number.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => number.parse(),
            };
            let Ok(bits) = bits else { continue };
            states.known |= bits;
            let letter = rest.trim_start().trim_start_matches('"');
            if is_dead(letter) {
                states.dead |= bits;
            } else if letter.starts_with('D') {
                states.deep |= bits;
            }
        }
        match states.dead {
            0 => Err("expected the letters of prev_state in it".into()),
            _ => Ok(states),
        }
    }

    /// Why a task left. A bit above those of states says that it was preempted.
    pub(crate) fn left(self, state: u64) -> Left {
        match state {
            state if state & self.known == 0 || state & !self.known != 0 => Left::Runnable,
            state if state & self.dead != 0 => Left::Exit,
            state => Left::Sleep { deep: state & self.deep != 0 },
        }
    }
}

/// Why a task left, by the letters of a text; `None`: they are none of a state.
pub(crate) fn of_letters(text: &str) -> Option<Left> {
    let mut letters = text.split('|');
    match text {
        "" => None,
        text if text.ends_with('+') => Some(Left::Runnable),
        "R" => Some(Left::Runnable),
        _ if letters.any(is_dead) => Some(Left::Exit),
        text if text.bytes().all(|letter| b"SDTtPIKWNw|".contains(&letter)) => {
            Some(Left::Sleep { deep: text.contains('D') })
        }
        _ => None,
    }
}

fn is_dead(letter: &str) -> bool {
    letter.starts_with(['X', 'Z', 'x'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18, and 3.10 with its states after TASK_DEAD.
    const NEW: &str = r#"{ 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R""#;
    const OLD: &str = r#"{ 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "W" }) : "R""#;

    #[test]
    fn bits_mean_what_the_format_says() {
        let new = States::of_format(NEW).unwrap();
        assert_eq!(new, States::MODERN);
        let lefts = [0, 0x100, 1, 2, 0x10, 0x20, 0x40, 0x80].map(|state| new.left(state));
        use Left::{Exit, Runnable};
        let (sleep, deep) = (Left::Sleep { deep: false }, Left::Sleep { deep: true });
        assert_eq!(lefts, [Runnable, Runnable, sleep, deep, Exit, Exit, sleep, sleep]);
        let old = States::of_format(OLD).unwrap();
        // In kernels before 4.14 a preempted task may have a state, too.
        assert_eq!([1, 64, 0x401].map(|state| old.left(state)), [sleep, Exit, Runnable]);
        assert!(States::of_format("\"%d\", REC->prev_state").is_err());
    }

    #[test]
    fn letters_say_the_same() {
        use Left::{Exit, Runnable};
        let (sleep, deep) = (Left::Sleep { deep: false }, Left::Sleep { deep: true });
        for (text, left) in [
            ("R", Some(Runnable)),
            ("R+", Some(Runnable)),
            ("S+", Some(Runnable)),
            ("S", Some(sleep)),
            ("D|W", Some(deep)),
            ("I", Some(sleep)),
            ("X", Some(Exit)),
            ("Z", Some(Exit)),
            ("x", Some(Exit)),
            ("", None),
            ("?", None),
        ] {
            assert_eq!(of_letters(text), left, "{text}");
        }
    }
}
