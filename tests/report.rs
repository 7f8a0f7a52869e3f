// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report as its readers meet it: in a browser.

use anyhow::{ensure, Result};
use rota_e2e::browser::Browser;
use rota_e2e::command::rota;
use rota_e2e::comparison::{comparison, task_name, task_of, CPUS, PERIOD_NS, SLICE_NS};
use rota_report::html::render;
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Slices of each CPU for five seconds.
const SLICES: u64 = 50_000;
const DURATION_NS: u64 = SLICES * PERIOD_NS;

/// A report in a browser, and the folder in which it is.
struct Report {
    browser: Browser,
    file: PathBuf,
    _folder: tempfile::TempDir,
}

/// A report on so many policies, tasks, and slices of each CPU.
fn open(policies: usize, tasks: u64, slices: u64, scheme: &str) -> Result<Report> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("report.html");
    std::fs::write(&file, render(&comparison(policies, tasks, slices)))?;
    let mut browser = Browser::start(1280, 900)?;
    browser.prefer(scheme)?;
    browser.open(&file)?;
    Ok(Report { browser, file, _folder: folder })
}

impl Report {
    /// The page must have asked for itself only, and complained of nothing.
    fn assert_quiet(&self) {
        assert_eq!(self.browser.complaints(), Vec::<String>::new());
        let itself = format!("file://{}", self.file.display());
        let asked = |url: &String| *url != itself && !url.starts_with("data:");
        assert_eq!(self.browser.requests().into_iter().find(asked), None);
    }

    /// Left, top and width of what a CPU's row shows, in the window.
    fn row(&mut self, lane: usize, cpu: u64) -> Result<(f64, f64, f64)> {
        let canvas = format!("document.querySelectorAll('.lane canvas')[{lane}]");
        self.browser.evaluate(&format!("{canvas}.scrollIntoView({{block: 'center'}})"))?;
        // Scrolling takes what the pointer says away.
        self.browser.settle()?;
        let mut side =
            |side: &str| self.browser.number(&format!("{canvas}.getBoundingClientRect().{side}"));
        let (left, top, width, height) =
            (side("left")?, side("top")?, side("width")?, side("height")?);
        let middle = top + height * (cpu as f64 + 0.4) / f64::from(CPUS);
        // Names of CPUs take 46 pixels.
        Ok((left + 46.0, middle, width - 46.0))
    }

    fn range(&mut self) -> Result<String> {
        Ok(self
            .browser
            .text("document.querySelector('.range').textContent")?
            .replace('\u{a0}', " "))
    }

    /// What is read aloud of the chosen slice.
    fn said(&mut self) -> Result<String> {
        let said = "document.querySelector('.unseen[role=status]').textContent";
        Ok(self.browser.text(said)?.replace('\u{a0}', " "))
    }

    fn tooltip(&mut self) -> Result<String> {
        let lines = "[...document.querySelectorAll('.tooltip:not([hidden]) div')].map((line) => line.textContent).join('|')";
        Ok(self.browser.text(lines)?.replace('\u{a0}', " "))
    }
}

#[test]
fn a_timeline_is_zoomed_and_read() -> Result<()> {
    let mut report = open(2, 5, SLICES, "light")?;
    assert_eq!(report.range()?, "0 ns to 5 s (5.00 s)");

    // Ten times: 5 s / 1024 is 4.88 ms around the middle.
    report.browser.evaluate("document.querySelector('.lanes').focus()")?;
    for _ in 0..10 {
        report.browser.key("+")?;
    }
    let (from_ns, to_ns) =
        (DURATION_NS as f64 * (0.5 - 0.5 / 1024.0), DURATION_NS as f64 * (0.5 + 0.5 / 1024.0));
    assert_eq!(report.range()?, "2.497558594 s to 2.502441406 s (4.88 ms)");

    // In the middle of slice 25000, which begins at 2.5 s, of CPU 2 of the second policy.
    let (at, cpu) = (SLICES / 2, 2);
    let (left, middle, width) = report.row(1, cpu)?;
    let time_ns = (at * PERIOD_NS + SLICE_NS / 2) as f64;
    let x = left + width * (time_ns - from_ns) / (to_ns - from_ns);
    report.browser.mouse("mouseMoved", (x, middle), json!({}))?;
    let name = task_name(task_of(5, cpu, at));
    assert_eq!(report.tooltip()?, format!("{name}|policy-0, CPU 2|starts 2.5 s|runs 90 µs"));

    // A wheel with Ctrl zooms, and what is under the pointer stays there.
    let wheel = json!({"deltaX": 0, "deltaY": -100, "modifiers": 2});
    report.browser.mouse("mouseWheel", (x, middle), wheel)?;
    assert_ne!(report.range()?, "2.497558594 s to 2.502441406 s (4.88 ms)");
    report.browser.mouse("mouseMoved", (x, middle), json!({}))?;
    assert!(report.tooltip()?.contains("starts 2.5 s"));

    // Keys go on to the next slice.
    let press = json!({"button": "left", "clickCount": 1});
    report.browser.mouse("mousePressed", (x, middle), press.clone())?;
    report.browser.mouse("mouseReleased", (x, middle), press)?;
    report.browser.key("n")?;
    let next = task_name(task_of(5, cpu, at + 1));
    assert_eq!(report.said()?, format!("{next}, policy-0, CPU 2, starts 2.5001 s, runs 90 µs"));

    report.browser.key("0")?;
    assert_eq!(report.range()?, "0 ns to 5 s (5.00 s)");
    report.assert_quiet();
    Ok(())
}

#[test]
fn a_drag_moves_the_timelines_and_no_further_than_they_go() -> Result<()> {
    let mut report = open(1, 5, SLICES, "light")?;
    let zoom = "document.querySelector('[aria-label=\"Zoom in\"]').click()";
    report.browser.evaluate(zoom)?;
    report.browser.settle()?;
    assert_eq!(report.range()?, "1.25 s to 3.75 s (2.50 s)");
    let (left, middle, width) = report.row(0, 0)?;
    let mut drag = |from: f64, to: f64| -> Result<String> {
        let button = json!({"button": "left", "buttons": 1, "clickCount": 1});
        report.browser.mouse("mousePressed", (left + width * from, middle), button.clone())?;
        report.browser.mouse("mouseMoved", (left + width * to, middle), button.clone())?;
        report.browser.mouse("mouseReleased", (left + width * to, middle), button)?;
        report.range()
    };
    // A fifth of the width is a fifth of 2.5 s.
    let moved = drag(0.3, 0.5)?;
    ensure!(moved.starts_with("750") || moved.starts_with("749"), "{moved}");
    assert_eq!(drag(0.1, 0.9)?, "0 ns to 2.5 s (2.50 s)");
    report.assert_quiet();
    Ok(())
}

#[test]
fn two_hundred_thousand_slices_are_redrawn_at_once() -> Result<()> {
    let mut report = open(1, 200, SLICES, "light")?;
    assert_eq!(u64::from(CPUS) * SLICES, 200_000);
    report.browser.evaluate("document.querySelector('.lanes').focus()")?;
    let mut times = Vec::new();
    for _ in 0..5 {
        for key in ["+", "0"] {
            let start = Instant::now();
            report.browser.key(key)?;
            times.push(start.elapsed());
        }
    }
    times.sort_unstable();
    // Two frames of 17 ms and the way there and back; ten times as much on a busy machine.
    ensure!(times[times.len() / 2] < Duration::from_millis(500), "{times:?}");
    report.assert_quiet();
    Ok(())
}

#[test]
fn a_table_is_ordered_and_tasks_are_brought_out() -> Result<()> {
    let mut report = open(3, 5, 100, "light")?;
    let columns = "[...document.querySelectorAll('.summary thead .policy')].map((name) => name.textContent).join(' ')";
    let press = |measure: &str| {
        format!("document.querySelector('[data-measure={measure}] button').click()")
    };
    assert_eq!(report.browser.text(columns)?, "policy-1 policy-0 policy-2");
    report.browser.evaluate(&press("throughput"))?;
    assert_eq!(report.browser.text(columns)?, "policy-1 policy-2 policy-0");
    let cells = "[...document.querySelectorAll('[data-measure=wakeup_p99] .mean')].map((cell) => cell.textContent).join(' ')";
    let means = report.browser.text(cells)?.replace('\u{a0}', " ");
    assert_eq!(means, "2.00 3.00 1.00");
    report.browser.evaluate(&press("throughput"))?;
    assert_eq!(report.browser.text(columns)?, "policy-1 policy-0 policy-2");

    let faded = "document.querySelectorAll('.plot .faded').length";
    assert_eq!(report.browser.number(faded)?, 0.0);
    report.browser.evaluate("document.querySelectorAll('.by-task > .legend button')[1].click()")?;
    // Of five groups, four fade in the two charts of each of three policies.
    assert_eq!(report.browser.number(faded)?, 24.0);

    let rows = "[...document.querySelectorAll('tr[data-measure]')].filter((row) => row.offsetHeight > 0).length";
    // Three measures have numbers, and one of them is not for a first look.
    assert_eq!(report.browser.number(rows)?, 2.0);
    report.browser.evaluate("document.querySelector('.scroller + .tools button').click()")?;
    assert_eq!(report.browser.number(rows)?, 3.0);

    let lanes =
        "[...document.querySelectorAll('.lane')].filter((lane) => lane.offsetHeight > 0).length";
    assert_eq!(report.browser.number(lanes)?, 3.0);
    report.browser.evaluate("document.querySelector('.choice input').click()")?;
    assert_eq!(report.browser.number(lanes)?, 2.0);
    report.assert_quiet();
    Ok(())
}

/// Texts of a chart that overlap each other, and how far anything is too wide.
const CLUTTER: &str = "(() => {
    const clutter = [];
    for (const chart of document.querySelectorAll('svg.chart')) {
        const texts = [...chart.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
        texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
            if (a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2) clutter.push(one + ' / ' + other);
        }));
        for (const [text, box] of texts) if (box.left < 0 || box.right > innerWidth + 1) clutter.push(text + ' is cut');
    }
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) clutter.push('page is ' + wide + ' px too wide');
    return clutter.join('; ');
})()";

#[test]
fn everything_fits_at_every_width() -> Result<()> {
    let mut report = open(12, 200, 2_000, "light")?;
    for (width, scheme) in [(1280, "light"), (400, "dark"), (320, "light"), (768, "dark")] {
        report.browser.resize(width, 900)?;
        report.browser.prefer(scheme)?;
        report.browser.settle()?;
        report.browser.settle()?;
        assert_eq!(report.browser.text(CLUTTER)?, "", "at {width} px");
        report.browser.evaluate("document.querySelector('.lanes').focus()")?;
        // Far from the beginning and close up, texts of the axis are longest.
        (0..14).try_for_each(|_| report.browser.key("+"))?;
        assert_eq!(report.browser.text(CLUTTER)?, "", "at {width} px, zoomed");
        report.browser.key("0")?;
    }
    report.assert_quiet();
    Ok(())
}

#[test]
fn names_are_shown_as_they_are_and_run_nothing() -> Result<()> {
    let mut report = open(2, 5, 100, "light")?;
    let hostile = task_name(0);
    let shown = "[...document.querySelectorAll('.legend button')].map((item) => item.textContent).join('\\n')";
    assert!(report.browser.text(shown)?.contains(&hostile));
    assert_eq!(report.browser.text("typeof hacked")?, "undefined");
    assert_eq!(report.browser.number("document.images.length")?, 0.0);
    report.assert_quiet();
    Ok(())
}

#[test]
fn it_is_printed() -> Result<()> {
    let mut report = open(2, 5, 1_000, "dark")?;
    let pdf = report.browser.print()?;
    // `%PDF-` in base64.
    assert!(pdf.starts_with("JVBERi") && pdf.len() > 50_000, "{}", pdf.len());
    report.assert_quiet();
    Ok(())
}

/// Three busy tasks with shares 3, 2, 1 on one CPU, quanta of 10 ms: weighted round robin
/// serves each in one go, VTRR in the order A, B, C, A, B, A (Nieh et al., 2001, §2).
#[test]
fn a_report_of_the_command_shows_what_its_policies_do() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("report.html");
    let outcome = rota([
        "compare".as_ref(),
        "workloads/shares321.json".as_ref(),
        "--policies=wrr,vtrr".as_ref(),
        "--baseline=wrr".as_ref(),
        "--cpus=1".as_ref(),
        "--ideal".as_ref(),
        "--seeds=2".as_ref(),
        "--duration=1s".as_ref(),
        "--report".as_ref(),
        file.as_os_str(),
    ])?;
    ensure!(outcome.code == Some(0), "{}", outcome.stderr);
    let mut report = Report { browser: Browser::start(1280, 900)?, file, _folder: folder };
    report.browser.open(&report.file)?;
    report.browser.evaluate("document.querySelector('.lanes').focus()")?;
    let expected = [
        ("ArrowDown", "A-0, wrr, CPU 0, starts 0 ns, runs 30 ms"),
        ("n", "B-1, wrr, CPU 0, starts 30 ms, runs 20 ms"),
        ("n", "C-2, wrr, CPU 0, starts 50 ms, runs 10 ms"),
        ("p", "B-1, wrr, CPU 0, starts 30 ms, runs 20 ms"),
        ("p", "A-0, wrr, CPU 0, starts 0 ns, runs 30 ms"),
        ("ArrowDown", "A-0, vtrr, CPU 0, starts 0 ns, runs 10 ms"),
        ("n", "B-1, vtrr, CPU 0, starts 10 ms, runs 10 ms"),
        ("n", "C-2, vtrr, CPU 0, starts 20 ms, runs 10 ms"),
        ("n", "A-0, vtrr, CPU 0, starts 30 ms, runs 10 ms"),
        ("n", "B-1, vtrr, CPU 0, starts 40 ms, runs 10 ms"),
    ];
    for (key, slice) in expected {
        report.browser.key(key)?;
        assert_eq!(report.said()?, slice);
    }
    assert_eq!(report.browser.text(CLUTTER)?, "");
    report.assert_quiet();
    Ok(())
}
