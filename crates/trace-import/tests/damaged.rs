// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces that were cut or changed: errors that say what and where, and never a panic.

use proptest::prelude::*;
use rota_trace::{Event, EventKind, Sink};
use rota_trace_import::{open_source, Facts, ImportError};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::sync::OnceLock;

/// One of each format.
const NAMES: [&str; 7] = [
    "perf.data",
    "perf-pipe.data",
    "trace-v6.dat",
    "trace-v7.dat",
    "ftrace.txt",
    "pingpong.pftrace",
    "compact.pftrace",
];

fn fixtures() -> &'static [Vec<u8>] {
    static ALL: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    ALL.get_or_init(|| NAMES.iter().map(|name| unpacked(name)).collect())
}

fn unpacked(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}.zst", env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(&path).expect("a fixture");
    let (mut bytes, mut from) = (Vec::new(), packed.as_slice());
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(&mut from).expect("zstd");
    decoder.read_to_end(&mut bytes).expect("zstd");
    bytes
}

/// Checks what a stream of events promises: times in order, one task on a CPU at a time.
#[derive(Default)]
struct Promises {
    now_ns: u64,
    running: BTreeMap<u32, u32>,
}

impl Sink for Promises {
    fn event(&mut self, event: &Event) {
        assert!(event.time_ns >= self.now_ns, "{event:?}");
        self.now_ns = event.time_ns;
        match (&event.kind, event.cpu) {
            (EventKind::SwitchIn { pid }, Some(cpu)) => {
                assert_eq!(self.running.insert(cpu, *pid), None, "{event:?}");
            }
            (EventKind::SwitchOut { pid, .. }, Some(cpu)) => {
                assert_eq!(self.running.remove(&cpu), Some(*pid), "{event:?}");
            }
            _ => {}
        }
    }
}

fn read(bytes: Vec<u8>) -> Result<Facts, ImportError> {
    let trace = open_source("it", Box::new(Cursor::new(bytes)))?;
    trace.read(&mut Promises::default())
}

/// Where the formats keep their headers, and where most bytes are records.
fn place(len: usize, near: bool, part: f64) -> usize {
    let len = if near { len.min(4096) } else { len };
    ((len as f64 * part) as usize).min(len.saturating_sub(1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_cut_trace_is_read_or_refused(which in 0..NAMES.len(), near: bool, part in 0.0..1.0) {
        let bytes = &fixtures()[which];
        let kept = bytes[..place(bytes.len(), near, part)].to_vec();
        if let Err(error) = read(kept) {
            prop_assert!(!error.what.is_empty() && error.to_string().starts_with("it"), "{}", error);
        }
    }

    #[test]
    fn changed_bytes_never_break_a_promise(
        which in 0..NAMES.len(),
        changes in prop::collection::vec((any::<bool>(), 0.0..1.0, any::<u8>()), 1..20),
    ) {
        let mut bytes = fixtures()[which].clone();
        for (near, part, byte) in changes {
            let at = place(bytes.len(), near, part);
            bytes[at] = byte;
        }
        let _ = read(bytes);
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        begin in prop::sample::select(vec![
            &b""[..], b"PERFILE2", b"\x17\x08\x44tracing6\0\0\x08", b"\x17\x08\x44tracing7\0\0\x08",
            b"\x0a", b"# tracer: nop\n", b"PAR1", b"time_ns,cpu,event,pid,task,detail\n",
        ]),
        bytes in prop::collection::vec(any::<u8>(), 0..500),
    ) {
        let _ = read([begin, &bytes[..]].concat());
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let refused = |bytes: Vec<u8>| read(bytes).expect_err("an error").to_string();
    let perf = &fixtures()[0];
    let cut = refused(perf[..perf.len() / 2].to_vec());
    assert!(cut.contains("the file ends at byte"), "{cut}");
    let mut huge = perf.clone();
    // The size of the records.
    huge[48..56].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(refused(huge).contains("18446744073709551615 bytes"));
    let mut unfinished = perf.clone();
    unfinished[48..56].fill(0);
    assert!(refused(unfinished).contains("perf did not end the file"));
    let mut text = fixtures()[4].clone();
    text.extend(b"  a-7 [000] d..2. 99999.000001: sched_switch: prev_comm=a prev_pid=7\n");
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    let error = refused(text);
    assert!(error.starts_with(&format!("it:{lines}: sched_switch: \"prev_comm=a")), "{error}");
    let error = refused(b"\x17\x08\x44tracing9\0\0\x08\0\x10\0\0".to_vec());
    assert_eq!(error, "it: byte 10: version 9: expected 6 or 7");
    let error = refused(vec![0x1f, 0x8b, 8, 0]);
    assert_eq!(error, "it: compressed by gzip: expected a trace (gzip -d makes one of it)");
    assert!(refused(b"{\"tasks\": {}}".to_vec()).starts_with("it: no trace: expected perf.data"));
}
