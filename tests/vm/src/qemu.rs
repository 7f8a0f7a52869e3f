// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boots a machine in QEMU and waits for its end.

use anyhow::{bail, Context, Result};
use rota_machine::topology::Topology;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How the machine's clock and its CPUs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// The clock counts instructions, the CPUs take turns: each run is like any other.
    Counted,
    /// The CPUs run side by side on the host's clock: no two runs are alike.
    Free,
}

/// A machine to boot.
#[derive(Clone, Debug)]
pub struct VirtualMachine<'a> {
    /// Its kernel, compressed or not: an emulated CPU decompresses it for a second.
    pub vmlinuz: &'a Path,
    /// Its files.
    pub initramfs: &'a Path,
    /// Its CPUs.
    pub cpus: Topology,
    /// Its clock.
    pub pace: Pace,
    /// Its memory. The kernel sets up each page, so another size is another timing.
    pub memory_mib: u32,
    /// Host time after which it is stopped.
    pub within: Duration,
}

/// What it left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The console: what the kernel and programs printed.
    pub console: String,
    /// The second serial line.
    pub records: String,
    /// It was stopped because it took too long.
    pub timed_out: bool,
}

impl Output {
    /// Where [`VirtualMachine::run`] keeps it.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let (console, records) = files(dir);
        for (path, text) in [(console, &self.console), (records, &self.records)] {
            fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }
}

fn files(dir: &Path) -> (PathBuf, PathBuf) {
    (dir.join("console"), dir.join("records"))
}

const PROGRAM: &str = "qemu-system-x86_64";
/// Memory that is enough for all that machines do.
pub const MEMORY_MIB: u32 = 512;
/// Without what nobody uses but drivers would look after. The HPET stays: without it 4 of 16 runs
/// of a machine with 4 CPUs were not like the others, with it none of 50.
const MACHINE: &str = "q35,sata=off,smbus=off,i8042=off,smm=off";
/// A real CPU copies and clears memory fastest by `rep movsb`; an emulator does it byte for byte.
/// Without these two, kernel and C library use instructions that move more at once.
const CPU: &str = "max,-erms,-fsrm";

impl VirtualMachine<'_> {
    /// Boots it and waits until it is off. `dir` keeps what it writes.
    pub fn run(&self, dir: &Path) -> Result<Output> {
        let (console, records) = files(dir);
        let mut child = Qemu(
            // A machine ends with this program, however that ends.
            Command::new("setpriv")
                .args(["--pdeathsig", "KILL", PROGRAM])
                .args(self.arguments(&console, &records))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .context("cannot start setpriv")?,
        );
        let start = Instant::now();
        let status = loop {
            match child.0.try_wait()? {
                Some(status) => break Some(status),
                None if start.elapsed() > self.within => break None,
                None => sleep(Duration::from_millis(20)),
            }
        };
        if status.is_some_and(|status| !status.success()) {
            let mut text = String::new();
            if let Some(mut stderr) = child.0.stderr.take() {
                std::io::Read::read_to_string(&mut stderr, &mut text)?;
            }
            bail!("{PROGRAM} failed: {}", text.trim());
        }
        drop(child);
        let read = |path: &Path| {
            let bytes = fs::read(path).with_context(|| path.display().to_string())?;
            anyhow::Ok(String::from_utf8_lossy(&bytes).replace('\r', ""))
        };
        Ok(Output {
            console: read(&console)?,
            records: read(&records)?,
            timed_out: status.is_none(),
        })
    }

    fn arguments(&self, console: &Path, records: &Path) -> Vec<String> {
        let clock: &[&str] = match self.pace {
            Pace::Counted => {
                &["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off", "-seed", "1"]
            }
            Pace::Free => &["-accel", "tcg,thread=multi", "-seed", "1"],
        };
        // nokaslr: addresses are hashed into orders. notests: self-tests eat seconds after boot.
        // loglevel=5: warnings are shown, as they are failures.
        // devkmsg: the guest may log as much as it likes. no_timer_check: the timer works.
        // norandmaps: what was translated of a program serves its next process, too.
        let append = "console=ttyS0 loglevel=5 printk.devkmsg=on panic=-1 rdinit=/init nokaslr \
                      cryptomgr.notests=1 no_timer_check norandmaps";
        let mut args: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
        add(&["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        add(&["-machine", MACHINE, "-cpu", CPU]);
        add(&["-m", &format!("{}M", self.memory_mib)]);
        add(&["-smp", &sockets(&self.cpus), "-rtc", "base=2026-01-01,clock=vm"]);
        add(clock);
        add(&["-serial", &format!("file:{}", console.display())]);
        add(&["-serial", &format!("file:{}", records.display())]);
        add(&["-kernel", &self.vmlinuz.display().to_string()]);
        add(&["-initrd", &self.initramfs.display().to_string()]);
        add(&["-append", append]);
        args
    }
}

/// The CPUs as QEMU takes them: a last-level cache is that of a socket.
fn sockets(cpus: &Topology) -> String {
    let all = cpus.cpus();
    let [threads, socket] = [cpus.siblings(0), cpus.llc_cpus(0)].map(|set| set.iter().count());
    match (threads, cpus.llcs()) {
        (1, 1) => all.to_string(),
        (_, sockets) => {
            format!("{all},sockets={sockets},cores={},threads={threads}", socket / threads)
        }
    }
}

/// Does not outlive whoever waits for it.
struct Qemu(Child);

impl Drop for Qemu {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_those_of_sockets() {
        let of = |cpus, text| sockets(&Topology::parse(cpus, text).unwrap());
        assert_eq!(of(4, ""), "4");
        assert_eq!(of(4, "smt=2"), "4,sockets=1,cores=2,threads=2");
        assert_eq!(of(4, "llc=2"), "4,sockets=2,cores=2,threads=1");
        assert_eq!(of(8, "smt=2,llc=4"), "8,sockets=2,cores=2,threads=2");
    }
}
