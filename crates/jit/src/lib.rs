// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]

#[cfg(target_arch = "x86_64")]
mod compiler;
#[cfg(target_arch = "x86_64")]
mod context;
#[cfg(target_arch = "x86_64")]
mod flow;
#[cfg(target_arch = "x86_64")]
mod liveness;
#[cfg(target_arch = "x86_64")]
mod native;
#[cfg(target_arch = "x86_64")]
mod translate;

use rota_vm::engine::{Compiled, Engine, Listing};
use std::sync::{Arc, Mutex, PoisonError};

/// When a function is compiled.
#[derive(Clone, Copy, Debug)]
enum When {
    /// After so many runs.
    Runs(u32),
    /// Once the interpreter took as long for it as compiling it takes.
    Worth,
}

/// A listing, and what became of it.
type Done = (Listing, Option<Arc<dyn Compiled>>);

/// Compiles to code of this computer. A program that it has had before shares what was compiled.
pub struct Jit {
    when: When,
    done: Mutex<Vec<Done>>,
}

impl Jit {
    /// Whether there is code generation for this computer. Elsewhere nothing is ever compiled.
    pub const AVAILABLE: bool = cfg!(target_arch = "x86_64");

    /// Compiles each function as it is to run for the first time.
    pub fn at_once() -> Self {
        Self::after(0)
    }

    /// Compiles each function once the interpreter has run it for so long that compiling it is worth its
    /// time.
    pub fn when_hot() -> Self {
        Self::new(When::Worth)
    }

    /// Compiles each function once it was to run so often.
    pub fn after(hot_after: u32) -> Self {
        Self::new(When::Runs(hot_after))
    }

    fn new(when: When) -> Self {
        Self { when, done: Mutex::default() }
    }

    #[cfg(target_arch = "x86_64")]
    fn program(&self, listing: &Listing) -> Option<Arc<dyn Compiled>> {
        Some(Arc::new(native::Code::new(listing, self.when)))
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn program(&self, _: &Listing) -> Option<Arc<dyn Compiled>> {
        None
    }
}

impl Engine for Jit {
    fn compile(&self, listing: &Listing) -> Option<Arc<dyn Compiled>> {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, code)) = done.iter().find(|(of, _)| of == listing) {
            return code.clone();
        }
        let code = self.program(listing);
        done.push((listing.clone(), code.clone()));
        code
    }
}
