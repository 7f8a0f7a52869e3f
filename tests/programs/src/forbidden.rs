// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program must not do: each line says what came of one attempt.

use anyhow::{Context, Result};
use rustix::process::{kill_process, Pid, Signal};
use std::fmt::Display;
use std::fs;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

fn tell<T, E: Display>(what: &str, result: Result<T, E>) {
    match result {
        Ok(_) => println!("{what}: done"),
        Err(error) => println!("{what}: {error}"),
    }
}

/// Tries to change a file and what is around it, to reach the network and to signal a process.
pub(crate) fn try_all(file: &str, pid: i32) -> Result<()> {
    let folder = Path::new(file).parent().context("a folder")?;
    let near = |name: &str| folder.join(name);
    tell("write", fs::write(file, "gone"));
    tell("append", fs::File::options().append(true).open(file));
    tell("truncate", fs::File::options().write(true).truncate(true).open(file));
    tell("remove", fs::remove_file(file));
    tell("rename", fs::rename(file, near("renamed")));
    tell("link", fs::hard_link(file, near("linked")));
    tell("symlink", std::os::unix::fs::symlink(file, near("symlinked")));
    tell("create", fs::write(near("new"), "new"));
    tell("make a folder", fs::create_dir(near("folder")));
    tell("chmod", fs::set_permissions(file, fs::Permissions::from_mode(0o777)));
    tell("chown", std::os::unix::fs::chown(file, Some(1), Some(1)));
    tell("by /proc", fs::write(format!("/proc/self/root{file}"), "gone"));
    tell("run another", std::process::Command::new("rm").arg("-f").arg(file).status());
    tell("tcp", TcpStream::connect("127.0.0.1:9"));
    tell("listen", TcpListener::bind("127.0.0.1:0"));
    tell("udp", UdpSocket::bind("127.0.0.1:0"));
    tell("unix", UnixStream::connect(near("socket")));
    let pid = Pid::from_raw(pid).context("a pid")?;
    tell("kill", kill_process(pid, Signal::KILL));
    tell("mount", mount(folder));
    let home = PathBuf::from(std::env::var_os("HOME").context("HOME")?);
    tell("write at home", fs::write(home.join("own"), "own"));
    Ok(())
}

/// Through a program, as this one has no call for it.
fn mount(folder: &Path) -> Result<()> {
    let status =
        std::process::Command::new("mount").arg("-t").arg("tmpfs").arg("x").arg(folder).status()?;
    anyhow::ensure!(status.success(), "{status}");
    Ok(())
}
