// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program may write: a folder of its own, and `/dev/null`. The filter refuses the
//! network; Landlock refuses files.

use landlock::{
    Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, ABI,
};
use std::io;
use std::path::Path;

/// Ready to be put on.
pub(crate) struct Confinement {
    ruleset: RulesetCreated,
}

impl Confinement {
    /// Only `folder` can be written in.
    pub(crate) fn to(folder: &Path) -> Result<Self, RulesetError> {
        // Truncating is refused since the third version; without that a file can be lost.
        let needed = AccessFs::from_write(ABI::V3);
        let more = AccessFs::from_write(ABI::V5);
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(needed)?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(more)?
            .scope(Scope::from_all(ABI::V6))?
            .create()?;
        let ruleset = allow(ruleset, folder, more)?;
        let ruleset = allow(ruleset, Path::new("/dev/null"), AccessFs::from_file(ABI::V5) & more)?;
        Ok(Self { ruleset })
    }

    /// Confines the calling thread and what it executes, for ever. It can get no new privileges.
    pub(crate) fn restrict(self) -> io::Result<()> {
        self.ruleset.restrict_self().map(|_| ()).map_err(io::Error::other)
    }
}

fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    // A path that is not there cannot be written.
    match PathFd::new(path) {
        Ok(fd) => ruleset.add_rule(PathBeneath::new(fd, access)),
        Err(_) => Ok(ruleset),
    }
}
