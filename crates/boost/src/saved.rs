// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to be taken back, in a file that outlives `kill -9`. It lies below `/run`, which a
//! reboot empties, as it does everything else.
//!
//! A slot per boosted thread, written before the thread is changed: 40 bytes, whose first word
//! is 0 in an empty slot. A slot is written in one go, so it is there or not.

use crate::error::BoostError;
use crate::syscalls::Attr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 16] = b"rota boost 1\n\0\0\0";
const SLOT: usize = 40;
const USED: u32 = 0x626f_6f73;

/// A boosted thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The thread.
    pub tid: u32,
    /// When it began: another thread may get its id.
    pub started: u64,
    /// What it had.
    pub before: Attr,
    /// The nice value that it was given.
    pub nice: i32,
}

/// The file.
#[derive(Debug)]
pub struct SavedFile {
    file: File,
    path: PathBuf,
    /// Slots that were used once and are free.
    free: Vec<u32>,
    slots: u32,
}

impl SavedFile {
    /// Opens or makes it, and returns what an earlier daemon left in it. Only one's own user
    /// may read it.
    pub fn open(path: &Path) -> Result<(Self, Vec<Saved>), BoostError> {
        let failed = |verb| move |e| BoostError::file(verb, path, e);
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            let made = DirBuilder::new().recursive(true).mode(0o755).create(directory);
            made.map_err(failed("create the directory of"))?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.custom_flags(libc::O_NOFOLLOW).open(path).map_err(failed("open"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let left = decode(&bytes)
            .map_err(|what| BoostError::Corrupt { path: path.into(), what: what.into() })?;
        let saved = Self { file, path: path.into(), free: Vec::new(), slots: 0 };
        Ok((saved, left))
    }

    /// Forgets what an earlier daemon left: it was taken back.
    pub fn clear(&mut self) -> Result<(), BoostError> {
        let failed = |e| BoostError::file("write", &self.path, e);
        self.file.set_len(0).map_err(failed)?;
        self.file.write_all_at(MAGIC, 0).map_err(failed)?;
        (self.slots, self.free) = (0, Vec::new());
        Ok(())
    }

    /// Writes a new entry; returns its slot.
    pub fn add(&mut self, saved: &Saved) -> std::io::Result<u32> {
        let slot = self.free.pop().unwrap_or(self.slots);
        if let Err(error) = self.write(slot, saved) {
            if slot < self.slots {
                self.free.push(slot);
            }
            return Err(error);
        }
        self.slots = self.slots.max(slot + 1);
        Ok(slot)
    }

    /// Changes an entry.
    pub fn write(&self, slot: u32, saved: &Saved) -> std::io::Result<()> {
        self.file.write_all_at(&encode(saved), offset(slot))
    }

    /// Its thread is as it was.
    pub fn remove(&mut self, slot: u32) -> std::io::Result<()> {
        self.file.write_all_at(&[0; SLOT], offset(slot))?;
        self.free.push(slot);
        Ok(())
    }
}

fn offset(slot: u32) -> u64 {
    MAGIC.len() as u64 + u64::from(slot) * SLOT as u64
}

fn encode(saved: &Saved) -> [u8; SLOT] {
    let mut bytes = [0; SLOT];
    bytes[..4].copy_from_slice(&USED.to_ne_bytes());
    bytes[4..8].copy_from_slice(&saved.tid.to_ne_bytes());
    bytes[8..16].copy_from_slice(&saved.started.to_ne_bytes());
    bytes[16..20].copy_from_slice(&saved.before.policy.to_ne_bytes());
    bytes[20..24].copy_from_slice(&saved.before.nice.to_ne_bytes());
    bytes[24..28].copy_from_slice(&saved.nice.to_ne_bytes());
    bytes[28..32].copy_from_slice(&(saved.before.flags as u32).to_ne_bytes());
    bytes[32..].copy_from_slice(&saved.before.slice_ns.to_ne_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Result<Vec<Saved>, &'static str> {
    // One that was not begun yet.
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let slots = bytes.strip_prefix(MAGIC).ok_or("it begins with something else")?;
    let mut saved = Vec::new();
    for slot in slots.chunks_exact(SLOT) {
        let word =
            |at: usize| u32::from_ne_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]);
        let long = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&slot[at..at + 8]);
            u64::from_ne_bytes(bytes)
        };
        match word(0) {
            0 => continue,
            USED => {}
            _ => return Err("a slot is damaged"),
        }
        saved.push(Saved {
            tid: word(4),
            started: long(8),
            before: Attr {
                policy: word(16),
                nice: word(20) as i32,
                flags: u64::from(word(28)),
                slice_ns: long(32),
            },
            nice: word(24) as i32,
        });
    }
    Ok(saved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn saved(tid: u32) -> Saved {
        let before = Attr { policy: 0, flags: 1, nice: -2, slice_ns: 2_800_000 };
        Saved { tid, started: 1 << 40, before, nice: -7 }
    }

    #[test]
    fn what_is_not_removed_is_found_by_the_next() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("below/boost.saved");
        let (mut file, left) = SavedFile::open(&path).expect("made");
        assert_eq!(left, []);
        file.clear().expect("written");
        let first = file.add(&saved(1)).expect("added");
        file.add(&saved(2)).expect("added");
        file.remove(first).expect("removed");
        assert_eq!(file.add(&saved(3)).expect("added"), first, "slots are used again");
        file.write(first, &Saved { nice: -6, ..saved(3) }).expect("changed");
        drop(file);

        let (mut file, left) = SavedFile::open(&path).expect("opened");
        assert_eq!(left, [Saved { nice: -6, ..saved(3) }, saved(2)]);
        file.clear().expect("cleared");
        assert_eq!(SavedFile::open(&path).expect("opened").1, []);
    }

    #[test]
    fn other_files_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("other");
        std::fs::write(&path, "something else that is long enough").expect("written");
        let error = SavedFile::open(&path).expect_err("refused").to_string();
        assert!(error.contains("other: is not what"), "{error}");
    }

    proptest! {
        #[test]
        fn entries_read_back(tid: u32, started: u64, policy: u32, flags: u32, nice: i32, slice_ns: u64, given: i32) {
            let before = Attr { policy, flags: flags.into(), nice, slice_ns };
            let saved = Saved { tid, started, before, nice: given };
            let bytes = [&MAGIC[..], &encode(&saved)].concat();
            prop_assert_eq!(decode(&bytes), Ok(vec![saved]));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let _ = decode(&[&MAGIC[..], &bytes].concat());
        }
    }
}
