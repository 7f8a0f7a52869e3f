// SPDX-License-Identifier: MIT OR Apache-2.0
//! A letter for each task that the timeline shows: the same one as long as it is to be seen there.

/// A task that has no letter of its own.
pub(crate) const NO_LETTER: u8 = b'#';

const LETTERS: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Who has which letter.
#[derive(Debug, Default)]
pub(crate) struct Letters {
    /// In the order of the letters: the task, and when it was shown last.
    owners: Vec<(u32, u64)>,
}

impl Letters {
    /// The letter of a task that is shown at a time. All others that were shown since `since_ns`
    /// keep theirs.
    pub(crate) fn show(&mut self, pid: u32, at_ns: u64, since_ns: u64) -> u8 {
        let own = self.owners.iter().position(|(owner, _)| *owner == pid);
        let slot = own.or_else(|| {
            if self.owners.len() < LETTERS.len() {
                self.owners.push((pid, at_ns));
                return Some(self.owners.len() - 1);
            }
            self.owners.iter().position(|(_, shown_ns)| *shown_ns < since_ns)
        });
        let Some(slot) = slot else { return NO_LETTER };
        self.owners[slot] = (pid, at_ns);
        LETTERS[slot]
    }

    /// The letter that a task has.
    pub(crate) fn of(&self, pid: u32) -> Option<u8> {
        let slot = self.owners.iter().position(|(owner, _)| *owner == pid)?;
        Some(LETTERS[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_keeps_its_letter_while_it_is_shown() {
        let mut letters = Letters::default();
        for pid in 1..=52 {
            letters.show(pid, u64::from(pid), 0);
        }
        assert_eq!(
            (letters.of(1), letters.of(2), letters.of(52)),
            (Some(b'A'), Some(b'B'), Some(b'z'))
        );
        // All have one, and all are to be seen since 1.
        assert_eq!(letters.show(53, 53, 1), NO_LETTER);
        // Task 1 was shown at 1 last: its letter is free for those who look at 2 and later.
        assert_eq!(letters.show(53, 54, 2), b'A');
        assert_eq!((letters.of(1), letters.of(53)), (None, Some(b'A')));
        assert_eq!(letters.show(2, 55, 2), b'B');
    }
}
