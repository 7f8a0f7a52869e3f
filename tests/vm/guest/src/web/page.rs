// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CGI program: reads as much of a file as it is asked for, from its beginning again when that
//! is over, and returns a summary of it. Its work is in proportion to that size [PBS §4.2.2].

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Read, Seek, Write};

const CONTENT: &str = "/www/content";

/// What is asked for is in the environment.
pub(crate) fn page() -> Result<()> {
    let query = std::env::var("QUERY_STRING").context("QUERY_STRING")?;
    let bytes = bytes_of(&query)?;
    let mut content = File::open(CONTENT).context(CONTENT)?;
    let sum = summary(&mut content, bytes).context(CONTENT)?;
    let answer = format!("Content-Type: text/plain\r\n\r\n{bytes} bytes, {sum:016x}\n");
    let mut out = std::io::stdout().lock();
    out.write_all(answer.as_bytes())?;
    Ok(out.flush()?)
}

fn bytes_of(query: &str) -> Result<u64> {
    let number = query.strip_prefix("bytes=").context("expected bytes=NUMBER")?;
    number.parse().with_context(|| format!("bytes={number}"))
}

/// Fowler, Noll and Vo's hash, FNV-1a, of 64 bits.
fn summary(content: &mut (impl Read + Seek), bytes: u64) -> Result<u64> {
    let (mut buffer, mut left, mut sum) = (vec![0; 16 << 10], bytes, 0xcbf2_9ce4_8422_2325u64);
    while left > 0 {
        let wanted = left.min(buffer.len() as u64) as usize;
        let read = content.read(&mut buffer[..wanted])?;
        if read == 0 {
            anyhow::ensure!(content.stream_position()? > 0, "it is empty");
            content.rewind()?;
        }
        for byte in &buffer[..read] {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        left -= read as u64;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    #[test]
    fn summaries_are_those_of_the_hash() {
        // Test vectors of the hash's authors.
        let sum = |text: &str| summary(&mut Cursor::new(text), text.len() as u64).unwrap();
        assert_eq!(sum("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(sum("foobar"), 0x8594_4171_f739_67e8);
        assert!(summary(&mut Cursor::new(""), 1).is_err());
    }

    proptest! {
        #[test]
        fn a_file_is_read_again_until_there_is_enough(
            text in "[a-z]{1,40}", times in 1usize..2_000,
        ) {
            let long = text.repeat(times);
            let sum = |text: &str, bytes: &str| {
                summary(&mut Cursor::new(text), bytes.len() as u64).unwrap()
            };
            prop_assert_eq!(sum(&text, &long), sum(&long, &long));
        }

        #[test]
        fn what_is_no_size_is_refused(query in "\\PC{0,20}") {
            if let Ok(bytes) = bytes_of(&query) {
                prop_assert_eq!(query.trim_start_matches("bytes=").parse::<u64>().unwrap(), bytes);
            }
        }
    }
}
