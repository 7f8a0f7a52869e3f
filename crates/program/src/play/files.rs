// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that name files by path.

use super::{fail, sockets, value, Call, Kept, Played};
use crate::cgroups;
use crate::files::{Files, Place};
use crate::processors;
use crate::threads::Ret;
use crate::time::Clocks;
use rota_machine::user_half::groups::members_at_start;
use rota_machine::user_half::Live;
use rustix::fs::inotify::{add_watch, WatchFlags};
use rustix::fs::{memfd_create, MemfdFlags};
use rustix::process::{pidfd_getfd, PidfdGetfdFlags};
use std::fs::{File, Metadata};
use std::io::{self, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a call wants of the file.
enum Wants {
    Open { flags: i32 },
    Access { mode: u32 },
    Stat { to: u64 },
    Statx { to: u64 },
    ReadLink,
    Make,
    Remove,
    Watch { inotify: i32, mask: u32 },
}

pub(super) fn by_path(
    kept: &mut Kept,
    call: &Call,
    live: Option<&Live<'_>>,
    clocks: Clocks,
) -> io::Result<Played> {
    let [first, second, third, fourth, fifth, _] = call.args;
    let (at, wants) = match call.number {
        libc::SYS_open => (first, Wants::Open { flags: second as i32 }),
        libc::SYS_openat => (second, Wants::Open { flags: third as i32 }),
        libc::SYS_access => (first, Wants::Access { mode: second as u32 }),
        libc::SYS_faccessat | libc::SYS_faccessat2 => {
            (second, Wants::Access { mode: third as u32 })
        }
        libc::SYS_stat | libc::SYS_lstat => (first, Wants::Stat { to: second }),
        libc::SYS_newfstatat => (second, Wants::Stat { to: third }),
        libc::SYS_statx => (second, Wants::Statx { to: fifth }),
        libc::SYS_readlink => (first, Wants::ReadLink),
        libc::SYS_readlinkat => (second, Wants::ReadLink),
        libc::SYS_inotify_add_watch => {
            (second, Wants::Watch { inotify: first as i32, mask: third as u32 })
        }
        libc::SYS_mkdir => (first, Wants::Make),
        libc::SYS_mkdirat => (second, Wants::Make),
        libc::SYS_unlink => (first, Wants::Remove),
        libc::SYS_unlinkat => (second, Wants::Remove),
        _ => return Ok(Ret::Pass.into()),
    };
    let Some(mut path) = kept.memory.path(at)? else { return Ok(fail(libc::ENAMETOOLONG)) };
    let mut is_open = false;
    if !path.starts_with(b"/") && at != first {
        let flags = match call.number {
            libc::SYS_statx => third,
            libc::SYS_newfstatat => fourth,
            _ => 0,
        };
        is_open = path.is_empty() && flags as i32 & libc::AT_EMPTY_PATH != 0;
        if is_open || !path.is_empty() {
            path = from_open_folder(kept, first as i32, path);
        }
    }
    if let Some(live) = live {
        kept.follow(live);
    }
    let played = match kept.files.place(&path) {
        Place::Run => {
            return Ok(match wants {
                Wants::Make => value(0),
                Wants::Remove if sockets::unlink(kept, &path) => value(0),
                // it shows nothing
                Wants::Remove | Wants::Watch { .. } => fail(libc::ENOENT),
                _ => Ret::Pass.into(),
            });
        }
        Place::Own => return Ok(Ret::Pass.into()),
        Place::Played(path) => path,
        Place::Members { group, processes, file } => match wants {
            Wants::Open { flags } if flags & libc::O_ACCMODE == libc::O_RDONLY => {
                let members = match live {
                    Some(live) => live.system.group_members(&group, processes),
                    None => file.exists().then(|| members_at_start(&group)),
                };
                let Some(members) = members else { return Ok(fail(libc::ENOENT)) };
                let lines = members.into_iter().map(|pid| format!("{pid}\n"));
                return Ok(Played::File(of_text(&lines.collect::<String>())?));
            }
            _ => file,
        },
        place @ (Place::ProcStat | Place::Uptime) => {
            let text = match place {
                Place::ProcStat => processors::stat(&kept.topology, live, clocks),
                _ => processors::uptime(&kept.topology, live, clocks),
            };
            return Ok(match wants {
                Wants::Open { flags } if flags & libc::O_ACCMODE != libc::O_RDONLY => {
                    fail(libc::EACCES)
                }
                Wants::Open { .. } => Played::File(of_text(&text)?),
                Wants::Access { .. } => value(0),
                Wants::Watch { .. } => fail(libc::ENOENT),
                _ => Ret::Pass.into(),
            });
        }
    };
    let found = played.symlink_metadata();
    if found.is_err() && is_open {
        // removed, or with another one in its place
        return Ok(Ret::Pass.into());
    }
    if found.is_err() {
        kept.missed(&path);
    }
    Ok(match found {
        Ok(found) => want(kept, (&path, &played), &found, wants)?,
        Err(error) => fail(error.raw_os_error().unwrap_or(libc::ENOENT)),
    })
}

/// A path that a call gives as one from an open folder. It stays as it is if that is none of the
/// played tree.
fn from_open_folder(kept: &Kept, folder: i32, path: Vec<u8>) -> Vec<u8> {
    let open = std::fs::read_link(format!("/proc/{}/fd/{folder}", kept.pid));
    match open.ok().and_then(|open| kept.files.shown_name(&open)) {
        Some(folder) if path.is_empty() => folder,
        Some(folder) => [&folder[..], b"/", &path].concat(),
        None => path,
    }
}

/// What a call makes of a file: of its name in the program, and where it is.
fn want(
    kept: &mut Kept,
    (name, path): (&[u8], &Path),
    found: &Metadata,
    wants: Wants,
) -> io::Result<Played> {
    let inode = Files::name_of(name).and_then(|name| kept.shown.inode(&name)).unwrap_or(0);
    Ok(match wants {
        Wants::Open { flags } if flags & libc::O_ACCMODE != libc::O_RDONLY => fail(libc::EACCES),
        Wants::Open { flags } if flags & libc::O_DIRECTORY != 0 && !found.is_dir() => {
            fail(libc::ENOTDIR)
        }
        Wants::Open { .. } => Played::File(File::open(path)?),
        Wants::Access { mode } if mode & libc::W_OK as u32 != 0 => fail(libc::EACCES),
        Wants::Access { .. } => value(0),
        Wants::ReadLink => fail(libc::EINVAL),
        Wants::Make => fail(libc::EEXIST),
        Wants::Remove => fail(libc::EPERM),
        Wants::Watch { inotify, mask } => {
            let is_group = Files::name_of(name).is_some_and(|name| name.starts_with(cgroups::ROOT));
            kept.watches_groups |= is_group;
            watch(kept, inotify, path, mask)
        }
        Wants::Stat { to } => {
            kept.memory.write(to, &stat(found, inode))?;
            value(0)
        }
        Wants::Statx { to } => {
            kept.memory.write(to, &statx(found, inode))?;
            value(0)
        }
    })
}

/// `inotify_add_watch()` of a file of the played tree.
fn watch(kept: &Kept, inotify: i32, path: &Path, mask: u32) -> Played {
    let inotify = pidfd_getfd(&kept.pidfd, inotify, PidfdGetfdFlags::empty());
    let watch = |inotify| add_watch(inotify, path, WatchFlags::from_bits_retain(mask));
    match inotify.and_then(watch) {
        Ok(number) => value(number),
        Err(error) => fail(error.raw_os_error()),
    }
}

/// A file that can be read once it is in the program.
pub(super) fn of_text(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("rota-file", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// `struct stat` of x86-64, of a file of root without times.
fn stat(of: &Metadata, inode: u64) -> [u8; 144] {
    let mut bytes = [0; 144];
    bytes[8..16].copy_from_slice(&inode.to_le_bytes());
    bytes[16..24].copy_from_slice(&1_u64.to_le_bytes()); // links
    bytes[24..28].copy_from_slice(&mode(of).to_le_bytes());
    bytes[48..56].copy_from_slice(&size(of).to_le_bytes());
    bytes[56..64].copy_from_slice(&4096_u64.to_le_bytes()); // size of a block
    bytes
}

/// `struct statx`, likewise.
fn statx(of: &Metadata, inode: u64) -> [u8; 256] {
    let mut bytes = [0; 256];
    bytes[..4].copy_from_slice(&libc::STATX_BASIC_STATS.to_le_bytes());
    bytes[4..8].copy_from_slice(&4096_u32.to_le_bytes());
    bytes[16..20].copy_from_slice(&1_u32.to_le_bytes());
    bytes[28..30].copy_from_slice(&(mode(of) as u16).to_le_bytes());
    bytes[32..40].copy_from_slice(&inode.to_le_bytes());
    bytes[40..48].copy_from_slice(&size(of).to_le_bytes());
    bytes
}

/// As in sysfs: all may read, nobody may write.
fn mode(of: &Metadata) -> u32 {
    if of.is_dir() {
        libc::S_IFDIR | 0o555
    } else {
        libc::S_IFREG | 0o444
    }
}

fn size(of: &Metadata) -> u64 {
    if of.is_dir() {
        0
    } else {
        of.size()
    }
}
