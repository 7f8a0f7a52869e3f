// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota man`: manual pages from the definitions of the arguments.

mod sections;

use crate::error::{Error, Status};
use clap::{Args, Command, ValueHint};
use clap_mangen::Man;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write rota.1, rota-sim.1 … here instead of printing rota.1
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// The pages of the command line `root`.
pub(crate) fn run(args: &ManArgs, root: Command) -> Result<Status, Error> {
    let mut root = root.disable_help_subcommand(true);
    root.build();
    match &args.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(|e| Error::file("create", dir, &e))?;
            write_all(&root, &root, dir)
                .map_err(|e| Error::file("write manual pages to", dir, &e))?;
        }
        None => io::stdout().write_all(&page(&root, &root)?)?,
    }
    Ok(Status::Done)
}

/// The page of `command` and of all commands below it.
fn write_all(command: &Command, root: &Command, dir: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        write_all(below, root, dir)?;
    }
    std::fs::write(dir.join(format!("{}.1", name(command))), page(command, root)?)
}

/// `rota-sim` for `rota sim`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn page(command: &Command, root: &Command) -> io::Result<Vec<u8>> {
    let version = format!("rota {}", root.get_version().unwrap_or_default());
    let man = Man::new(command.clone())
        .title(name(command).to_uppercase())
        .source(version)
        .manual("Rota");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    sections::render(command, root, &mut page)?;
    Ok(without_repeated_preamble(&page))
}

/// Each piece comes with the same two lines that define the apostrophe; one time is enough.
fn without_repeated_preamble(page: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = page.split_inclusive(|b| *b == b'\n').collect();
    let preamble: Vec<&[u8]> = lines.iter().take(2).copied().collect();
    let mut at = 0;
    lines.retain(|line| {
        at += 1;
        at <= 2 || !preamble.contains(line)
    });
    lines.concat()
}
