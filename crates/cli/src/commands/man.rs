// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota man`: manual pages from the definitions of the arguments.

use crate::args::{Cli, ManArgs};
use crate::error::{Error, Status};
use clap::CommandFactory;
use std::io::Write;

pub(crate) fn run(args: &ManArgs) -> Result<Status, Error> {
    match &args.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(|e| Error::file("create", dir, &e))?;
            clap_mangen::generate_to(Cli::command(), dir)
                .map_err(|e| Error::file("write manual pages to", dir, &e))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            std::io::stdout().write_all(&page)?;
        }
    }
    Ok(Status::Done)
}
