// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota-vm encoders`: a real encoder in a kernel, under the schedulers of the VTRR paper.

use crate::page_command::{docs, draw, none, PageArgs};
use anyhow::{Context, Result};
use rota_vm_tests::encoders::{jobs, numbers, show};
use rota_vm_tests::guest::{self, Sources};
use rota_vm_tests::page;
use std::process::Command;

/// Whether all is as the paper says.
pub(crate) fn run(args: &PageArgs, sources: &Sources) -> Result<bool> {
    let mut files = guest::initramfs(sources)?;
    jobs::add_encoder(&mut files)?;
    let Some(ran) = args.run("encoders", &jobs::boot(), files)? else { return Ok(false) };
    let frames = jobs::frames(&ran.records)?;
    let text = show::markdown(&ran.kernel, &encoder()?, &frames);
    println!("{text}");
    if args.write {
        page::write(&docs().join("reproduce/vtrr.md"), "rota-vm encoders --write", &text)?;
        for (entry, frames) in jobs::ENTRIES.iter().zip(&frames) {
            let name = format!("encoders-{}.svg", entry.policy);
            draw(&name, &show::picture(entry, frames))?;
        }
    }
    Ok(none("encoders", &numbers::problems(&frames)))
}

/// The encoder and its version, as it says it.
fn encoder() -> Result<String> {
    let output = Command::new("lame").arg("--version").output().context("cannot start lame")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = said.split_whitespace().skip_while(|word| *word != "version").nth(1);
    Ok(format!("lame {}", version.unwrap_or("of an unknown version")))
}
