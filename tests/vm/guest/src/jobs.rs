// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does the jobs, one after the other, each from a clean machine to a clean machine.

use crate::records::{now, Records};
use crate::steps::Work;
use crate::sysfs;
use anyhow::{Context, Result};
use rota_guest::job::Job;
use rota_guest::record::Record;
use rota_guest::JOBS_FILE;
use std::fs;

pub(crate) fn run() -> Result<()> {
    let mut records = Records::open()?;
    let text = fs::read_to_string(JOBS_FILE).context(JOBS_FILE)?;
    let jobs: Vec<Job> = serde_json::from_str(&text).context(JOBS_FILE)?;
    records.send(&Record::Boot {
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        cpus: sysfs::online_cpus()? as u32,
        jobs: jobs.len(),
    })?;
    let mut all_good = true;
    for job in &jobs {
        all_good &= run_job(job, &mut records)?;
    }
    records.send(&Record::End { code: u8::from(!all_good) })
}

fn run_job(job: &Job, records: &mut Records) -> Result<bool> {
    let start = now();
    records.say(&format!("job {}", job.name));
    let mut work = Work::new(job, records);
    let mut ok = work.do_all(&job.steps, "")?;
    // Also after a problem: the next job wants a machine as after boot.
    ok &= work.clean_up()?;
    let took_ns = (now() - start).as_nanos() as u64;
    records.send(&Record::Done { job: job.name.clone(), ok, took_ns })?;
    Ok(ok)
}
