// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening the file of runs, so that nobody else's is touched and two do not write into one.

use crate::error::Error;
use rustix::fs::{flock, FlockOperation, OFlags};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Names that are tried for a file of Rota's own, as a number of a process comes again.
const TRIES: u32 = 100;

/// Opens a file that the user named, or makes it; it is locked until it is closed.
pub(super) fn open(path: &Path) -> Result<(File, Vec<u8>), Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    // A FIFO without a reader would wait for one.
    options.custom_flags(OFlags::NONBLOCK.bits() as i32);
    let mut file = options.open(path).map_err(|e| Error::file("open", path, &e))?;
    let read = |e| Error::file("read", path, &e);
    if !file.metadata().map_err(read)?.is_file() {
        return Err(Error::input(format!(
            "--resume {}: not a regular file: expected one, or a new name",
            path.display()
        )));
    }
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            return Err(Error::Failure(format!(
                "--resume {}: the file is in use by another `rota compare`: wait for its end, or \
                 name another file",
                path.display()
            )))
        }
        Err(e) => return Err(Error::file("lock", path, &e.into())),
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(read)?;
    Ok((file, bytes))
}

/// A new file in the directory, locked, and its path; what others left there stays.
pub(super) fn create(dir: &Path) -> (PathBuf, Option<File>) {
    let id = std::process::id();
    let first = dir.join(format!("compare-{id}.jsonl"));
    if std::fs::create_dir_all(dir).is_err() {
        return (first, None);
    }
    for number in 1..=TRIES {
        let path = match number {
            1 => first.clone(),
            number => dir.join(format!("compare-{id}-{number}.jsonl")),
        };
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => {
                // Nobody else knows of it yet; a file system without locks is no reason to stop.
                let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
                return (path, Some(file));
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(_) => break,
        }
    }
    (first, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_file_is_for_one_at_a_time() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("runs.jsonl");
        let first = open(&path).expect("a new file");
        let second = open(&path).err().map(|e| (e.code(), e.to_string()));
        assert!(second.is_some_and(|(code, text)| code == 1 && text.contains("in use by another")));
        drop(first);
        assert!(open(&path).is_ok());
    }

    #[test]
    fn what_is_no_regular_file_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.expect("mkfifo starts").success());
        let (done, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for path in [&fifo, Path::new("/dev/null")] {
                let refused = open(path).err().map(|e| (e.code(), e.to_string()));
                let _ = done.send(refused);
            }
        });
        for _ in 0..2 {
            let refused = wait.recv_timeout(Duration::from_secs(20)).expect("it does not hang");
            let is_told = |(code, text): (u8, String)| code == 2 && text.contains("regular file");
            assert!(refused.is_some_and(is_told));
        }
        assert_eq!(open(dir.path()).err().map(|e| e.code()), Some(2));
    }

    #[test]
    fn runs_that_an_interrupted_process_left_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        let (one, first) = create(&dir.path().join("rota"));
        let (two, second) = create(&dir.path().join("rota"));
        assert!(one != two && first.is_some() && second.is_some());
        let file = dir.path().join("file");
        std::fs::write(&file, "").expect("written");
        assert!(create(&file).1.is_none());
    }
}
