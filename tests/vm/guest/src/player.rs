// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota-guest play`: the options of a workload that is played under a policy or the fair class.

use crate::sessions;
use crate::sysfs::online_cpus;
use anyhow::{bail, Context, Result};
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rota_play::{Options, Part, Played};
use rota_workload::parse_duration;
use std::io;
use std::sync::Arc;

/// `FILE [--duration TIME] [--seed N] [--hz N] [--partial|--fair|--mixed]`, and `--session N --start NS`
/// for one of several players, which [`sessions`] starts.
pub(crate) fn play(words: &[&str]) -> Result<Played> {
    let (mut file, mut duration_ns, mut seed, mut hz) = (String::new(), None, 1, 250);
    let (mut partial, mut quiet) = (false, false);
    let (mut session, mut start_ns) = (None, 0);
    let all = words;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match *word {
            "--duration" => duration_ns = Some(parse_duration(value()?)?),
            "--seed" => seed = value()?.parse().context("--seed")?,
            "--hz" => hz = value()?.parse().context("--hz")?,
            "--session" => session = Some(value()?.parse().context("--session")?),
            "--start" => start_ns = value()?.parse().context("--start")?,
            "--partial" => partial = true,
            // Tasks of the fair class, all or some: the file says which are the policy's.
            "--fair" | "--mixed" => quiet = true,
            name if file.is_empty() && !name.starts_with('-') => file = name.to_owned(),
            other => bail!("unknown option {other}"),
        }
    }
    if file.is_empty() {
        bail!(
            "usage: rota-guest play FILE [--duration TIME] [--seed N] [--hz N] \
             [--partial|--fair|--mixed]"
        );
    }
    let text = std::fs::read_to_string(&file).with_context(|| file.clone())?;
    let workload = rota_workload::parse(&file, &text)?;
    let Some(duration_ns) = duration_ns.or(workload.duration_ns) else {
        bail!("{file}: neither the file nor --duration says how long it lasts");
    };
    if workload.uses().sessions && session.is_none() {
        return sessions::play(&Arc::new(workload), all, hz);
    }
    let part = session.map(|session| Part { session, start_ns, ready: sessions::say_ready });
    let cpus = online_cpus()? as u32;
    // Policies without shares do not want to know.
    let share = shares_map().map(|map| Box::new(publisher(map)) as Box<_>);
    let (ext, count_from_ns) = (partial, None);
    let options = Options { duration_ns, seed, count_from_ns, hz, cpus, quiet, ext, part, share };
    Ok(rota_play::play(&Arc::new(workload), options)?)
}

fn publisher(map: MapHandle) -> impl Fn(u32, u64) -> io::Result<()> + Send + Sync {
    move |tid: u32, share: u64| {
        map.update(&tid.to_le_bytes(), &share.to_le_bytes(), MapFlags::ANY)
            .map_err(|error| io::Error::other(error.to_string()))
    }
}

/// The map of shares of the policy that is loaded, if it has one.
fn shares_map() -> Option<MapHandle> {
    let found = MapInfoIter::default().find(|map| map.name == "rota_shares");
    found.and_then(|map| MapHandle::from_map_id(map.id).ok())
}
