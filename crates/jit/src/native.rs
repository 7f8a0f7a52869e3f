// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine code in memory that is executable and not writable. A function is compiled once that is
//! worth it.
#![allow(unsafe_code)]

use crate::compiler::Compiler;
use crate::context::{status, Context};
use crate::When;
use memmap2::{Mmap, MmapMut};
use rota_vm::engine::{Compiled, End, Guest, Listing};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A compiled function: returns a [`status`].
pub(crate) type Entry = unsafe extern "sysv64" fn(*mut Context<'_>) -> u64;

/// In the place of an address: not compiled yet.
const NOT_YET: usize = 0;
/// In the place of an address: it cannot be compiled.
pub(crate) const NEVER: usize = 1;
/// A function is compiled once the interpreter ran each of its instructions so often, in the mean. To
/// compile one takes as long as some 600 runs of it save; but who was called so often goes on to be
/// called.
const WORTH_RUNS: u64 = 50;
/// So many in the interpreter are worth as much as a run of a function.
const INSTRUCTIONS_OF_A_RUN: u64 = 250;

/// A function of a program.
struct Function {
    /// Its first instruction, and how many it has.
    start: usize,
    size: u64,
    address: AtomicUsize,
    /// How often it was to run before it was compiled.
    runs: AtomicU32,
    /// What the interpreter ran in its place, and behind it.
    instructions: AtomicU64,
}

impl Function {
    fn is_hot(&self, when: When) -> bool {
        match when {
            // few runs can be long ones
            When::Runs(after) => {
                let instructions = u64::from(after) * INSTRUCTIONS_OF_A_RUN;
                self.runs.fetch_add(1, Ordering::Relaxed) >= after
                    || self.instructions.load(Ordering::Relaxed) >= instructions
            }
            When::Worth => self.instructions.load(Ordering::Relaxed) >= self.size * WORTH_RUNS,
        }
    }
}

/// Bytes of a page, in which each function begins: it has memory of its own, as no memory can be written
/// and run.
const PAGE: usize = 4096;
/// Bytes of a line of a processor's cache.
const LINE: usize = 64;

/// What compiles, and has compiled.
struct Workshop {
    compiler: Compiler,
    memory: Vec<Mmap>,
    /// Where in its page the next function begins: behind the last one, as if there were no pages. If all
    /// began at the same place, their first lines would share the few places that a cache has for them.
    begin: usize,
}

/// All functions of a program.
pub(crate) struct Code {
    functions: Vec<Function>,
    when: When,
    workshop: Mutex<Workshop>,
}

impl Code {
    /// Functions that are compiled once they were to run so often.
    pub(crate) fn new(listing: &Listing, when: When) -> Self {
        let function = |range: &std::ops::Range<usize>| Function {
            start: range.start,
            size: range.len() as u64,
            address: AtomicUsize::new(NOT_YET),
            runs: AtomicU32::new(0),
            instructions: AtomicU64::new(0),
        };
        let functions = listing.functions.iter().map(function).collect();
        let workshop = Workshop { compiler: Compiler::new(listing), memory: Vec::new(), begin: 0 };
        Self { functions, when, workshop: Mutex::new(workshop) }
    }

    /// Where a function begins.
    pub(crate) fn start(&self, function: usize) -> usize {
        self.functions.get(function).map_or(0, |function| function.start)
    }

    /// The machine code of a function, if it has or now gets any.
    #[inline]
    pub(crate) fn entry(&self, function: usize) -> Option<Entry> {
        let address = self.functions.get(function)?.address.load(Ordering::Acquire);
        let address = if address > NEVER { address } else { self.compiled(function, address)? };
        let address = std::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: where `compile` has put such a function; the memory lives as long as this.
        Some(unsafe { std::mem::transmute::<*const u8, Entry>(address) })
    }

    #[cold]
    fn compiled(&self, function: usize, address: usize) -> Option<usize> {
        let state = self.functions.get(function)?;
        if address == NEVER || !state.is_hot(self.when) {
            return None;
        }
        let mut workshop = self.workshop.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        let mut address = state.address.load(Ordering::Acquire);
        if address == NOT_YET {
            address = workshop.compile(function, &self.functions).unwrap_or(NEVER);
            state.address.store(address, Ordering::Release);
        }
        (address > NEVER).then_some(address)
    }
}

impl Workshop {
    fn compile(&mut self, function: usize, functions: &[Function]) -> Option<usize> {
        // Where compiled code looks for the address of one that it calls.
        let place = |callee: usize| functions.get(callee).map(|callee| callee.address.as_ptr());
        let code = self.compiler.compile(function, &place)?;
        let range = self.begin..self.begin + code.len();
        let mut memory = MmapMut::map_anon(range.end.max(1)).ok()?;
        memory[range.clone()].copy_from_slice(&code);
        let memory = memory.make_exec().ok()?;
        let address = memory[range.start..].as_ptr().expose_provenance();
        self.memory.push(memory);
        self.begin = range.end.next_multiple_of(LINE) % PAGE;
        Some(address)
    }
}

impl Compiled for Code {
    fn run(&self, function: usize, guest: &mut dyn Guest) -> End {
        let Some(entry) = self.entry(function) else { return End::Interpret };
        let mut context = Context::new(guest, self);
        // SAFETY: as in `context::run`: the guest has entered the frame, and the context is for this
        // call alone.
        let status = unsafe { entry(&raw mut context) };
        context.finish();
        match status {
            status::FINE => End::Returned,
            status::INTERPRET => End::Interpret,
            _ => End::Fault,
        }
    }

    fn interpreted(&self, at: usize, instructions: u64) {
        // In the order of their instructions. What goes on within a function is of nobody.
        let Ok(nr) = self.functions.binary_search_by_key(&at, |function| function.start) else {
            return;
        };
        self.functions[nr].instructions.fetch_add(instructions, Ordering::Relaxed);
    }
}
