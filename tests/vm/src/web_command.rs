// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota-vm web`: a real web server in a kernel, for two papers.

use crate::page_command::{docs, draw, none, PageArgs, Ran};
use anyhow::{Context, Result};
use rota_vm_tests::guest::{self, Sources};
use rota_vm_tests::web::{cas, film, pbs, server};
use rota_vm_tests::{page, statement};
use std::process::Command;

const WRITES: &str = "rota-vm web --write";

#[derive(Debug, clap::Args)]
pub(crate) struct WebArgs {
    /// For which papers [default: both]
    papers: Vec<Paper>,

    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Paper {
    /// Figure 8: thirty clients, under RR, O(1), EEVDF and PBS
    Pbs,
    /// Customers and a film beside busy tasks, under EEVDF, cfs and appease
    Cas,
}

/// Whether all is as it has to be.
pub(crate) fn run(args: &WebArgs, sources: &Sources) -> Result<bool> {
    let mut good = true;
    for paper in [Paper::Pbs, Paper::Cas] {
        if args.papers.is_empty() || args.papers.contains(&paper) {
            good &= run_for(paper, args, sources)?;
        }
    }
    Ok(good)
}

fn run_for(paper: Paper, args: &WebArgs, sources: &Sources) -> Result<bool> {
    let mut files = guest::initramfs(sources)?;
    server::add(&mut files, &sources.tests)?;
    let boot = match paper {
        Paper::Pbs => pbs::boot(&mut files)?,
        Paper::Cas => cas::boot(&mut files)?,
    };
    let Some(ran) = args.page.run("web", &boot, files)? else { return Ok(false) };
    match paper {
        Paper::Pbs => for_pbs(&ran, args.page.write),
        Paper::Cas => for_cas(&ran, args.page.write),
    }
}

fn for_pbs(ran: &Ran, write: bool) -> Result<bool> {
    let outcomes = pbs::outcomes(&ran.records)?;
    let statements = pbs::statements(&outcomes);
    let text = pbs::markdown(&ran.kernel, &version()?, &outcomes, &statements);
    println!("{text}");
    if write {
        page::write(&docs().join("reproduce/pbs.md"), WRITES, &text)?;
        let [all, small] = pbs::pictures(&outcomes);
        draw("pbs-web-all.svg", &all)?;
        draw("pbs-web-small.svg", &small)?;
    }
    Ok(none("web", &statement::problems(&statements)))
}

fn for_cas(ran: &Ran, write: bool) -> Result<bool> {
    let (outcomes, films) = (cas::outcomes(&ran.records)?, film::outcomes(&ran.records)?);
    let statements = [cas::statements(&outcomes), film::statements(&films)].concat();
    let mut text = cas::markdown(&ran.kernel, &version()?, &outcomes, &statements);
    text = format!("{text}\n{}", film::markdown(&films));
    println!("{text}");
    if write {
        page::write(&docs().join("reproduce/cas.md"), WRITES, &text)?;
    }
    Ok(none("web", &statement::problems(&statements)))
}

/// The server and its version, as it says it.
fn version() -> Result<String> {
    let output = Command::new(server::PROGRAM).arg("-v").output().context(server::PROGRAM)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = said.lines().next().and_then(|line| line.strip_prefix("Server version: "));
    Ok(version.unwrap_or("Apache of an unknown version").trim().to_owned())
}
