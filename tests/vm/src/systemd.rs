// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of a guest that boots systemd: a small Debian, and the package to be tried in it.

use crate::guest::{self, Sources};
use crate::initramfs::Initramfs;
use anyhow::{bail, Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Units that a machine in a test has no use for. Each would take time at boot.
const MASKED: [&str; 22] = [
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "getty.target",
    "kmod-static-nodes.service",
    "ldconfig.service",
    "proc-sys-fs-binfmt_misc.automount",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-ask-password-console.path",
    "systemd-ask-password-wall.path",
    "systemd-journal-flush.service",
    "systemd-logind.service",
    "systemd-modules-load.service",
    "systemd-random-seed.service",
    "systemd-remount-fs.service",
    "systemd-sysctl.service",
    "systemd-tmpfiles-setup.service",
    "systemd-update-utmp.service",
    "systemd-user-sessions.service",
    "timers.target",
];

const ETC: [(&str, &str); 6] = [
    ("group", "root:x:0:\ntty:x:5:\nsystemd-journal:x:6:\n"),
    ("hostname", "guest\n"),
    ("machine-id", "0123456789abcdef0123456789abcdef\n"),
    ("passwd", "root:x:0:0:root:/root:/bin/sh\n"),
    ("os-release", "ID=guest\nNAME=guest\n"),
    // The console is for the kernel and for what goes wrong.
    ("systemd/system.conf", "[Manager]\nShowStatus=no\nLogTarget=journal\nLogColor=no\n"),
];

/// All files but the jobs. `system` is a Debian as [`crate::debian`] unpacks it; Rota's
/// package comes to lie at `/rota.deb`.
pub fn initramfs(sources: &Sources, system: &Path) -> Result<Initramfs> {
    let mut all = Initramfs::default();
    tree(&mut all, system, "")?;
    tree(&mut all, &sources.tests.join("systemd/system"), "etc/systemd/system")?;
    all.link("/usr/lib/systemd/systemd", "init");
    all.link("dash", "usr/bin/sh");
    all.link("jobs.target", "etc/systemd/system/default.target");
    for unit in MASKED {
        all.link("/dev/null", &format!("etc/systemd/system/{unit}"));
    }
    for (file, text) in ETC {
        all.text(text, &format!("etc/{file}"));
    }
    for folder in ["proc", "sys", "dev", "tmp", "run", "root", "var/log"] {
        all.folder(folder);
    }
    all.executable(&sources.guest, "usr/bin/rota-guest");
    if !sources.package.is_file() {
        bail!("there is no package {}: `make deb` builds it", sources.package.display());
    }
    all.file(&sources.package, "rota.deb");
    guest::bugs(&mut all, &sources.tests)?;
    Ok(all)
}

/// Adds a folder with all that is in it.
fn tree(all: &mut Initramfs, dir: &Path, guest: &str) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let at = format!("{guest}/{}", entry.file_name().to_string_lossy());
        if kind.is_symlink() {
            all.link(&fs::read_link(&path)?.to_string_lossy(), &at);
        } else if kind.is_dir() {
            all.folder(&at);
            tree(all, &path, &at)?;
        } else if entry.metadata()?.permissions().mode() & 0o111 != 0 {
            all.executable(&path, &at);
        } else {
            all.file(&path, &at);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_tree_keeps_its_links_folders_and_programs() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("empty")).unwrap();
        fs::create_dir(at("lib")).unwrap();
        fs::write(at("lib/text"), "a").unwrap();
        fs::write(at("lib/program"), "b").unwrap();
        fs::set_permissions(at("lib/program"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("lib", at("link")).unwrap();

        let mut found = Initramfs::default();
        tree(&mut found, dir.path(), "").unwrap();

        let mut expected = Initramfs::default();
        expected.folder("empty");
        expected.file(&at("lib/text"), "lib/text");
        expected.executable(&at("lib/program"), "lib/program");
        expected.link("lib", "link");
        assert_eq!(found, expected);
    }
}
