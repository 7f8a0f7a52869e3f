// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bundled BTF of some kernels, reduced to what schedulers touch (`scripts/reduce-btf`).

use super::Btf;
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;
use std::sync::{Arc, OnceLock};

/// A kernel whose types are part of this crate.
pub struct Bundled {
    /// Its release, `7.2`.
    pub release: &'static str,
    /// Its version: `LINUX_KERNEL_VERSION` of three numbers.
    pub version: [u8; 3],
    /// The build that the types were taken from.
    pub build: &'static str,
    bytes: &'static [u8],
    parsed: OnceLock<Arc<Btf>>,
}

macro_rules! bundled {
    ($($release:literal $version:expr, $build:literal, $file:literal;)*) => {
        [$(Bundled {
            release: $release,
            version: $version,
            build: $build,
            bytes: include_bytes!(concat!("../../data/", $file)),
            parsed: OnceLock::new(),
        }),*]
    };
}

/// Number of the reference kernel. Its types are not compressed: most runs need them.
const REFERENCE: usize = 4;

static BUNDLED: [Bundled; 6] = bundled! {
    "6.12" [6, 12, 117], "linux-source-6.12 6.12.117-1, cloud-amd64 with SCHED_CLASS_EXT=y",
        "kernel-6.12.btf.zst";
    "6.16" [6, 16, 3], "linux-image-6.16.3+deb13-cloud-amd64 6.16.3-1~bpo13+1",
        "kernel-6.16.btf.zst";
    "6.19" [6, 19, 14], "linux-binary-6.19.14+deb13-cloud-amd64 6.19.14-1~bpo13+1",
        "kernel-6.19.btf.zst";
    "7.0" [7, 0, 13], "linux-binary-7.0.13+deb13-cloud-amd64 7.0.13-1~bpo13+1",
        "kernel-7.0.btf.zst";
    "7.2" [7, 2, 12], "linux-binary-7.2.12+deb14-cloud-amd64 7.2.12-1", "kernel-7.2.btf";
    "7.3" [7, 3, 4], "linux-binary-7.3.4+deb13-cloud-amd64 7.3.4-1~bpo13+1",
        "kernel-7.3.btf.zst";
};

impl Bundled {
    /// All of them, the oldest first.
    pub fn all() -> &'static [Bundled] {
        &BUNDLED
    }

    /// That of a release.
    pub fn find(release: &str) -> Option<&'static Bundled> {
        BUNDLED.iter().find(|kernel| kernel.release == release)
    }

    /// The kernel that is meant where none is named: 7.2.
    pub fn reference() -> &'static Bundled {
        &BUNDLED[REFERENCE]
    }

    /// Its types, parsed once per process.
    pub fn btf(&self) -> Arc<Btf> {
        let parse = || {
            // Part of the build, not input: a test parses each.
            let btf = if self.bytes.starts_with(&[0x9f, 0xeb]) {
                Btf::parse(self.bytes)
            } else {
                Btf::parse(&decompress(self.bytes))
            };
            Arc::new(btf.expect("bundled BTF is sound").reduced())
        };
        Arc::clone(self.parsed.get_or_init(parse))
    }
}

impl std::fmt::Debug for Bundled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bundled").field("release", &self.release).finish_non_exhaustive()
    }
}

fn decompress(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut decoder = StreamingDecoder::new(bytes).expect("bundled BTF is a zstd frame");
    decoder.read_to_end(&mut plain).expect("bundled BTF is a whole zstd frame");
    plain
}

/// Types of the reference kernel.
pub fn reference() -> Arc<Btf> {
    Bundled::reference().btf()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::Kind;

    #[test]
    fn every_bundled_kernel_has_sched_ext_and_comes_in_the_order_of_releases() {
        for kernel in Bundled::all() {
            let btf = kernel.btf();
            assert!(btf.is_reduced());
            assert!(btf.find_struct("sched_ext_ops").is_some(), "{}", kernel.release);
            assert!(btf.find(Kind::Func, "scx_bpf_kick_cpu").is_some(), "{}", kernel.release);
            let [major, minor, _] = kernel.version;
            assert_eq!(kernel.release, format!("{major}.{minor}"));
            assert!(kernel.build.contains(&kernel.version.map(|n| n.to_string()).join(".")));
        }
        assert!(Bundled::all().windows(2).all(|pair| pair[0].version < pair[1].version));
    }

    #[test]
    fn the_reference_kernel_is_found_by_its_release() {
        assert_eq!(Bundled::reference().release, "7.2");
        let found = Bundled::find("7.2").expect("bundled");
        assert!(Arc::ptr_eq(&found.btf(), &reference()));
        assert!(Bundled::find("7.20").is_none());
    }
}
