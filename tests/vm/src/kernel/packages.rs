// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds kernels in a suite's `Packages` index.

use super::version;
use crate::debian::Package;

/// Smaller packages only depend on the one that has the image.
const SMALLEST_IMAGE: u64 = 1 << 20;

/// The newest cloud kernel of a series (`7.2`) in an index, if there is one. Stanzas that lack a
/// field are not kernels.
pub fn newest(index: &str, series: &str) -> Option<Package> {
    let of_series = |package: &Package| {
        package.version.strip_prefix(series).is_some_and(|rest| rest.starts_with(['.', '-', '~']))
    };
    index
        .split("\n\n")
        .filter_map(kernel)
        .filter(of_series)
        .max_by(|a, b| version::compare(&a.version, &b.version))
}

fn kernel(stanza: &str) -> Option<Package> {
    let name = stanza.trim_start().strip_prefix("Package: ")?.lines().next()?;
    let is_image = (name.starts_with("linux-binary-") || name.starts_with("linux-image-"))
        && name.ends_with("-cloud-amd64")
        && !name.contains("unsigned");
    if !is_image || field(stanza, "Size")?.parse::<u64>().ok()? < SMALLEST_IMAGE {
        return None;
    }
    Some(Package {
        name: name.to_owned(),
        version: field(stanza, "Version")?.to_owned(),
        path: field(stanza, "Filename")?.to_owned(),
        sha256: field(stanza, "SHA256")?.to_owned(),
    })
}

fn field<'a>(stanza: &'a str, name: &str) -> Option<&'a str> {
    stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stanza(name: &str, version: &str, size: u64) -> String {
        format!(
            "Package: {name}\nSource: linux\nVersion: {version}\nArchitecture: amd64\n\
             Description: Linux\n Version: 9.9 is not in this field\n\
             Filename: pool/{name}_{version}.deb\nSize: {size}\nSHA256: 00ff\n\n"
        )
    }

    #[test]
    fn the_newest_of_the_series_is_found_among_others() {
        let index = [
            stanza("linux-binary-7.2.9+deb13-cloud-amd64", "7.2.9-1~bpo13+1", 13 << 20),
            stanza("linux-binary-7.2.12+deb13-cloud-amd64", "7.2.12-1~bpo13+1", 13 << 20),
            stanza("linux-binary-7.20.1+deb13-cloud-amd64", "7.20.1-1", 13 << 20),
            stanza("linux-binary-unsigned-7.2.13+deb13-cloud-amd64", "7.2.13-1", 13 << 20),
            stanza("linux-image-7.2.13+deb13-cloud-amd64-dbg", "7.2.13-1", 13 << 20),
            stanza("linux-binary-7.2.13+deb13-cloud-arm64", "7.2.13-1", 13 << 20),
            stanza("linux-image-7.2.13+deb13-cloud-amd64", "7.2.13-1", 2072),
        ]
        .concat();
        let found = newest(&index, "7.2").unwrap();
        assert_eq!(found.version, "7.2.12-1~bpo13+1");
        assert_eq!(found.path, "pool/linux-binary-7.2.12+deb13-cloud-amd64_7.2.12-1~bpo13+1.deb");
        assert_eq!(newest(&index, "7.1"), None);
    }

    #[test]
    fn an_image_without_a_checksum_is_no_candidate() {
        let index = stanza("linux-image-6.19.1-cloud-amd64", "6.19.1-1", 50 << 20);
        assert!(newest(&index, "6.19").is_some());
        assert_eq!(newest(&index.replace("SHA256", "MD5sum"), "6.19"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "[A-Za-z0-9:. \n+~-]{0,300}") {
            let _ = newest(&format!("Package: linux-image-1-cloud-amd64\n{text}"), "7.2");
        }
    }
}
