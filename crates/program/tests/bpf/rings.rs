// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ring buffers that the program maps: positions and records in their files, as libbpf reads and
//! writes them (`src/ringbuf.c`).

use crate::caller::{insn, NewMap, NewProgram};
use crate::object::{in_machine, Loaded, COUNT_UP, DISPATCH, SLEEPABLE, SYSCALL};
use rota_object::image::map_type;
use rota_program::bpf::{Caller, ObjectId, Ready};

const SIZE: u32 = 4096;
const CONSUMED: u64 = 0;
const PRODUCED: u64 = 4096;
const DATA: u64 = 8192;
/// `BPF_RINGBUF_DISCARD_BIT`, `BPF_RINGBUF_BUSY_BIT`.
const DISCARD: u64 = 1 << 30;
const BUSY: u64 = 1 << 31;

/// A program that takes all samples out of `samples` and puts each, of 8 bytes, into `records`.
struct Echo {
    loaded: Loaded,
    records: ObjectId,
    samples: ObjectId,
    program: i32,
}

impl Echo {
    fn new() -> Self {
        let mut loaded = Loaded::new();
        let ring =
            NewMap { kind: map_type::RINGBUF, max: SIZE, name: "records", ..NewMap::default() };
        let records = loaded.p.map(ring).expect("a ring");
        let ring = NewMap { kind: map_type::USER_RINGBUF, name: "samples", ..ring };
        let samples = loaded.p.map(ring).expect("a user ring");
        let code = vec![
            insn(0x18, 1, 1, 0, samples),
            insn(0, 0, 0, 0, 0),
            insn(0x18, 2, 4, 0, 5), // r2 = the function at slot 8
            insn(0, 0, 0, 0, 0),
            insn(0xb7, 3, 0, 0, 0),
            insn(0xb7, 4, 0, 0, 0),
            insn(0x85, 0, 0, 0, 209), // bpf_user_ringbuf_drain(samples, function, 0, 0)
            insn(0x95, 0, 0, 0, 0),
            insn(0xb7, 2, 0, 0, 0),
            insn(0xb7, 3, 0, 0, 8),
            insn(0x85, 0, 0, 0, 203), // bpf_dynptr_data(dynptr, 0, 8)
            insn(0x15, 0, 0, 6, 0),   // if it has fewer bytes, none
            insn(0xbf, 2, 0, 0, 0),
            insn(0x18, 1, 1, 0, records),
            insn(0, 0, 0, 0, 0),
            insn(0xb7, 3, 0, 0, 8),
            insn(0xb7, 4, 0, 0, 0),
            insn(0x85, 0, 0, 0, 130), // bpf_ringbuf_output(records, data, 8, 0)
            insn(0xb7, 0, 0, 0, 0),
            insn(0x95, 0, 0, 0, 0),
        ];
        // the jump goes to r0 = 0
        assert_eq!(code[11 + 1 + 6], insn(0xb7, 0, 0, 0, 0));
        let program = loaded.p.load(NewProgram {
            kind: SYSCALL,
            code,
            name: "echo",
            flags: SLEEPABLE,
            btf: loaded.btf,
            functions: vec![(0, COUNT_UP), (8, DISPATCH)],
            ..NewProgram::default()
        });
        let program = program.0.expect("loads");
        let records = loaded.p.memory.object_of(records).expect("open");
        let samples = loaded.p.memory.object_of(samples).expect("open");
        Self { loaded, records, samples, program }
    }

    fn word(&self, ring: ObjectId, at: u64) -> u64 {
        let mut bytes = [0; 8];
        self.loaded.p.memory.read_pages(ring, at, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn set(&mut self, ring: ObjectId, at: u64, value: u64) {
        self.loaded.p.memory.write_pages(ring, at, &value.to_le_bytes());
    }

    /// Writes a sample of 8 bytes at a position.
    fn produce(&mut self, position: u64, flags: u64, value: u64) {
        let at = DATA + position % u64::from(SIZE);
        self.set(self.samples, at, 8 | flags);
        self.set(self.samples, at + 8, value);
        self.set(self.samples, PRODUCED, position + 16);
    }

    fn ready(&self, ring: ObjectId) -> Ready {
        self.loaded.p.played.ready(ring, &self.loaded.p.memory).expect("a ring")
    }
}

#[test]
fn samples_of_the_program_come_back_as_records() {
    let mut echo = Echo::new();
    let image = echo.loaded.image();
    in_machine(image, |live| {
        echo.loaded.p.played.fill(live, &mut echo.loaded.p.memory).expect("fills");
        assert!(!echo.ready(echo.records).readable && echo.ready(echo.samples).writable);
        echo.produce(0, 0, 70);
        echo.produce(16, DISCARD, 71);
        echo.produce(32, 0, 72);
        echo.produce(48, BUSY, 73);
        // two samples; the one that was given up is passed, that which is not finished is not
        let (_, drained) = echo.loaded.run_program(echo.program, 0, Some(live)).expect("runs");
        assert_eq!(drained, 2);
        assert_eq!(echo.word(echo.samples, CONSUMED), 48);
        assert_eq!(echo.word(echo.records, PRODUCED), 32);
        let records = [0, 8, 16, 24].map(|at| echo.word(echo.records, DATA + at));
        assert_eq!(records, [8, 70, 8, 72]);
        assert!(echo.ready(echo.records).readable);
        // finished now
        echo.produce(48, 0, 73);
        let (_, drained) = echo.loaded.run_program(echo.program, 0, Some(live)).expect("runs");
        assert_eq!((drained, echo.word(echo.samples, CONSUMED)), (1, 64));
    });
}

#[test]
fn a_ring_that_nobody_reads_is_full_until_it_is_read() {
    let mut echo = Echo::new();
    let image = echo.loaded.image();
    in_machine(image, |live| {
        echo.loaded.p.played.fill(live, &mut echo.loaded.p.memory).expect("fills");
        // more than 4096 bytes of records of 16 bytes: the last byte is never used, as in the kernel
        for number in 0..300 {
            echo.produce(16 * number, 0, number);
            echo.loaded.run_program(echo.program, 0, Some(live)).expect("runs");
        }
        assert_eq!(echo.word(echo.records, PRODUCED), 16 * 255);
        echo.set(echo.records, CONSUMED, 16 * 255);
        echo.produce(16 * 300, 0, 300);
        echo.loaded.run_program(echo.program, 0, Some(live)).expect("runs");
        // the record begins at the last 16 bytes, and the position only grows
        assert_eq!(echo.word(echo.records, PRODUCED), 16 * 256);
        assert_eq!(echo.word(echo.records, DATA + 16 * 255 + 8), 300);
    });
}

#[test]
fn positions_and_samples_that_make_no_sense_are_errors_of_the_helper() {
    // a length beyond what was produced, and a position between two samples
    for (header, produced) in [(4000, 16), (8, 13)] {
        let mut echo = Echo::new();
        let image = echo.loaded.image();
        in_machine(image, |live| {
            echo.loaded.p.played.fill(live, &mut echo.loaded.p.memory).expect("fills");
            echo.set(echo.samples, DATA, header);
            echo.set(echo.samples, PRODUCED, produced);
            let (_, drained) = echo.loaded.run_program(echo.program, 0, Some(live)).expect("runs");
            // -EINVAL
            assert_eq!(drained, 22_u32.wrapping_neg());
        });
    }
}
