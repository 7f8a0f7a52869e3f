// SPDX-License-Identifier: MIT OR Apache-2.0
//! `make install`, `make uninstall` and `make static`.

use anyhow::{ensure, Context, Result};
use rota_e2e::command::root;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A script of `scripts/` with what it takes by environment, and nothing from the caller's.
fn script(name: &str, variables: &[(&str, &str)]) -> Result<Output> {
    let mut command = Command::new(root().join("scripts").join(name));
    for inherited in ["PREFIX", "SYSCONFDIR", "DESTDIR", "ZSHDIR", "SUDO_USER", "PROFILE"] {
        command.env_remove(inherited);
    }
    command.envs(variables.iter().copied()).output().context(name.to_owned())
}

fn run(name: &str, variables: &[(&str, &str)]) -> Result<()> {
    let output = script(name, variables)?;
    ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// All files below a directory, relative to it.
fn files(top: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut directories = vec![top.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            } else {
                let path = entry.path();
                found.insert(path.strip_prefix(top)?.to_string_lossy().into_owned());
            }
        }
    }
    Ok(found)
}

fn put(top: &Path, path: &str, text: &str) -> Result<()> {
    let path = top.join(path);
    fs::create_dir_all(path.parent().context("a directory")?)?;
    Ok(fs::write(path, text)?)
}

/// Files of others in the directories that are installed to.
const FOREIGN: [&str; 7] = [
    "opt/r/bin/rotate",
    "opt/r/lib/systemd/system/rot@.service",
    "opt/r/share/man/man1/rotatelogs.1",
    "opt/r/share/man/man8/rot@.service.8",
    "opt/r/share/bash-completion/completions/rotate",
    "opt/r/share/doc/rotatelogs/README.md",
    "opt/r/share/zsh/site-functions/_rotate",
];

#[test]
fn uninstall_takes_away_what_install_put_there_and_nothing_else() -> Result<()> {
    let tree = TempDir::new()?;
    let top = tree.path();
    for path in FOREIGN {
        put(top, path, "not ours")?;
    }
    put(top, "opt/etc/rota/wfq.conf", "mine")?;
    let before = files(top)?;
    let place = [
        ("DESTDIR", top.to_str().context("a path")?),
        ("PREFIX", "/opt/r"),
        ("SYSCONFDIR", "/opt/etc"),
    ];

    run("install", &place)?;
    let installed = files(top)?;
    // What docs/install.md promises.
    for path in [
        "opt/r/bin/rota",
        "opt/r/share/man/man1/rota.1",
        "opt/r/share/man/man1/rota-sim.1",
        "opt/r/share/man/man8/rota@.service.8",
        "opt/r/share/bash-completion/completions/rota",
        "opt/r/share/fish/vendor_completions.d/rota.fish",
        "opt/r/share/zsh/site-functions/_rota",
        "opt/r/share/rota/policies/vtrr.bpf.c",
        "opt/r/share/rota/policies/include/rota.bpf.h",
        "opt/r/share/rota/workloads/web.json",
        "opt/r/share/doc/rota/docs/install.md",
        "opt/r/share/doc/rota/docs/reproduce/vtrr.md",
        "opt/r/lib/systemd/system/rota@.service",
        "opt/r/lib/systemd/system/rota-boost.service",
        "opt/r/lib/rota/stop-others",
        "opt/etc/rota/vtrr.conf",
    ] {
        assert!(installed.contains(path), "no {path}");
    }
    let listed = Command::new(top.join("opt/r/bin/rota")).arg("list").output()?;
    ensure!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    assert_eq!(fs::read_to_string(top.join("opt/etc/rota/wfq.conf"))?, "mine");
    // Nothing that is installed names the place where it was put together.
    let unit = fs::read_to_string(top.join("opt/r/lib/systemd/system/rota@.service"))?;
    assert!(unit.contains("/opt/r/bin/rota") && !unit.contains(place[0].1), "{unit}");

    run("uninstall", &place)?;
    let settings = installed.iter().filter(|path| path.starts_with("opt/etc/rota/")).cloned();
    assert_eq!(files(top)?, before.into_iter().chain(settings).collect());

    // Where nothing is left to take away, that is fine too.
    run("uninstall", &place)
}

/// Runs `scripts/static` with a cargo that "builds" this program, and leaves the flags it was given in it.
fn make_static(program: &Path, variables: &[(&str, &str)]) -> Result<Output> {
    let directory = TempDir::new()?;
    let cargo = directory.path().join("bin/cargo");
    let text = format!(
        "#!/bin/sh\n\
         # SPDX-License-Identifier: MIT OR Apache-2.0\n\
         case $1 in build) ;; *) exec {real} \"$@\" ;; esac\n\
         while [ \"$1\" != --target ]; do shift; done\n\
         case $RUSTFLAGS in *+crt-static*) ;; *) exit 1 ;; esac\n\
         echo \"$RUSTFLAGS\" > {program}.flags\n\
         mkdir -p \"$CARGO_TARGET_DIR/$2/release\"\n\
         cp {program} \"$CARGO_TARGET_DIR/$2/release/rota\"\n",
        real = env!("CARGO"),
        program = program.display(),
    );
    put(directory.path(), "bin/cargo", &text)?;
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755))?;
    let path = std::env::var("PATH")?;
    let path = format!("{}/bin:{path}", directory.path().display());
    let target = directory.path().join("target");
    let target = target.to_string_lossy();
    let all = [&[("PATH", &*path), ("CARGO_TARGET_DIR", &*target)], variables].concat();
    script("static", &all)
}

/// Compiles a C program with these options.
fn program(directory: &Path, options: &[&str]) -> Result<std::path::PathBuf> {
    let (source, out) = (directory.join("a.c"), directory.join("a.out"));
    fs::write(&source, "int main(void) { return 0; }\n")?;
    let compiled = Command::new("gcc").args(options).arg(&source).arg("-o").arg(&out).status()?;
    ensure!(compiled.success(), "gcc {options:?}");
    Ok(out)
}

/// The build itself takes minutes; this is about what the script asks of it and checks.
#[test]
fn make_static_refuses_a_binary_that_wants_shared_libraries() -> Result<()> {
    let directory = TempDir::new()?;
    let shared = make_static(&program(directory.path(), &[])?, &[])?;
    assert!(!shared.status.success());
    let told = String::from_utf8_lossy(&shared.stderr).into_owned();
    assert!(told.contains("wants shared libraries"), "{told}");

    for options in [["-static"], ["-static-pie"]] {
        let alone = make_static(&program(directory.path(), &options)?, &[])?;
        let told = String::from_utf8_lossy(&alone.stderr).into_owned();
        assert!(alone.status.success(), "{options:?}: {told}");
        let said = String::from_utf8_lossy(&alone.stdout).into_owned();
        assert!(said.starts_with("make static: ") && said.contains("/release/rota"), "{said}");
    }
    Ok(())
}

#[test]
fn make_static_takes_a_profile_and_names_one_that_is_missing() -> Result<()> {
    let directory = TempDir::new()?;
    let built = program(directory.path(), &["-static"])?;
    let profile = directory.path().join("counts.profdata");
    let name = profile.to_string_lossy().into_owned();

    let missing = make_static(&built, &[("PROFILE", &name)])?;
    fs::write(&profile, "counts")?;
    let there = make_static(&built, &[("PROFILE", &name)])?;

    let told = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(!missing.status.success());
    assert!(told.contains(&format!("PROFILE is '{name}': there is no such file")), "{told}");
    let told = String::from_utf8_lossy(&there.stderr).into_owned();
    assert!(there.status.success(), "{told}");
    let flags = fs::read_to_string(directory.path().join("a.out.flags"))?;
    assert!(flags.contains(&format!("-C profile-use={name}")), "{flags}");
    Ok(())
}
