// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that commands make. They are written beside their place and put there once they are
//! whole: a full disk or a kill leaves an earlier one as it was.

use crate::error::Error;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{fchown, MetadataExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// A file being written.
#[derive(Debug)]
pub(crate) struct OutputFile {
    /// As the user named it.
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A file beside it, and where that goes.
    Beside(NamedTempFile, PathBuf),
    /// It is a device or a pipe, or nothing can be put in its place.
    Direct(File),
}

impl OutputFile {
    /// Begins a file; early, as nobody wants to run in vain.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        let place = place(path).map_err(|e| Error::file("create", path, &e))?;
        Ok(Self { path: path.into(), place })
    }

    /// Completes it.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let flushed = self.flush();
        let put = flushed.and_then(|()| match self.place {
            Place::Beside(file, target) => Ok(file.persist(target).map(drop)?),
            Place::Direct(_) => Ok(()),
        });
        put.map_err(|e| cannot_write(&self.path, &e))
    }

    /// Fills and completes it.
    pub(crate) fn finish_with(mut self, content: &[u8]) -> Result<(), Error> {
        self.write_all(content).map_err(|e| cannot_write(&self.path, &e))?;
        self.finish()
    }
}

/// A file that is written at once.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    OutputFile::create(path)?.finish_with(content)
}

fn cannot_write(path: &Path, e: &io::Error) -> Error {
    Error::Failure(format!("cannot write {}: {e}", path.display()))
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.place {
            Place::Beside(file, _) => file.as_file_mut().write(bytes),
            Place::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.place {
            Place::Beside(file, _) => file.as_file_mut().flush(),
            Place::Direct(file) => file.flush(),
        }
    }
}

fn place(path: &Path) -> io::Result<Place> {
    let there = match std::fs::metadata(path) {
        Ok(there) => there,
        // A link to nowhere: what it names is made.
        Err(e) if e.kind() == ErrorKind::NotFound && path.is_symlink() => {
            return File::create(path).map(Place::Direct);
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Ok(Place::Beside(beside(path)?, path.into()));
        }
        Err(e) => return Err(e),
    };
    if !there.is_file() || is_an_output(path, &there) || there.nlink() > 1 {
        return File::create(path).map(Place::Direct);
    }
    // One that may not be written is not replaced either.
    OpenOptions::new().append(true).open(path)?;
    // Links stay, and what they name is replaced.
    let target = path.canonicalize()?;
    match beside(&target).and_then(|file| like(file, &there)) {
        Ok(file) => Ok(Place::Beside(file, target)),
        // Not in this directory, or not of this owner.
        Err(_) => File::create(path).map(Place::Direct),
    }
}

/// Whether somebody else has the file open for what this process says, as `/dev/stdout` may be.
fn is_an_output(path: &Path, there: &Metadata) -> bool {
    let is_it = |name| {
        let output = std::fs::metadata(name);
        output.is_ok_and(|o| (o.dev(), o.ino()) == (there.dev(), there.ino()))
    };
    ["/dev", "/proc"].iter().any(|of| path.starts_with(of))
        || ["/proc/self/fd/1", "/proc/self/fd/2"].into_iter().any(is_it)
}

/// A new file in the same directory, with the permissions that any new file gets.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty());
    let name = target.file_name().ok_or(ErrorKind::IsADirectory)?;
    let prefix = format!(".{}.", name.to_string_lossy());
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(".part");
    let new = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
    let file = builder.make_in(dir.unwrap_or(Path::new(".")), new)?;
    let (file, path) = file.into_parts();
    Ok(NamedTempFile::from_parts(file, path))
}

/// With owner and permissions of the one that it replaces.
fn like(file: NamedTempFile, there: &Metadata) -> io::Result<NamedTempFile> {
    let new = file.as_file().metadata()?;
    if (new.uid(), new.gid()) != (there.uid(), there.gid()) {
        fchown(file.as_file(), Some(there.uid()), Some(there.gid()))?;
    }
    file.as_file().set_permissions(there.permissions())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};

    fn dir() -> tempfile::TempDir {
        tempfile::tempdir().expect("a directory")
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).expect("a directory");
        let name = |e: io::Result<std::fs::DirEntry>| e.expect("an entry").file_name();
        let mut names: Vec<_> = entries.map(|e| name(e).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_earlier_file_stays_until_the_new_one_is_whole() {
        let dir = dir();
        let path = dir.path().join("a.csv");
        std::fs::write(&path, "old").expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).expect("set");
        let mut file = OutputFile::create(&path).expect("begun");
        file.write_all(b"ne").expect("written");
        assert_eq!(std::fs::read(&path).expect("a file"), b"old");
        drop(file);
        assert_eq!(std::fs::read(&path).expect("a file"), b"old");
        write(&path, b"new").expect("written");
        assert_eq!(std::fs::read(&path).expect("a file"), b"new");
        assert_eq!(std::fs::metadata(&path).expect("a file").mode() & 0o777, 0o640);
        assert_eq!(names(dir.path()), ["a.csv"]);
    }

    #[test]
    fn a_new_file_has_the_usual_permissions() {
        let dir = dir();
        write(&dir.path().join("a"), b"new").expect("written");
        std::fs::write(dir.path().join("b"), "new").expect("written");
        let mode = |name| std::fs::metadata(dir.path().join(name)).expect("a file").mode();
        assert_eq!(mode("a"), mode("b"));
    }

    #[test]
    fn links_stay_and_what_they_name_is_written() {
        let dir = dir();
        let path = |name| dir.path().join(name);
        std::fs::write(path("file"), "old").expect("written");
        std::fs::hard_link(path("file"), path("same")).expect("a link");
        symlink("later", path("link")).expect("a link");
        for text in ["new", "newer"] {
            write(&path("link"), text.as_bytes()).expect("written");
            write(&path("same"), text.as_bytes()).expect("written");
            assert!(path("link").is_symlink());
            for name in ["later", "file"] {
                assert_eq!(std::fs::read_to_string(path(name)).expect("a file"), text);
            }
        }
        assert_eq!(names(dir.path()), ["file", "later", "link", "same"]);
    }

    #[test]
    fn what_is_no_regular_file_is_written_directly() {
        write(Path::new("/dev/null"), b"gone").expect("written");
        let dir = dir();
        let fifo = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.expect("mkfifo starts").success());
        let from = fifo.clone();
        let reader = std::thread::spawn(move || std::fs::read(from));
        write(&fifo, b"through").expect("written");
        assert_eq!(reader.join().expect("read").expect("read"), b"through");
        assert!(!std::fs::metadata(&fifo).expect("still there").is_file());
    }

    #[test]
    fn where_no_file_can_be_is_told() {
        let dir = dir();
        for path in [dir.path().join("none/a.csv"), dir.path().into()] {
            let told = OutputFile::create(&path).err().map(|e| (e.code(), e.to_string()));
            let begin = format!("cannot create {}: ", path.display());
            assert!(told.is_some_and(|(code, text)| code == 2 && text.starts_with(&begin)));
        }
        assert_eq!(write(Path::new("/dev/full"), b"a").err().map(|e| e.code()), Some(1));
    }
}
