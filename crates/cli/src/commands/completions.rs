// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota completions SHELL`: a script that asks this program what fits.

use crate::complete::VARIABLE;
use crate::error::{Error, Status};
use clap::Args;
use clap_complete::env::Shells;
use clap_complete::Shell;
use std::io::Write;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell that will read the script
    pub(crate) shell: Shell,
}

/// What the scripts call.
const PROGRAM: &str = "rota";

/// zsh reads a script in its `fpath` when it is first asked to complete: that time counts, too.
const ZSH_AUTOLOAD: &str = "
if [[ \"${funcstack[1]}\" == _rota ]]; then
    _clap_dynamic_completer_rota \"$@\"
fi
";

pub(crate) fn run(args: &CompletionsArgs) -> Result<Status, Error> {
    let shells = Shells::builtins();
    let name = args.shell.to_string();
    let Some(shell) = shells.completer(&name) else {
        let known: Vec<&str> = shells.names().collect();
        return Err(Error::input(format!("{name}: expected one of {}", known.join(", "))));
    };
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    if args.shell == Shell::Zsh {
        script.extend_from_slice(ZSH_AUTOLOAD.as_bytes());
    }
    std::io::stdout().write_all(&script)?;
    Ok(Status::Done)
}
