// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota-vm shares`: Figure 4 of the PBS paper, in a kernel.

use crate::page_command::{docs, draw, none, PageArgs};
use anyhow::Result;
use rota_vm_tests::guest::{self, Sources};
use rota_vm_tests::page;
use rota_vm_tests::shares::{jobs, numbers, show};

/// Whether all is as the paper says.
pub(crate) fn run(args: &PageArgs, sources: &Sources) -> Result<bool> {
    let files = guest::initramfs(sources)?;
    let Some(ran) = args.run("shares", &jobs::boot(), files)? else { return Ok(false) };
    let all = jobs::measured(&ran.records)?;
    let stretch = all.first().map_or(1.0, numbers::Measured::stretch);
    let fluid = numbers::Fluid::new(stretch)?;
    let statements = numbers::statements(&fluid, &all);
    let text = show::markdown(&ran.kernel, &fluid, &all, &statements);
    println!("{text}");
    if args.write {
        page::write(&docs().join("reproduce/pbs.md"), "rota-vm shares --write", &text)?;
        for (entry, measured) in jobs::ENTRIES.iter().zip(&all) {
            draw(&format!("pbs-shares-{}.svg", entry.id), &show::picture(entry, measured))?;
        }
    }
    Ok(none("shares", &rota_vm_tests::statement::problems(&statements)))
}
