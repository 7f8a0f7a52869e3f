// SPDX-License-Identifier: MIT OR Apache-2.0
//! What compiled code has of the call that it runs, and what it calls for all that it does not do
//! itself.
#![allow(unsafe_code)]

use crate::native::Code;
use rota_vm::engine::{Back, Begun, Called, FrameStack, Guest, View};
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Results of compiled functions, and of most that they call.
pub(crate) mod status {
    /// It returned, or went well.
    pub(crate) const FINE: u64 = 0;
    /// There was a fault.
    pub(crate) const FAULT: u64 = 1;
    /// The interpreter is to go on.
    pub(crate) const INTERPRET: u64 = 2;
}

/// Costs that are none.
mod cost {
    /// The call was a fault.
    pub(super) const FAULT: i64 = -1;
    /// The callee calls back; its cost is in the place of its result.
    pub(super) const CALLS_BACK: i64 = -2;
}

/// The first argument of all compiled functions, and of all that they call. Compiled code reads and
/// writes the fields up to `thunks`.
#[repr(C)]
pub(crate) struct Context<'a> {
    /// [`Guest::view`] as it is now.
    pub(crate) view: View,
    /// Instructions left, while no compiled function has them in a register.
    pub(crate) left: i64,
    pub(crate) registers: *mut u64,
    pub(crate) frames: *mut FrameStack,
    /// The instruction that calls the host, and what it calls.
    pub(crate) site: u64,
    pub(crate) callee: u64,
    /// Calls the host from `site`, with r1 to r5 as the guest has them; r0 and its cost.
    pub(crate) host: unsafe extern "sysv64" fn(*mut Context<'_>) -> Pair,
    pub(crate) thunks: &'static Thunks,
    guest: &'a mut dyn Guest,
    code: &'a Code,
    panic: Option<Box<dyn Any + Send>>,
}

/// Two results, in two registers.
#[repr(C)]
pub(crate) struct Pair(u64, u64);

/// What compiled code seldom calls.
#[repr(C)]
pub(crate) struct Thunks {
    /// What is left to do of such a call with another cost than expected: instruction, what is needed to
    /// go on, what was expected, r0 and the cost; a [`status`].
    pub(crate) settle: unsafe extern "sysv64" fn(*mut Context<'_>, u64, i64, i64, u64, i64) -> u64,
    /// Instruction, address, bytes; the value and a [`status`].
    pub(crate) load: unsafe extern "sysv64" fn(*mut Context<'_>, u64, u64, u64) -> Pair,
    /// Instruction, address, bytes, value; a [`status`].
    pub(crate) store: unsafe extern "sysv64" fn(*mut Context<'_>, u64, u64, u64, u64) -> u64,
    /// Enters a frame for the call at an instruction; a [`status`].
    pub(crate) enter: unsafe extern "sysv64" fn(*mut Context<'_>, u64) -> u64,
    /// Runs a function of which the frame was entered; a [`status`].
    pub(crate) run: unsafe extern "sysv64" fn(*mut Context<'_>, u64) -> u64,
    /// Runs an instruction; a [`status`].
    pub(crate) step: unsafe extern "sysv64" fn(*mut Context<'_>, u64) -> u64,
    /// Leaves the rest to the interpreter, from an instruction on; that [`status`].
    pub(crate) interpret: unsafe extern "sysv64" fn(*mut Context<'_>, u64) -> u64,
}

static THUNKS: Thunks = Thunks { settle, load, store, enter, run: run_entered, step, interpret };

impl<'a> Context<'a> {
    pub(crate) fn new(guest: &'a mut dyn Guest, code: &'a Code) -> Self {
        let Begun { view, left, registers, frames } = guest.begin();
        Self {
            view,
            left,
            registers,
            frames,
            site: 0,
            callee: 0,
            host,
            thunks: &THUNKS,
            guest,
            code,
            panic: None,
        }
    }

    /// Has what compiled code reads say what the guest says now.
    fn renew(&mut self) {
        self.view = self.guest.view();
    }

    /// Once compiled code has returned: gives the fuel back, and goes on with a panic of the host.
    pub(crate) fn finish(self) {
        self.guest.leave(self.left);
        if let Some(panic) = self.panic {
            std::panic::resume_unwind(panic);
        }
    }

    /// A panic must not go through compiled code, which knows of none: it ends as a fault does, and
    /// the panic goes on behind it.
    #[inline]
    fn guarded<T>(&mut self, panicked: T, run: impl FnOnce(&mut Self) -> T) -> T {
        match catch_unwind(AssertUnwindSafe(|| run(&mut *self))) {
            Ok(value) => value,
            Err(panic) => {
                self.panic = Some(panic);
                panicked
            }
        }
    }
}

fn fine(is_fine: bool) -> u64 {
    if is_fine {
        status::FINE
    } else {
        status::FAULT
    }
}

unsafe extern "sysv64" fn host(context: *mut Context<'_>) -> Pair {
    // SAFETY: compiled code passes the context that it was run with (`native::Code::run`), and does
    // not touch it until this returns. The same in all functions here.
    let context = unsafe { &mut *context };
    context.guarded(Pair(0, cost::FAULT as u64), |context| {
        let (site, callee) = (context.site as usize, context.callee as usize);
        match context.guest.call(site, callee, &mut context.view) {
            Called::Value { r0, cost } => Pair(r0, cost as u64),
            Called::CallsBack { cost } => Pair(cost as u64, cost::CALLS_BACK as u64),
            Called::Fault => Pair(0, cost::FAULT as u64),
        }
    })
}

unsafe extern "sysv64" fn settle(
    context: *mut Context<'_>,
    at: u64,
    need: i64,
    expected: i64,
    r0: u64,
    cost: i64,
) -> u64 {
    // SAFETY: as in `host`; the reference ends before compiled code runs.
    let this = unsafe { &mut *context };
    match cost {
        cost::FAULT => {
            this.left += expected;
            return status::FAULT;
        }
        cost::CALLS_BACK => {
            this.left -= r0 as i64 - expected;
            // SAFETY: as here.
            let status = unsafe { call_back(context, at) };
            if status != status::FINE {
                return status;
            }
        }
        _ => this.left -= cost - expected,
    }
    // SAFETY: as in `host`.
    let this = unsafe { &mut *context };
    this.go_on_with(need, at)
}

impl Context<'_> {
    /// After an instruction: goes on if there is as much fuel as is needed, else the interpreter does.
    fn go_on_with(&mut self, need: i64, after: u64) -> u64 {
        if self.left >= need {
            return status::FINE;
        }
        self.guest.go_on_at(after as usize + 1);
        status::INTERPRET
    }
}

/// Runs the functions that a helper calls back.
unsafe fn call_back(context: *mut Context<'_>, at: u64) -> u64 {
    let mut begun = false;
    loop {
        // SAFETY: as in `host`; the reference ends before compiled code runs below.
        let this = unsafe { &mut *context };
        let back = this.guarded(Back::Fault, |this| {
            let back = match begun {
                false => this.guest.call_back(at as usize),
                true => this.guest.called_back(),
            };
            this.renew();
            back
        });
        begun = true;
        let function = match back {
            Back::Done => return status::FINE,
            Back::Interpret => return status::INTERPRET,
            Back::Fault => return status::FAULT,
            Back::Run(function) => function,
        };
        // SAFETY: the frame was entered, and the context says what the guest does.
        let status = unsafe { run(context, function) };
        if status != status::FINE {
            return status;
        }
    }
}

/// Runs a function of which the frame was entered; the interpreter does if it is not compiled.
///
/// # Safety
///
/// The context is that of the code, and no reference to it is used again before this returns.
pub(crate) unsafe fn run(context: *mut Context<'_>, function: usize) -> u64 {
    // SAFETY: as in `host`.
    let code = unsafe { (*context).code };
    match code.entry(function) {
        // SAFETY: compiled code accesses the context, the registers, the windows and views of maps; of what a
        // window says only bytes inside it, of a region that is kept only its bytes, of a map's values
        // those of its regions. All of these are there until the guest changes them, which it does only
        // when called, and then the context is renewed.
        Some(entry) => unsafe { entry(context) },
        None => {
            // SAFETY: as in `host`.
            let this = unsafe { &mut *context };
            this.guest.go_on_at(code.start(function));
            status::INTERPRET
        }
    }
}

unsafe extern "sysv64" fn enter(context: *mut Context<'_>, at: u64) -> u64 {
    // SAFETY: as in `host`.
    let context = unsafe { &mut *context };
    context.guarded(status::FAULT, |context| {
        let entered = context.guest.enter(at as usize);
        context.renew();
        fine(entered)
    })
}

unsafe extern "sysv64" fn run_entered(context: *mut Context<'_>, function: u64) -> u64 {
    // SAFETY: as in `host`; the frame was entered, and the context says what the guest does.
    unsafe { run(context, function as usize) }
}

unsafe extern "sysv64" fn load(context: *mut Context<'_>, at: u64, addr: u64, bytes: u64) -> Pair {
    // SAFETY: as in `host`.
    let context = unsafe { &mut *context };
    context.guarded(Pair(0, status::FAULT), |context| {
        match context.guest.load(at as usize, addr, bytes as u32) {
            Some(value) => Pair(value, status::FINE),
            None => Pair(0, status::FAULT),
        }
    })
}

unsafe extern "sysv64" fn store(
    context: *mut Context<'_>,
    at: u64,
    addr: u64,
    bytes: u64,
    value: u64,
) -> u64 {
    // SAFETY: as in `host`.
    let context = unsafe { &mut *context };
    context.guarded(status::FAULT, |context| {
        fine(context.guest.store(at as usize, addr, bytes as u32, value))
    })
}

unsafe extern "sysv64" fn step(context: *mut Context<'_>, at: u64) -> u64 {
    // SAFETY: as in `host`.
    let context = unsafe { &mut *context };
    context.guarded(status::FAULT, |context| fine(context.guest.step(at as usize)))
}

unsafe extern "sysv64" fn interpret(context: *mut Context<'_>, at: u64) -> u64 {
    // SAFETY: as in `host`.
    let context = unsafe { &mut *context };
    context.guest.go_on_at(at as usize);
    status::INTERPRET
}
