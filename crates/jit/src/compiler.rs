// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine code of functions, by Cranelift.

use crate::liveness::Liveness;
use crate::translate::{signature, translate};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, UserFuncName};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use rota_vm::engine::Listing;

/// Compiles functions of one program.
pub(crate) struct Compiler {
    isa: OwnedTargetIsa,
    listing: Listing,
    liveness: Liveness,
    builders: FunctionBuilderContext,
    context: cranelift_codegen::Context,
    control: ControlPlane,
}

impl Compiler {
    /// `None` if there is nothing for this processor.
    pub(crate) fn new(listing: &Listing) -> Option<Self> {
        Some(Self {
            isa: target()?,
            listing: listing.clone(),
            liveness: Liveness::of(listing),
            builders: FunctionBuilderContext::new(),
            context: cranelift_codegen::Context::new(),
            control: ControlPlane::default(),
        })
    }

    /// Machine code of a function, to be put anywhere; `None` if Cranelift cannot make any.
    pub(crate) fn compile(&mut self, function: usize) -> Option<Vec<u8>> {
        let Self { isa, listing, liveness, builders, context, control } = self;
        let function = listing.functions.get(function)?;
        context.clear();
        context.func = Function::with_name_signature(UserFuncName::default(), signature(1, 1));
        let builder = FunctionBuilder::new(&mut context.func, builders);
        translate(builder, listing, liveness, function);
        let code = context.compile(&**isa, control).ok()?;
        code.buffer.relocs().is_empty().then(|| code.code_buffer().to_vec())
    }
}

/// The processor that this runs on.
fn target() -> Option<OwnedTargetIsa> {
    let mut flags = settings::builder();
    // Optimising takes longer than it saves in runs of seconds.
    flags.set("opt_level", "none").ok()?;
    flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
    flags.set("enable_probestack", "false").ok()?;
    cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()
}
