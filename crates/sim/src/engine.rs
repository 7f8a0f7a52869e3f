// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs the code of a policy.

use rota_jit::Jit;
use std::sync::Arc;

/// What runs the code of a policy. Results, counts and faults are the same with each; only time is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The interpreter, until compiling a function pays; where that is not possible, the interpreter.
    #[default]
    Auto,
    /// The interpreter.
    Interpreter,
    /// Machine code.
    Compiled,
}

impl Engine {
    /// What compiles for it on this computer, if anything does.
    pub(crate) fn compiler(self) -> Option<Arc<Jit>> {
        let jit = match self {
            Self::Interpreter => return None,
            Self::Auto => Jit::when_hot(),
            Self::Compiled => Jit::at_once(),
        };
        Jit::AVAILABLE.then(|| Arc::new(jit))
    }
}
