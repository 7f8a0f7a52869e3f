// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mem`, `memrun` and `iorun`: the documented table, multiplied by hand.

use super::{play_file, MS};

/// CPU time of one task with these events, under these global settings.
fn cpu_ns(global: &str, events: &str) -> u64 {
    let text =
        format!("{{\"global\": {{{global}}}, \"tasks\": {{\"t\": {{\"loop\": 1, {events}}}}}}}");
    play_file(1, &text).1.cpu_ns(1001, 1000 * MS)
}

#[test]
fn mem_writes_at_the_speed_of_its_buffer() {
    // 4 MiB: 64 ns a KiB, and 1 MiB has 1024 of them; 32 KiB: 16 ns
    assert_eq!(cpu_ns("", r#""mem": 1048576"#), 1024 * 64);
    assert_eq!(cpu_ns(r#""mem_buffer_size": 32768"#, r#""mem": 1048576"#), 1024 * 16);
    assert_eq!(cpu_ns(r#""mem_buffer_size": 67108864"#, r#""mem": 1048576"#), 1024 * 128);
}

#[test]
fn memrun_touches_bytes_or_follows_pointers() {
    let memrun = |keys: &str| cpu_ns("", &format!("\"memrun_a\": {{{keys}}}"));
    assert_eq!(memrun(r#""type": "read", "size": 4096, "count": 10000"#), 3000);
    assert_eq!(memrun(r#""type": "write", "size": 4096, "count": 10000"#), 3000);
    // 64 MiB: 90 ns a hop at random, 8 in sequence
    let chase = r#""type": "chase", "size": 67108864, "count": 1000"#;
    assert_eq!(memrun(chase), 90_000);
    assert_eq!(memrun(&format!(r#"{chase}, "pattern": "sequential""#)), 8000);
}

#[test]
fn iorun_pays_for_calls_and_copies() {
    // 10 MB are three writes of at most 4 MiB
    assert_eq!(cpu_ns("", r#""iorun": 10000000"#), 3 * 250);
    let file = r#""io_device": "/tmp/out""#;
    assert_eq!(cpu_ns(file, r#""iorun": 1048576"#), 250 + 1024 * 128);
}
