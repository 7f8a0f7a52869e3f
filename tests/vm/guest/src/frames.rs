// SPDX-License-Identifier: MIT OR Apache-2.0
//! A film: frames are due at fixed times, and a decoder is asked for each. One can wait while another
//! one is decoded; those that come due then are dropped.

use crate::ask::{connect_unix, Server};
use crate::web::{stay_on, CLIENTS_CPU, SERVER_CPU};
use anyhow::{ensure, Context, Result};
use rota_guest::visits::Frames;
use rota_play::{monotonic_ns, sleep_until};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// One that is decoded, and one that waits.
const MOST_ASKED: u32 = 2;
/// The load average has settled.
const SETTLES: Duration = Duration::from_secs(2);

/// `WORK_US PERIOD_US FRAMES`: prints how many were decoded.
pub(crate) fn frames(words: &[&str]) -> Result<()> {
    let [work_us, period_us, due] = words else {
        anyhow::bail!("usage: rota-guest frames WORK_US PERIOD_US FRAMES");
    };
    let (period_us, due): (u64, u32) = (period_us.parse()?, due.parse()?);
    // The decoder stays where it is started.
    stay_on(SERVER_CPU)?;
    let mut server = Server::start("unix", "other", work_us)?;
    stay_on(CLIENTS_CPU)?;
    let mut asks = connect_unix(&mut server)?;
    let mut answers = asks.try_clone().context("cannot listen")?;
    thread::sleep(SETTLES);
    let shown = AtomicU32::new(0);
    let begin_ns = monotonic_ns();
    thread::scope(|scope| {
        let shown = &shown;
        let listener = scope.spawn(move || {
            while matches!(answers.read(&mut [0]), Ok(1)) {
                shown.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut asked = 0;
        for frame in 0..u64::from(due) {
            sleep_until(begin_ns + frame * period_us * 1000);
            if asked - shown.load(Ordering::Relaxed) < MOST_ASKED {
                asks.write_all(b"?").context("the decoder does not listen")?;
                asked += 1;
            }
        }
        sleep_until(begin_ns + u64::from(due) * period_us * 1000);
        let shown = shown.load(Ordering::Relaxed);
        println!("{}", serde_json::to_string(&Frames { due, shown })?);
        asks.shutdown(std::net::Shutdown::Both).context("cannot end the film")?;
        ensure!(listener.join().is_ok(), "the listener panicked");
        Ok(())
    })
}
