// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces of the tools themselves. Numbers are from the tools' own reports of the same files.

use rota_trace::{Event, EventKind, OffCpu, Recorder};
use rota_trace_import::{detect, open_source, Counts, Facts, Format, Missing};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

fn unpacked(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}.zst", env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(&path).expect("a fixture");
    let mut bytes = Vec::new();
    let mut from = packed.as_slice();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(&mut from).expect("zstd");
    decoder.read_to_end(&mut bytes).expect("zstd");
    bytes
}

fn read(name: &str) -> (Vec<Event>, Facts) {
    let trace = open_source(name, Box::new(Cursor::new(unpacked(name)))).expect("a trace");
    let mut recorder = Recorder::default();
    let facts = trace.read(&mut recorder).expect("events");
    (recorder.events, facts)
}

/// Time on a CPU and number of times there, of each task of this name, in order of pids.
fn on_cpu(events: &[Event], name: &str) -> Vec<(u64, u64)> {
    let (mut named, mut since) = (BTreeMap::new(), BTreeMap::new());
    let mut found: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for event in events {
        match &event.kind {
            EventKind::Task { pid, name, .. } => drop(named.insert(*pid, name.clone())),
            EventKind::SwitchIn { pid } => drop(since.insert(*pid, event.time_ns)),
            EventKind::SwitchOut { pid, .. } => {
                let of_task = found.entry(*pid).or_default();
                of_task.0 += event.time_ns - since[pid];
                of_task.1 += 1;
            }
            _ => {}
        }
    }
    found.into_iter().filter(|(pid, _)| named[pid] == name).map(|(_, found)| found).collect()
}

/// A CPU runs one task at a time, a task on one CPU at a time, and each has its name first.
fn assert_in_order(events: &[Event]) {
    let (mut now_ns, mut cpus) = (0, BTreeMap::new());
    let (mut tasks, mut named) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        assert!(event.time_ns >= now_ns, "{event:?}");
        now_ns = event.time_ns;
        match &event.kind {
            EventKind::Task { pid, .. } => drop(named.insert(*pid, ())),
            EventKind::SwitchIn { pid } => {
                assert!(named.contains_key(pid), "{event:?}");
                assert_eq!(cpus.insert(event.cpu, *pid), None, "{event:?}");
                assert_eq!(tasks.insert(*pid, event.cpu), None, "{event:?}");
            }
            EventKind::SwitchOut { pid, why } => {
                if event.cpu.is_some() {
                    assert_eq!(cpus.remove(&event.cpu), Some(*pid), "{event:?}");
                    assert_eq!(tasks.remove(pid), Some(event.cpu), "{event:?}");
                }
                if *why == OffCpu::Exit {
                    named.remove(pid);
                }
            }
            _ => {}
        }
    }
}

/// `perf script -i perf.data`, lines of each event.
const OF_PERF: Counts = Counts {
    switches: 317,
    wakings: 172,
    wakeups: 0,
    new_wakeups: 3,
    forks: 3,
    exits: 0,
    migrations: 2,
};

/// `trace-cmd report`, lines of each event.
const OF_TRACE_CMD: Counts = Counts {
    switches: 311,
    wakings: 168,
    wakeups: 168,
    new_wakeups: 3,
    forks: 3,
    exits: 3,
    migrations: 0,
};

#[test]
fn perfs_records_are_all_there() {
    let (events, facts) = read("perf.data");
    assert_eq!((facts.format, facts.counts, facts.cpus), (Format::PerfData, OF_PERF, 2));
    assert_in_order(&events);
    // perf sched timehist --summary: 7.040 ms in 109 turns, 11.885 in 108, 9.326 in 42; it rounds
    // each turn to microseconds before it adds them up.
    let expected = [(7_040_000, 109), (11_885_000, 108), (9_326_000, 42)];
    let found = on_cpu(&events, "pingpong");
    assert_eq!(found.len(), 3);
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.1, expected.1);
        assert!(found.0.abs_diff(expected.0) <= 1000, "{found:?}");
    }
    assert!(facts.missing.contains(&Missing::Wakeup), "{:?}", facts.missing);
    assert!(facts.missing.contains(&Missing::Exits), "{:?}", facts.missing);
}

#[test]
fn perf_writes_the_same_to_a_pipe() {
    let (events, facts) = read("perf-pipe.data");
    // perf script -i perf-pipe.data, lines of each event
    let expected = Counts { switches: 371, wakings: 198, migrations: 7, ..OF_PERF };
    assert_eq!((facts.format, facts.counts, facts.cpus), (Format::PerfPipe, expected, 2));
    assert_in_order(&events);
}

#[test]
fn both_versions_of_trace_cmds_files_give_the_same_events() {
    let (events, facts) = read("trace-v7.dat");
    assert_eq!((facts.format, facts.counts, facts.cpus), (Format::TraceDat, OF_TRACE_CMD, 2));
    assert_eq!((facts.repaired, facts.late, facts.unexplained), (0, 0, 0));
    assert_eq!(facts.missing, []);
    assert_in_order(&events);
    let (older, older_facts) = read("trace-v6.dat");
    assert_eq!(older_facts.counts, OF_TRACE_CMD);
    assert_eq!(older, events);
}

/// Rounded to microseconds, as tracefs writes times.
fn microseconds(events: &[Event], begin_ns: u64) -> Vec<(u64, Option<u32>, EventKind)> {
    let us = |event: &Event| (event.time_ns + begin_ns) / 1000;
    events.iter().map(|event| (us(event), event.cpu, event.kind.clone())).collect()
}

#[test]
fn the_text_of_tracefs_says_what_the_file_of_trace_cmd_says() {
    let (events, facts) = read("ftrace.txt");
    assert_eq!((facts.format, facts.counts, facts.cpus), (Format::FtraceText, OF_TRACE_CMD, 2));
    assert_eq!(facts.missing, []);
    let (file, file_facts) = read("trace-v7.dat");
    let (text, file) =
        (microseconds(&events, facts.begin_ns), microseconds(&file, file_facts.begin_ns));
    assert_eq!(text.len(), file.len());
    for (text, file) in text.iter().zip(&file) {
        // trace-cmd cuts, the kernel rounds.
        assert!(text.0.abs_diff(file.0) <= 1, "{text:?} {file:?}");
        assert_eq!((&text.1, &text.2), (&file.1, &file.2));
    }
}

#[test]
fn the_report_of_trace_cmd_hides_interrupts_only() {
    let (events, facts) = read("trace-cmd-report.txt");
    assert_eq!(
        (facts.counts, facts.missing.as_slice()),
        (OF_TRACE_CMD, &[Missing::Interrupts][..])
    );
    let (mut file, _) = read("trace-v7.dat");
    let mut wakers = 0;
    for (text, file) in events.iter().zip(&mut file) {
        if let (EventKind::Wakeup { waker, .. }, EventKind::Wakeup { waker: known, .. }) =
            (&text.kind, &mut file.kind)
        {
            wakers += u32::from(*known == 0 && *waker != 0);
            *known = *waker;
        }
    }
    assert_eq!(events, file);
    assert!(wakers > 0, "tasks that interrupts stopped");
}

#[test]
fn the_text_of_perf_has_the_times_of_its_file() {
    let (events, facts) = read("perf-script.txt");
    assert_eq!(facts.counts, OF_PERF);
    let (file, _) = read("perf.data");
    let times = |events: &[Event]| events.iter().map(|event| event.time_ns).collect::<Vec<_>>();
    assert_eq!(times(&events), times(&file));
}

#[test]
fn a_trace_of_perfetto_says_what_the_text_says_that_it_was_made_of() {
    let (events, facts) = read("pingpong.pftrace");
    assert_eq!((facts.format, facts.counts, facts.cpus), (Format::Perfetto, OF_TRACE_CMD, 2));
    assert_eq!(facts.missing, []);
    let (text, _) = read("ftrace.txt");
    // At one time, the text has CPUs in the order in which they wrote.
    let by_cpu = |mut events: Vec<Event>| {
        events.sort_by_key(|event| (event.time_ns, event.cpu));
        events
    };
    assert_eq!(by_cpu(events), by_cpu(text));
}

#[test]
fn compact_switches_say_the_same_but_for_the_first_task_of_a_cpu() {
    let (events, facts) = read("compact.pftrace");
    assert_eq!(facts.counts, OF_TRACE_CMD);
    assert_in_order(&events);
    let (text, _) = read("ftrace.txt");
    // What ran before the first switch is not known.
    assert_eq!(on_cpu(&events, "pingpong"), on_cpu(&text, "pingpong"));
    let wakeups = |events: &[Event]| {
        let wakeup = |event: &&Event| matches!(event.kind, EventKind::Wakeup { .. });
        events.iter().filter(wakeup).cloned().collect::<Vec<_>>()
    };
    assert_eq!(wakeups(&events), wakeups(&text));
}

#[test]
fn what_rota_wrote_as_csv_or_parquet_is_read_back() {
    let (events, facts) = read("trace-v7.dat");
    let mut csv = rota_trace::CsvSink::new(Vec::new());
    let mut parquet = rota_trace::ParquetSink::new(Vec::new());
    for event in &events {
        rota_trace::Sink::event(&mut csv, event);
        rota_trace::Sink::event(&mut parquet, event);
    }
    for (file, format) in [
        (csv.finish().expect("a file"), Format::RotaCsv),
        (parquet.finish().expect("a file"), Format::RotaParquet),
    ] {
        let trace = open_source("it", Box::new(Cursor::new(file))).expect("a trace");
        let mut again = Recorder::default();
        let read = trace.read(&mut again).expect("events");
        assert_eq!(again.events, events);
        assert_eq!((read.format, read.cpus, read.events), (format, 2, facts.events));
        assert_eq!(read.duration_ns, facts.duration_ns);
    }
}

#[test]
fn damaged_parquet_of_rota_gives_an_error_or_events() {
    let (events, _) = read("trace-v7.dat");
    let mut sink = rota_trace::ParquetSink::new(Vec::new());
    events.iter().take(300).for_each(|event| rota_trace::Sink::event(&mut sink, event));
    let whole = sink.finish().expect("a file");
    // A step that shares no factor with bytes or pages, so that all parts of the file have some.
    for at in (0..whole.len()).step_by(13) {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= flip;
            let trace = open_source("it", Box::new(Cursor::new(damaged)));
            let read = trace.and_then(|trace| trace.read(&mut Recorder::default()));
            if let Err(error) = read {
                assert!(!error.what.is_empty(), "byte {at} with {flip:#x}");
            }
        }
    }
}

#[test]
fn formats_are_told_from_the_first_bytes() {
    for (name, format) in [
        ("perf.data", Format::PerfData),
        ("perf-pipe.data", Format::PerfPipe),
        ("trace-v6.dat", Format::TraceDat),
        ("trace-v7.dat", Format::TraceDat),
        ("ftrace.txt", Format::FtraceText),
        ("trace-cmd-report.txt", Format::FtraceText),
        ("perf-script.txt", Format::FtraceText),
        ("pingpong.pftrace", Format::Perfetto),
        ("compact.pftrace", Format::Perfetto),
    ] {
        let bytes = unpacked(name);
        let start = &bytes[..bytes.len().min(rota_trace_import::ENOUGH)];
        assert_eq!(detect(start), Some(format), "{name}");
    }
}
