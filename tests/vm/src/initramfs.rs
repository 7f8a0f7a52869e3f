// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guest's files, as an archive that the kernel unpacks at boot.
//!
//! It is not compressed, as an emulated CPU unpacks slower than it copies. The same files give
//! the same bytes: sorted names, no times, no owners.

use crate::libraries;
use anyhow::{Context, Result};
use cpio::newc::{self, ModeFileType};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    File(PathBuf),
    Program(PathBuf),
    Text(Vec<u8>),
    Link(String),
}

/// Files to be packed, by their paths in the guest, without the leading slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Initramfs {
    nodes: BTreeMap<String, Node>,
}

impl Initramfs {
    /// Adds a program, and the libraries that it needs.
    pub fn program(&mut self, host: &Path, guest: &str) -> Result<()> {
        for library in libraries::of(host)? {
            let path = library.display().to_string();
            self.put(&path, Node::Program(library));
        }
        self.put(guest, Node::Program(host.to_owned()));
        Ok(())
    }

    /// Adds a program whose libraries are there, or that needs none.
    pub fn executable(&mut self, host: &Path, guest: &str) {
        self.put(guest, Node::Program(host.to_owned()));
    }

    /// Adds a file.
    pub fn file(&mut self, host: &Path, guest: &str) {
        self.put(guest, Node::File(host.to_owned()));
    }

    /// Adds a file with this content.
    pub fn text(&mut self, content: impl Into<Vec<u8>>, guest: &str) {
        self.put(guest, Node::Text(content.into()));
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, to: &str, guest: &str) {
        self.put(guest, Node::Link(to.to_owned()));
    }

    /// Adds a folder.
    pub fn folder(&mut self, guest: &str) {
        self.put(guest, Node::Folder);
    }

    fn put(&mut self, guest: &str, node: Node) {
        let path = guest.trim_matches('/');
        for (at, _) in path.match_indices('/') {
            self.nodes.entry(path[..at].to_owned()).or_insert(Node::Folder);
        }
        self.nodes.insert(path.to_owned(), node);
    }

    /// Writes the archive. Archives of one guest can follow each other in one file.
    pub fn write(&self, mut to: impl Write) -> Result<()> {
        for (i, (path, node)) in self.nodes.iter().enumerate() {
            let (kind, rights, content) = match node {
                Node::Folder => (ModeFileType::Directory, 0o755, Vec::new()),
                Node::File(host) => (ModeFileType::Regular, 0o644, read(host)?),
                Node::Program(host) => (ModeFileType::Regular, 0o755, read(host)?),
                Node::Text(text) => (ModeFileType::Regular, 0o644, text.clone()),
                Node::Link(target) => (ModeFileType::Symlink, 0o777, target.clone().into_bytes()),
            };
            let size =
                u32::try_from(content.len()).with_context(|| format!("{path} is too big"))?;
            let entry = newc::Builder::new(path)
                .ino(i as u32 + 1)
                .nlink(1)
                .mode(rights)
                .set_mode_file_type(kind);
            let mut writer = entry.write(&mut to, size);
            writer.write_all(&content)?;
            writer.finish()?;
        }
        newc::trailer(to)?;
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    fn bytes(initramfs: &Initramfs) -> Vec<u8> {
        let mut bytes = Vec::new();
        initramfs.write(&mut bytes).unwrap();
        bytes
    }

    /// `(path, mode, content)` of each entry.
    fn entries(mut archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut entries = Vec::new();
        loop {
            let mut reader = newc::Reader::new(archive).unwrap();
            if reader.entry().is_trailer() {
                return entries;
            }
            let (name, mode) = (reader.entry().name().to_owned(), reader.entry().mode());
            assert_eq!((reader.entry().mtime(), reader.entry().uid()), (0, 0));
            let mut content = Vec::new();
            reader.read_to_end(&mut content).unwrap();
            entries.push((name, mode, content));
            archive = reader.finish().unwrap();
        }
    }

    #[test]
    fn folders_come_before_what_is_in_them() {
        let mut initramfs = Initramfs::default();
        initramfs.text("x", "/a/b/c");
        initramfs.link("a/b/c", "init");
        assert_eq!(
            entries(&bytes(&initramfs)),
            [
                ("a".to_owned(), 0o40755, vec![]),
                ("a/b".to_owned(), 0o40755, vec![]),
                ("a/b/c".to_owned(), 0o100_644, b"x".to_vec()),
                ("init".to_owned(), 0o120_777, b"a/b/c".to_vec()),
            ]
        );
    }

    proptest! {
        #[test]
        fn the_order_in_which_files_are_added_does_not_matter(
            files in prop::collection::btree_map("[a-c]{1,3}(/[d-f]{1,3}){0,2}", "[ -~]{0,9}", 0..9),
        ) {
            let (mut forwards, mut backwards) = (Initramfs::default(), Initramfs::default());
            for (path, text) in &files {
                forwards.text(text.as_str(), path);
            }
            for (path, text) in files.iter().rev() {
                backwards.text(text.as_str(), path);
            }
            // A path that is file and folder at once has no meaning to preserve.
            let is_folder = |path: &String| {
                files.keys().any(|other| other.starts_with(&format!("{path}/")))
            };
            prop_assume!(!files.keys().any(is_folder));
            prop_assert_eq!(bytes(&forwards), bytes(&backwards));
            let packed = entries(&bytes(&forwards));
            for (path, text) in &files {
                prop_assert!(packed.iter().any(|(p, _, c)| p == path && c == text.as_bytes()));
            }
        }
    }
}
