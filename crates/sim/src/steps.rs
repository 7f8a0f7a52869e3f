// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a manifest says is done, one after the other, before a scheduler is attached: programs run,
//! what they found is kept, memory is written.

use rota_machine::policy::syscall_program;
use rota_manifest::{Run, Step, Value};
use rota_object::image::{FuncId, Image};
use std::collections::BTreeMap;

/// Runs programs of section `syscall` and writes memory, in a simulated machine or a kernel.
pub trait Place {
    /// Runs a program with this context, which it can change; returns what it returned.
    fn run(&mut self, program: FuncId, ctx: &mut [u8], cpu: u32) -> Result<i32, String>;
    /// The bytes at an address of the object's arena, for `change` to read and write.
    fn memory(
        &mut self,
        addr: u64,
        size: u32,
        change: &mut dyn FnMut(&mut [u8]) -> Result<(), String>,
    ) -> Result<(), String>;
}

/// Does what a manifest says is done before the scheduler is attached. An error is of a program or
/// type: `program init`, `type my_bitmap`.
pub fn steps(image: &Image, steps: &[Step], place: &mut dyn Place) -> Result<(), (String, String)> {
    let mut kept: BTreeMap<&str, i128> = BTreeMap::new();
    for step in steps {
        match step {
            Step::Run(run) => {
                let fail = |what: String| (format!("program {}", run.program), what);
                let (function, mut ctx) = program(image, run, &kept).map_err(fail)?;
                match place.run(function, &mut ctx, run.cpu.unwrap_or(0)).map_err(fail)? {
                    0 => {}
                    code => return Err(fail(format!("returned {code}, expected 0"))),
                }
                for (name, path) in &run.keep {
                    let ty = image.context_type(function);
                    let ty =
                        ty.ok_or_else(|| fail("takes no argument that could be kept".into()))?;
                    let number = image.number_in(ty, path, &ctx);
                    kept.insert(name, number.map_err(|error| fail(error.to_string()))?);
                }
            }
            Step::Write { at, of_type, value } => {
                let fail = |what: String| (format!("type {of_type}"), what);
                let ty = image.type_named(of_type);
                let ty = ty.ok_or_else(|| fail("the object has no such type".into()))?;
                let addr = kept.get(at.as_str()).copied().unwrap_or(0) as u64;
                let parts = || value.iter().map(|(path, value)| (path.as_str(), value.as_str()));
                let size = image.btf.size_of(ty).unwrap_or(0);
                let mut change = |bytes: &mut [u8]| {
                    image.write_parts(ty, parts(), bytes).map_err(|error| error.to_string())
                };
                place.memory(addr, size, &mut change).map_err(fail)?;
            }
        }
    }
    Ok(())
}

/// A set-up program and its context.
fn program(
    image: &Image,
    run: &Run,
    kept: &BTreeMap<&str, i128>,
) -> Result<(FuncId, Vec<u8>), String> {
    let ctx = run.ctx.iter().map(|(path, value)| {
        let value = match value {
            Value::Text(text) => text.clone(),
            Value::Kept(name) => kept.get(name.as_str()).copied().unwrap_or(0).to_string(),
        };
        (path.clone(), value)
    });
    syscall_program(image, &run.program, &ctx.collect::<Vec<_>>())
}
