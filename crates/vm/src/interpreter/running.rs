// SPDX-License-Identifier: MIT OR Apache-2.0
//! A call that compiled code runs: what it asks for is done with the interpreter's own code.

use super::program::Program;
use super::resume::{resume, Resumed};
use super::run::{interpret, run_callee};
use crate::callback::Callback;
use crate::code::State;
use crate::engine::{Back, Begun, Called, Guest, View};
use crate::error::Fault;
use crate::host::Host;
use crate::memory::handle;
use crate::runtime::Runtime;

/// A call in progress.
pub(super) struct Running<'a, H: Host> {
    pub(super) program: &'a Program<H>,
    pub(super) state: &'a mut State<Runtime<H>, H>,
    pub(super) rt: &'a mut Runtime<H>,
    pub(super) host: &'a mut H,
    pub(super) left: i64,
    /// Why it ended.
    pub(super) fault: Option<Box<Fault>>,
}

impl<H: Host> Running<'_, H> {
    fn fail(&mut self, at: usize, fault: Box<Fault>) {
        self.state.pc = at;
        self.fault = Some(fault);
    }

    fn go_on(
        &mut self,
        at: usize,
        callback: Box<dyn Callback<Runtime<H>, H>>,
        last: Option<u64>,
    ) -> Back {
        self.state.pc = at + 1;
        match resume(callback, self.program, self.state, self.rt, self.host, last) {
            Ok(Resumed::Done) => Back::Done,
            Ok(Resumed::Called(function)) => Back::Run(function.0 as usize),
            Ok(Resumed::Became) => Back::Interpret,
            Err(fault) => {
                self.fail(at, Box::new(fault));
                Back::Fault
            }
        }
    }
}

impl<H: Host> Guest for Running<'_, H> {
    #[inline]
    fn begin(&mut self) -> Begun {
        Begun {
            view: self.view(),
            left: self.left,
            registers: self.state.regs.as_mut_ptr(),
            frames: self.state.frames.raw(),
        }
    }

    #[inline]
    fn leave(&mut self, left: i64) {
        self.left = left;
    }

    #[inline]
    fn view(&mut self) -> View {
        let (cpu, now_ns) = (self.host.cpu().into(), self.host.now_ns());
        let windows = self.host.memory().windows();
        View {
            windows: windows.as_ptr(),
            window_count: windows.len() as u64,
            cpu,
            now_ns,
            maps: self.rt.map_views.as_ptr(),
            maps_end: self.rt.map_views.len() as u64 * handle::STRIDE,
        }
    }

    fn go_on_at(&mut self, at: usize) {
        self.state.pc = at;
    }

    fn load(&mut self, at: usize, addr: u64, bytes: u32) -> Option<u64> {
        match self.host.memory().read(addr, bytes) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.fail(at, Box::new(fault));
                None
            }
        }
    }

    fn store(&mut self, at: usize, addr: u64, bytes: u32, value: u64) -> bool {
        let stored = self.host.memory().write(addr, bytes, value);
        if let Err(fault) = stored {
            self.fail(at, Box::new(fault));
            return false;
        }
        true
    }

    fn step(&mut self, at: usize) -> bool {
        self.state.pc = at;
        let ran = interpret(self.program, self.state, self.rt, self.host, &mut 1);
        if let Err(fault) = ran {
            self.fault = Some(fault);
            return false;
        }
        true
    }

    fn call(&mut self, at: usize, callee: usize, view: &mut View) -> Called {
        let Self { program, state, rt, host, .. } = self;
        let ran = run_callee(program, callee, at, &mut state.regs, rt, host);
        view.cpu = self.host.cpu().into();
        let windows = self.host.memory().windows();
        (view.windows, view.window_count) = (windows.as_ptr(), windows.len() as u64);
        match ran {
            Ok(cost) if self.rt.wants_callback() => Called::CallsBack { cost },
            Ok(cost) => Called::Value { r0: self.state.regs[0], cost },
            Err(fault) => {
                self.fail(at, fault);
                Called::Fault
            }
        }
    }

    fn call_back(&mut self, at: usize) -> Back {
        match self.rt.take_callback() {
            Some(callback) => self.go_on(at, callback, None),
            None => Back::Done,
        }
    }

    fn called_back(&mut self) -> Back {
        let Some(saved) = self.state.frames.pop(&mut self.state.regs) else { return Back::Done };
        match saved.callback {
            Some(callback) => self.go_on(saved.pc - 1, callback, Some(self.state.regs[0])),
            None => Back::Done,
        }
    }

    fn enter(&mut self, at: usize) -> bool {
        let State { frames, regs, .. } = &mut *self.state;
        if let Err(fault) = frames.push(regs, at + 1, None, self.host.memory()) {
            self.fail(at, Box::new(fault));
            return false;
        }
        true
    }
}
