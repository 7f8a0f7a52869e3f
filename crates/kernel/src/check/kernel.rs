// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel was built and started with.

use super::files::Root;
use super::kfuncs::kfuncs_are_broken;
use super::Fact;
use rota_object::btf::Btf;
use std::io::ErrorKind;
use std::sync::Arc;

/// The first kernel with sched_ext.
const FIRST: (u32, u32) = (6, 12);
/// How to get one.
const A_KERNEL: &str = "install a kernel of Linux 6.12 or later with CONFIG_SCHED_CLASS_EXT=y \
    (on Debian: linux-image-amd64 or linux-image-cloud-amd64 of trixie-backports or later; \
    Debian's own 6.1 and 6.12 have no sched_ext) and reboot";

/// Kernels with sched_ext have this file.
const STATE: &str = "/sys/kernel/sched_ext/state";

/// Is it Linux, and new enough?
pub(super) fn version(root: &Root) -> Fact {
    let name = "kernel";
    let release = match root.text("/proc/sys/kernel/osrelease") {
        Ok(release) => release,
        Err(_) if !root.exists("/proc/self") => {
            let how = "policies run in Linux, with /proc mounted; `rota sim` runs anywhere";
            return Fact::missing(name, "this is not Linux, or /proc is not mounted", how)
                .for_record();
        }
        Err(e) => {
            return Fact::missing(name, format!("cannot read the kernel's version: {e}"), A_KERNEL)
        }
    };
    match parse(&release) {
        Some(version) if version < FIRST => {
            Fact::missing(name, format!("Linux {release} is older than sched_ext"), A_KERNEL)
        }
        Some(_) => Fact::ok(name, format!("Linux {release}")),
        None => Fact::warning(name, format!("Linux {release}, a version of unknown form"), ""),
    }
}

/// `7.2.12+deb14-cloud-amd64` is 7.2.
fn parse(release: &str) -> Option<(u32, u32)> {
    let (major, rest) = release.split_once('.')?;
    let minor = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Was sched_ext built in?
pub(super) fn sched_ext(root: &Root) -> Fact {
    let name = "sched_ext";
    if root.exists(STATE) {
        return Fact::ok(name, "the kernel has sched_ext");
    }
    if !root.exists("/sys/kernel") {
        let how = "mount it: mount -t sysfs sysfs /sys";
        return Fact::missing(name, "/sys is not mounted", how);
    }
    let found = "the kernel was built without sched_ext (there is no /sys/kernel/sched_ext)";
    Fact::missing(name, found, A_KERNEL)
}

/// Does the kernel carry its types, and can they be believed?
pub(super) fn types(root: &Root) -> (Vec<Fact>, Option<Arc<Btf>>) {
    const PATH: &str = "/sys/kernel/btf/vmlinux";
    let name = "BTF";
    let how = "install a kernel with CONFIG_DEBUG_INFO_BTF=y";
    let none = |found: String| (vec![Fact::missing(name, found, how).for_record()], None);
    let bytes = match root.bytes(PATH) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return none(format!("the kernel carries no type information (there is no {PATH})"))
        }
        Err(e) => return none(format!("cannot read {PATH}: {e}")),
    };
    let btf = match Btf::parse(&bytes) {
        Ok(btf) => btf,
        Err(e) => return none(format!("{PATH} cannot be understood: {e}")),
    };
    let there = Fact::ok(name, format!("{} types in {PATH}", btf.len())).for_record();
    let facts = match root.exists(STATE) {
        true => vec![there, kfuncs(&btf)],
        false => vec![there],
    };
    (facts, Some(Arc::new(btf)))
}

fn kfuncs(btf: &Btf) -> Fact {
    let name = "kfuncs";
    let Some(broken) = kfuncs_are_broken(btf) else {
        return Fact::ok(name, "the prototypes of sched_ext's functions are sound");
    };
    let found = format!(
        "this build of the kernel describes its functions wrongly: {} and {} more have an \
         argument 'aux' that no program can pass, so it refuses every policy (\"func_proto \
         incompatible with vmlinux\")",
        broken.names[0],
        broken.names.len() - 1
    );
    let how = "boot another build. Of Debian's, 7.1.13 and 7.2.12 for trixie-backports (+deb13) \
        are known to be bad; 6.16.12, 6.19.14 and 7.0.13 of trixie-backports and 7.2.12 of forky \
        (+deb14) are good";
    Fact::missing(name, found, how)
}

/// Are BPF programs compiled? The verifier refuses calls of kernel functions otherwise.
pub(super) fn jit(root: &Root) -> Fact {
    let name = "JIT";
    match root.text("/proc/sys/net/core/bpf_jit_enable").as_deref() {
        Ok("0") => Fact::missing(
            name,
            "the kernel's BPF compiler is switched off, and policies need it",
            "switch it on: sysctl net.core.bpf_jit_enable=1",
        ),
        Ok(_) => Fact::ok(name, "BPF programs are compiled"),
        // Only root may read it, and it is there in the first network namespace only.
        Err(_) => Fact::ok(name, "whether BPF programs are compiled cannot be read from here"),
    }
}

/// CPUs taken away at boot: sched_ext refuses to work then.
pub(super) fn isolation(root: &Root) -> Option<Fact> {
    let isolated = root.text("/sys/devices/system/cpu/isolated").ok().filter(|l| !l.is_empty())?;
    let cmdline = root.text("/proc/cmdline").unwrap_or_default();
    let asked = cmdline.split_whitespace().any(|word| word.starts_with("isolcpus="));
    asked.then(|| {
        Fact::missing(
            "isolation",
            format!("isolcpus= takes CPUs away at boot ({isolated}), and sched_ext refuses that"),
            "boot without isolcpus=",
        )
    })
}
