// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a policy of a sweep is made from.

use crate::file::{Policy, Sweep};
use rota_machine::kernel::Kernel;
use rota_session::load::hex;
use rota_session::object::{self, Found};
use rota_session::program::Installed;
use rota_session::source::Compiler;
use rota_session::{prepare, Ask, Error};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::path::Path;

/// What a policy is made from.
pub(crate) enum Source {
    Object(Found),
    /// A scheduler's own program, which brings the object.
    Program(Installed),
}

impl Source {
    /// Finds it; and a hash of all of it that decides about its runs.
    pub(crate) fn find(
        (sweep, policy): (&Sweep, &Policy),
        kernel: &Kernel,
        base: &Ask,
    ) -> Result<(Self, String), Error> {
        if let Some(words) = &policy.program {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let program = Installed::find(&words, &sweep.run.program);
            let program = program.map_err(|error| sweep.error(policy.line, error))?;
            let hash = hex(program.hash());
            return Ok((Self::Program(program), hash));
        }
        let compiler = Compiler { include: &base.include, kernel };
        let found = object::find(&policy.policy, compiler);
        let found = found.map_err(|error| sweep.error(policy.line, error))?;
        let mut hash = Sha256::new_with_prefix(&found.bytes);
        if let Some(manifest) = &policy.manifest {
            if manifest != Path::new(prepare::NO_MANIFEST) {
                let read = std::fs::read(manifest);
                hash.update(read.map_err(|e| Error::file("read", manifest, &e))?);
            }
            hash.update(b"manifest");
        }
        Ok((Self::Object(found), hex(hash)))
    }
}
