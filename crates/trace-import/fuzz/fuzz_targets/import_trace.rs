// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any bytes as a trace: an error that says something, or events in the order of their times.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rota_trace::{Event, Sink};
use rota_trace_import::open_source;
use std::io::Cursor;

struct InOrder(u64);

impl Sink for InOrder {
    fn event(&mut self, event: &Event) {
        assert!(event.time_ns >= self.0);
        self.0 = event.time_ns;
    }
}

fuzz_target!(|bytes: &[u8]| {
    let trace = open_source("fuzz", Box::new(Cursor::new(bytes.to_vec())));
    match trace.and_then(|trace| trace.read(&mut InOrder(0))) {
        Ok(facts) => assert!(facts.counts.switches > 0),
        Err(error) => assert!(!error.what.is_empty()),
    }
});
