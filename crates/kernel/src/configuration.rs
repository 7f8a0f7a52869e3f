// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the running kernel was configured, as far as its schedulers depend on it.

use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};

/// No configuration is longer, unzipped.
const MOST_BYTES: u64 = 16 << 20;

/// Modes of preemption.
const MODES: [&str; 4] = ["none", "voluntary", "full", "lazy"];

/// Options of the running kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Ticks per second: `CONFIG_HZ`.
    pub hz: Option<u32>,
    /// When it preempts: `none`, `voluntary`, `full` or `lazy`.
    pub preempt: Option<&'static str>,
    /// Its command line can say so, too (`CONFIG_PREEMPT_DYNAMIC`).
    dynamic: bool,
}

impl Configuration {
    /// Reads it from `/proc/config.gz`, or from the file that distributions put next to the kernel;
    /// `None`: there is neither.
    pub fn read() -> Option<Self> {
        let name = rustix::system::uname();
        let release = name.release().to_str().ok()?;
        let plain = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
        let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
        if let Ok(zipped) = File::open("/proc/config.gz") {
            return Some(Self::parse(BufReader::new(GzDecoder::new(zipped))).started_with(&line));
        }
        let file = plain.iter().find_map(|path| fs::read(path).ok())?;
        Some(Self::parse(file.as_slice()).started_with(&line))
    }

    /// As this command line changes it (`setup_preempt_mode()`).
    fn started_with(self, line: &str) -> Self {
        let known = |mode: &str| MODES.into_iter().find(|known| *known == mode);
        let own = line.split_whitespace().take_while(|word| *word != "--");
        let asked = own.filter_map(|word| known(word.strip_prefix("preempt=")?)).last();
        Self { preempt: asked.filter(|_| self.dynamic).or(self.preempt), ..self }
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
                Some(("CONFIG_PREEMPT_DYNAMIC", "y")) => found.dynamic = true,
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

        assert_eq!(found, Configuration { hz: Some(250), preempt: Some("lazy"), dynamic: true });
    }

    #[test]
    fn the_command_line_sets_preemption_of_a_kernel_that_takes_it() {
        let built =
            |more: &str| Configuration::parse(format!("CONFIG_PREEMPT_NONE=y\n{more}").as_bytes());
        let mode = |more: &str, line: &str| built(more).started_with(line).preempt;
        let dynamic = "CONFIG_PREEMPT_DYNAMIC=y\n";

        assert_eq!(mode(dynamic, "quiet preempt=full\n"), Some("full"));
        assert_eq!(mode(dynamic, "preempt=full preempt=lazy"), Some("lazy"));
        assert_eq!(mode(dynamic, "quiet"), Some("none"));
        // A mode that there is none of, and what is for init.
        assert_eq!(mode(dynamic, "preempt=often -- preempt=full"), Some("none"));
        assert_eq!(mode("", "preempt=full"), Some("none"));
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
