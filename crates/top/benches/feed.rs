// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a million events a second cost: taking them, and showing them. It fails if showing them takes
//! more than 5 % of a CPU.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rota_top::{draw, App, Source, State};
use rota_trace::{Event, EventKind, OffCpu, Sink};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

const EVENTS: u64 = 1_000_000;
const CPUS: u32 = 64;
const TASKS: u32 = 1_000;
/// In a second.
const PICTURES: u64 = 5;
const FRAMES: u64 = 10;
const LIMIT: f64 = 0.05;

/// A second of tasks that wake, run and sleep, each on a CPU of its own choice.
fn events() -> Vec<Event> {
    let mut events = Vec::new();
    for number in 0..EVENTS {
        let (turn, step) = (number / 3, number % 3);
        let pid = 1 + (turn * 7 % u64::from(TASKS)) as u32;
        let cpu = Some((turn % u64::from(CPUS)) as u32);
        let kind = match step {
            0 => EventKind::Wakeup { pid, waker: 0 },
            1 => EventKind::SwitchIn { pid },
            _ => EventKind::SwitchOut { pid, why: OffCpu::Sleep },
        };
        events.push(Event { time_ns: number * 1_000, cpu, kind });
    }
    events
}

fn main() -> ExitCode {
    let events = events();
    let mut state = State::new(CPUS);
    let (mut fed, mut pictured, mut drawn) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let area = Rect::new(0, 0, 200, 60);
    let mut app = App::new(Source { name: "bench".into(), live: true });
    for part in events.chunks((EVENTS / FRAMES) as usize) {
        let begin = Instant::now();
        part.iter().for_each(|event| state.event(event));
        fed += begin.elapsed();
        let begin = Instant::now();
        let snapshot = Arc::new(state.snapshot());
        pictured += begin.elapsed();
        app.snapshot = snapshot;
        let begin = Instant::now();
        let mut buffer = Buffer::empty(area);
        draw(&app, area, &mut buffer);
        drawn += begin.elapsed();
    }
    // As many pictures as frames were made; half of them are in a second of rota top.
    let pictured = pictured.mul_f64(PICTURES as f64 / FRAMES as f64);
    let of_a_cpu = |time: Duration| time.as_secs_f64();
    println!(
        "top, a million events in a second, {CPUS} CPUs, {TASKS} tasks: {:.0} ns to take an event; \
         pictures {:.2} %, frames of 200 x 60 {:.2} % of a CPU",
        fed.as_nanos() as f64 / EVENTS as f64,
        of_a_cpu(pictured) * 100.0,
        of_a_cpu(drawn) * 100.0
    );
    if of_a_cpu(pictured + drawn) > LIMIT {
        eprintln!("error: expected pictures and frames to take at most {LIMIT} of a CPU");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
