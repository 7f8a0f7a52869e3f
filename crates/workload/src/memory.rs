// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long `mem`, `memrun` and `iorun` take on a CPU of full speed.
//!
//! rt-app says how much memory to touch, and the machine says how long that takes. The simulated
//! machine has no caches, so time comes from a fixed table: round figures of a current x86
//! server, chosen by the size of the buffer. They are work: time on a CPU.

/// Default of `mem_buffer_size`, as in rt-app.
pub(crate) const BUFFER_BYTES: u64 = 4 << 20;

/// A level of the memory hierarchy.
struct Level {
    /// Buffers up to this size stay in it.
    bytes: u64,
    /// Writing 1 KiB in one sweep (`memset`).
    fill_ps: u64,
    /// Following a pointer to a random place.
    random_ps: u64,
    /// Following a pointer to the next place.
    next_ps: u64,
}

const LEVELS: [Level; 4] = [
    Level { bytes: 32 << 10, fill_ps: 16_000, random_ps: 1_500, next_ps: 1_500 },
    Level { bytes: 1 << 20, fill_ps: 32_000, random_ps: 4_000, next_ps: 2_000 },
    Level { bytes: 32 << 20, fill_ps: 64_000, random_ps: 20_000, next_ps: 4_000 },
    Level { bytes: u64::MAX, fill_ps: 128_000, random_ps: 90_000, next_ps: 8_000 },
];

/// A loop that touches one byte after the other, per byte; the CPU, not the memory, is the limit.
const BYTE_PS: u64 = 300;
/// A `write()` call.
const CALL_PS: u64 = 250_000;
/// Copying 1 KiB into a file's page cache.
const COPY_PS: u64 = 128_000;

fn level(bytes: u64) -> &'static Level {
    LEVELS.iter().find(|level| bytes <= level.bytes).unwrap_or(&LEVELS[LEVELS.len() - 1])
}

/// Picoseconds to whole nanoseconds; what takes any time takes at least one.
fn ns(ps: u128) -> u64 {
    u64::try_from(ps.div_ceil(1000)).unwrap_or(u64::MAX)
}

/// `mem`: writes so many bytes, over and over into the task's buffer.
pub(crate) fn fill_ns(bytes: u64, buffer_bytes: u64) -> u64 {
    ns(u128::from(bytes) * u128::from(level(buffer_bytes).fill_ps) / 1024)
}

/// `memrun` of type `read` or `write`: touches so many bytes one by one.
pub(crate) fn touch_ns(bytes: u64) -> u64 {
    ns(u128::from(bytes) * u128::from(BYTE_PS))
}

/// `memrun` of type `chase`: follows so many pointers around a buffer.
pub(crate) fn chase_ns(hops: u64, buffer_bytes: u64, random: bool) -> u64 {
    let level = level(buffer_bytes);
    let hop_ps = if random { level.random_ps } else { level.next_ps };
    ns(u128::from(hops) * u128::from(hop_ps))
}

/// `iorun`: writes so many bytes, a buffer at a time; `/dev/null` copies nothing.
pub(crate) fn write_ns(bytes: u64, buffer_bytes: u64, device: &str) -> u64 {
    let calls = u128::from(bytes.div_ceil(buffer_bytes.max(1)));
    let copied = if device == "/dev/null" { 0 } else { u128::from(bytes) };
    ns(calls * u128::from(CALL_PS) + copied * u128::from(COPY_PS) / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_from_the_table() {
        // 4 MiB buffer: 64 ns a KiB, so 8 KiB take 512 ns.
        assert_eq!(fill_ns(8192, BUFFER_BYTES), 512);
        assert_eq!(fill_ns(8192, 32 << 10), 128);
        assert_eq!(touch_ns(1000), 300);
        assert_eq!(chase_ns(1000, 64 << 20, true), 90_000);
        assert_eq!(chase_ns(1000, 64 << 20, false), 8_000);
        // 10 MB in pieces of 4 MiB are 3 calls; a file's copy is 128 ns a KiB.
        assert_eq!(write_ns(10_000_000, BUFFER_BYTES, "/dev/null"), 750);
        assert_eq!(write_ns(1 << 20, BUFFER_BYTES, "/tmp/x"), 250 + 131_072);
        assert_eq!(fill_ns(0, BUFFER_BYTES), 0);
        assert_eq!(fill_ns(1, BUFFER_BYTES), 1);
    }
}
