// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ticks per second of the running kernel, from its configuration.

use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};

/// `CONFIG_HZ`; `None`: the kernel's configuration is neither in `/proc/config.gz` nor in a file
/// beside the kernel.
pub fn hz() -> Option<u32> {
    let name = rustix::system::uname();
    let release = name.release().to_str().ok()?;
    let plain = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
    let zipped = File::open("/proc/config.gz").ok().map(GzDecoder::new);
    let zipped = zipped.and_then(|file| find(BufReader::new(file)));
    zipped.or_else(|| plain.iter().find_map(|path| find(fs::read(path).ok()?.as_slice())))
}

fn find(config: impl BufRead) -> Option<u32> {
    let lines = config.take(16 << 20).lines();
    lines.map_while(Result::ok).find_map(|line| line.strip_prefix("CONFIG_HZ=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_found_among_other_options() {
        let config = "CONFIG_HZ_250=y\n# CONFIG_HZ_1000 is not set\nCONFIG_HZ=250\n";

        assert_eq!(find(config.as_bytes()), Some(250));
        assert_eq!(find("CONFIG_HZ_250=y\n".as_bytes()), None);
        assert_eq!(find("CONFIG_HZ=fast\n".as_bytes()), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = find(bytes.as_slice());
        }
    }
}
