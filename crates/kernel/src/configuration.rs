// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the running kernel was configured, as far as its schedulers depend on it.

use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};

/// No configuration is longer, unzipped.
const MOST_BYTES: u64 = 16 << 20;

/// Options of the running kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Ticks per second: `CONFIG_HZ`.
    pub hz: Option<u32>,
    /// When it preempts, unless its command line says otherwise: `none`, `voluntary`, `full` or
    /// `lazy`.
    pub preempt: Option<&'static str>,
}

impl Configuration {
    /// Reads it from `/proc/config.gz`, or from the file that distributions put next to the kernel;
    /// `None`: there is neither.
    pub fn read() -> Option<Self> {
        let name = rustix::system::uname();
        let release = name.release().to_str().ok()?;
        let plain = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
        if let Ok(zipped) = File::open("/proc/config.gz") {
            return Some(Self::parse(BufReader::new(GzDecoder::new(zipped))));
        }
        let file = plain.iter().find_map(|path| fs::read(path).ok())?;
        Some(Self::parse(file.as_slice()))
    }

    fn parse(file: impl BufRead) -> Self {
        let mut found = Self::default();
        for line in file.take(MOST_BYTES).lines().map_while(Result::ok) {
            match line.split_once('=') {
                Some(("CONFIG_HZ", hz)) => found.hz = hz.parse().ok(),
                Some(("CONFIG_PREEMPT_NONE", "y")) => found.preempt = Some("none"),
                Some(("CONFIG_PREEMPT_VOLUNTARY", "y")) => found.preempt = Some("voluntary"),
                Some(("CONFIG_PREEMPT", "y")) => found.preempt = Some("full"),
                Some(("CONFIG_PREEMPT_LAZY", "y")) => found.preempt = Some("lazy"),
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_and_preemption_are_found_among_other_options() {
        let file = "CONFIG_HZ_250=y\n# CONFIG_HZ_1000 is not set\nCONFIG_HZ=250\n\
                    CONFIG_PREEMPT_BUILD=y\n# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_LAZY=y\n\
                    CONFIG_PREEMPT_DYNAMIC=y\n";

        let found = Configuration::parse(file.as_bytes());

        assert_eq!(found, Configuration { hz: Some(250), preempt: Some("lazy") });
    }

    #[test]
    fn what_a_file_does_not_say_is_not_known() {
        let found = Configuration::parse("CONFIG_HZ=fast\nCONFIG_PREEMPT=m\n".as_bytes());

        assert_eq!(found, Configuration::default());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Configuration::parse(bytes.as_slice());
        }
    }
}
