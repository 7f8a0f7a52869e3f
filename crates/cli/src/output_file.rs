// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that commands make. They are written beside their place and put there once they are
//! whole: a full disk, a kill or a crash of the computer leaves an earlier one as it was.

use crate::error::Error;
use rustix::fs::{linkat, AtFlags, OFlags, CWD};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{fchown, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// Where open files of this process have names.
const DESCRIPTORS: &str = "/proc/self/fd";

/// A file being written.
#[derive(Debug)]
pub(crate) struct OutputFile {
    /// As the user named it.
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A file without a name yet, and where it goes: nothing is left of it after a kill.
    Unnamed(File, PathBuf),
    /// The same where a file needs a name.
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
            Place::Unnamed(file, target) => {
                // The name may reach the disk before the content, which a crash would lose.
                file.sync_all()?;
                // Only a rename can replace a file.
                let linked = make_beside(&target, |path| link(&file, path))?;
                linked.into_temp_path().persist(&target)?;
                sync_dir(&target)
            }
            Place::Beside(file, target) => {
                file.as_file().sync_all()?;
                file.persist(&target)?;
                sync_dir(&target)
            }
            // A pipe has no disk, and of a file the earlier content is gone already.
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
        self.place.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.place.file().flush()
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
            return new_file(path);
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
    let new = new_file(&target).and_then(|place| {
        like(place.file(), &there)?;
        Ok(place)
    });
    match new {
        Ok(place) => Ok(place),
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
fn new_file(target: &Path) -> io::Result<Place> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(OFlags::TMPFILE.bits() as i32);
    // The name is given through this directory.
    let unnamed = Path::new(DESCRIPTORS).is_dir().then(|| options.open(dir_of(target)));
    if let Some(Ok(file)) = unnamed {
        return Ok(Place::Unnamed(file, target.into()));
    }
    let new = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
    Ok(Place::Beside(make_beside(target, new)?, target.into()))
}

fn dir_of(target: &Path) -> &Path {
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty());
    dir.unwrap_or(Path::new("."))
}

/// Makes something in the same directory, with a name that nothing has.
fn make_beside<T>(
    target: &Path,
    make: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<NamedTempFile<T>> {
    let name = target.file_name().ok_or(ErrorKind::IsADirectory)?;
    let prefix = format!(".{}.", name.to_string_lossy());
    Builder::new().prefix(&prefix).suffix(".part").make_in(dir_of(target), make)
}

/// So that a crash does not take the new name back. The file is whole under either name, and some
/// file systems cannot do it for directories: no reason to fail.
fn sync_dir(target: &Path) -> io::Result<()> {
    match File::open(dir_of(target)).and_then(|dir| dir.sync_all()) {
        // The disk is at fault.
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => Err(e),
        _ => Ok(()),
    }
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    let from = format!("{DESCRIPTORS}/{}", file.as_raw_fd());
    Ok(linkat(CWD, from, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// With owner and permissions of the one that it replaces.
fn like(file: &File, there: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (there.uid(), there.gid()) {
        fchown(file, Some(there.uid()), Some(there.gid()))?;
    }
    file.set_permissions(there.permissions())
}

impl Place {
    fn file(&self) -> &File {
        match self {
            Place::Beside(file, _) => file.as_file(),
            Place::Unnamed(file, _) | Place::Direct(file) => file,
        }
    }
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
        if matches!(file.place, Place::Unnamed(..)) {
            assert_eq!(names(dir.path()), ["a.csv"], "nothing that a kill would leave");
        }
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
    fn where_a_file_needs_a_name_it_is_put_in_place_too() {
        let dir = dir();
        let path = dir.path().join("a");
        std::fs::write(&path, "old").expect("written");
        let new = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
        let place = Place::Beside(make_beside(&path, new).expect("a file"), path.clone());
        let file = OutputFile { path: path.clone(), place };
        assert_eq!(names(dir.path()).len(), 2);
        file.finish_with(b"new").expect("written");
        assert_eq!(std::fs::read(&path).expect("a file"), b"new");
        assert_eq!(names(dir.path()), ["a"]);
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
