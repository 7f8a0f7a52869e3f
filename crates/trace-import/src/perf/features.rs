// SPDX-License-Identifier: MIT OR Apache-2.0
//! What perf says of the computer that it ran on.

use crate::bytes::Bytes;
use crate::error::Fault;
use crate::facts::Header;

/// `enum` of features (tools/perf/util/header.h).
const HOSTNAME: usize = 3;
const OSRELEASE: usize = 4;
const VERSION: usize = 5;
const ARCH: usize = 6;
const NRCPUS: usize = 7;
const CMDLINE: usize = 11;

/// Whether a feature is read.
pub(super) fn is_read(feature: usize) -> bool {
    matches!(feature, HOSTNAME | OSRELEASE | VERSION | ARCH | NRCPUS | CMDLINE)
}

/// Reads a feature.
pub(super) fn read(
    feature: usize,
    bytes: &mut Bytes<'_>,
    header: &mut Header,
) -> Result<(), Fault> {
    match feature {
        HOSTNAME => header.host = Some(text(bytes)?),
        OSRELEASE => header.kernel = Some(text(bytes)?),
        VERSION => header.tool = Some(format!("perf {}", text(bytes)?)),
        ARCH => header.arch = Some(text(bytes)?),
        NRCPUS => {
            let (online, available) = (bytes.u32("CPUs")?, bytes.u32("CPUs")?);
            header.has_cpus(online.max(available)).map_err(|what| bytes.fault(what))?;
        }
        CMDLINE => {
            let words = bytes.u32("words of the command line")?;
            let mut line = Vec::new();
            for _ in 0..words {
                line.push(text(bytes)?);
            }
            header.command = Some(line.join(" "));
        }
        _ => {}
    }
    Ok(())
}

/// A text behind its length, with zeros at its end.
fn text(bytes: &mut Bytes<'_>) -> Result<String, Fault> {
    let len = u64::from(bytes.u32("length of a text")?);
    let text = bytes.take(len, "a text")?;
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}
