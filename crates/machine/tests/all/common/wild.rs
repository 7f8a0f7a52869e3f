// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that call whatever kernel function comes to their mind.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rota_machine::consts::*;
use rota_machine::cpuset::CpuSet;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::system::System;
use rota_vm::error::Fault;

/// Queues that it makes at its start. The first is for virtual times.
const QUEUES: u64 = 3;

/// A scheduler without a plan.
pub(crate) struct Wild {
    params: OpsParams,
    has: u64,
    rng: ChaCha8Rng,
    cpus: u32,
    /// Of a thousand choices so many do not care about the rules.
    lawless: u32,
    /// Every task that it ever met.
    tasks: Vec<u64>,
    /// The task that the callback is about was dispatched.
    dispatched: bool,
    /// What its calls answered: for comparing runs.
    pub(crate) answers: Vec<u64>,
}

impl Wild {
    pub(crate) fn new(seed: u64, lawless: u32, cpus: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let params = OpsParams {
            name: "wild".into(),
            flags: rng.gen_range(0..8) | rng.gen_range(0..2) << 7,
            dispatch_max_batch: rng.gen_range(0..4),
            timeout_ms: 0,
            exit_dump_len: 0,
            hotplug_seq: 0,
        };
        let mut has = rng.gen::<u64>();
        for op in [Op::Init, Op::Enqueue, Op::Dispatch] {
            has |= 1 << op as u8;
        }
        let (tasks, answers) = (Vec::new(), Vec::new());
        Self { params, has, rng, cpus, lawless, tasks, dispatched: false, answers }
    }

    /// With these flags, too.
    pub(crate) fn flags(mut self, flags: u64) -> Self {
        self.params.flags |= flags;
        self
    }

    fn breaks_rules(&mut self) -> bool {
        self.rng.gen_range(0..1000) < self.lawless
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.gen_range(0..choices.len())]
    }

    /// Any number, small ones not less likely than large ones.
    fn number(&mut self) -> u64 {
        self.rng.gen::<u64>() >> self.rng.gen_range(0..64)
    }

    /// The task that a callback is about, if it is about one.
    fn own(&self, system: &System, op: Op, args: &[u64]) -> u64 {
        let at = usize::from(op == Op::Dispatch);
        args.get(at).copied().filter(|p| system.native_pid(*p) != 0).unwrap_or(0)
    }

    /// A live task, as far as the rules matter; 0: there is none.
    fn task(&mut self, system: &System) -> u64 {
        if self.breaks_rules() {
            return self.number();
        }
        self.tasks.retain(|p| system.native_pid(*p) != 0);
        if self.tasks.is_empty() {
            return 0;
        }
        self.one_of(&self.tasks.clone())
    }

    fn cpu(&mut self) -> u32 {
        let beyond = if self.breaks_rules() { 1000 } else { 0 };
        self.rng.gen_range(0..self.cpus + beyond)
    }

    fn queue(&mut self) -> u64 {
        if self.breaks_rules() {
            self.number()
        } else {
            self.rng.gen_range(0..QUEUES)
        }
    }

    /// A queue to insert into in order of arrival.
    fn target(&mut self, system: &System, p: u64) -> u64 {
        if self.breaks_rules() {
            return [self.number(), DSQ_LOCAL_ON | self.number()][self.rng.gen_range(0..2)];
        }
        let cpu = self.cpu();
        match self.rng.gen_range(0..6) {
            0 => DSQ_LOCAL,
            1 => DSQ_GLOBAL,
            2 if system.native_may_use(p, cpu) => DSQ_LOCAL_ON | u64::from(cpu),
            _ => self.rng.gen_range(1..QUEUES),
        }
    }

    fn slice_ns(&mut self) -> u64 {
        let any = self.rng.gen();
        self.one_of(&[0, 1, 50_000, 70_000, 300_000, 700_000, 3_000_000, any])
    }

    fn insert(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<u64, Fault> {
        let free = self.breaks_rules();
        let direct = op != Op::Dispatch;
        let full = !direct && system.native_nr_slots()? == 0;
        if !free && (full || direct && self.dispatched) {
            return Ok(2);
        }
        let p = if direct && !free { self.own(system, op, args) } else { self.task(system) };
        if p == 0 && !free {
            return Ok(3);
        }
        self.dispatched = true;
        let (slice_ns, vtime) = (self.slice_ns(), self.rng.gen());
        if self.rng.gen_range(0..4) == 0 {
            let queue = if free { self.queue() } else { 0 };
            system.native_insert_vtime(p, queue, slice_ns, vtime, 0)?;
            return Ok(4);
        }
        let dsq = self.target(system, p);
        let local = dsq == DSQ_LOCAL || dsq & DSQ_LOCAL_ON == DSQ_LOCAL_ON;
        let flags = match self.rng.gen_range(0..6) {
            _ if free => self.number(),
            0 => ENQ_HEAD,
            1 => ENQ_PREEMPT,
            2 if local => ENQ_IMMED,
            _ => 0,
        };
        system.native_insert(p, dsq, slice_ns, flags)?;
        Ok(5)
    }

    /// Walks a queue and moves some of its tasks; may leave the iterator as it is.
    fn walk(&mut self, system: &mut System) -> Result<u64, Fault> {
        let (it, queue) = (self.rng.gen_range(0..3), self.queue());
        let flags = if self.rng.gen() { DSQ_ITER_REV } else { 0 };
        system.native_iter_new(it, queue, flags);
        let mut moved = 0;
        for _ in 0..self.rng.gen_range(0..5) {
            let p = system.native_iter_next(it);
            if p != 0 && self.rng.gen() {
                let (dsq, flags) = match self.rng.gen_range(0..4) {
                    0 => (0, ENQ_DSQ_PRIQ),
                    _ => (self.target(system, p), 0),
                };
                moved += u64::from(system.native_move(self, it, p, dsq, flags)?);
            }
        }
        if self.rng.gen() {
            system.native_iter_destroy(it);
        }
        Ok(moved)
    }

    /// Calls about idle CPUs.
    fn idle(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<u64, Fault> {
        let off = self.has(Op::UpdateIdle) && self.params.flags & OPS_KEEP_BUILTIN_IDLE == 0;
        if off && !self.breaks_rules() {
            return Ok(6);
        }
        let (flags, prev) = (self.rng.gen_range(0..4), self.cpu());
        let own = if self.breaks_rules() { self.task(system) } else { self.own(system, op, args) };
        let selects = op == Op::SelectCpu || self.breaks_rules();
        let any = self.task(system);
        match self.rng.gen_range(0..4) {
            0 if selects => {
                let wake_flags = self.rng.gen_range(0..32);
                system.native_select_cpu(own, prev, wake_flags).map(|r| u64::from(r.0))
            }
            1 if selects => {
                let mask: CpuSet = (0..self.cpus).filter(|_| self.rng.gen()).collect();
                system.native_select_cpu_and(own, prev as i32, 0, &mask, flags).map(|r| r as u64)
            }
            2 if any != 0 => system.native_pick_idle(any, flags).map(|r| r as u64),
            _ => Ok(u64::from(system.native_test_and_clear_idle(prev as i32))),
        }
    }

    /// One call. Those that only some callbacks may make come mostly from there.
    fn act(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<u64, Fault> {
        let free = self.breaks_rules();
        let inserts = free || matches!(op, Op::Enqueue | Op::SelectCpu | Op::Dispatch);
        let dispatches = free || op == Op::Dispatch;
        match self.rng.gen_range(0..16) {
            0..=4 if inserts => self.insert(system, op, args),
            5..=8 if dispatches => {
                let queue = self.queue();
                system.native_move_to_local(self, queue).map(u64::from)
            }
            9 if dispatches => self.walk(system),
            10 if free => {
                system.native_cancel()?;
                let queue = self.queue();
                system.native_destroy_dsq(queue);
                system.native_create_dsq(self.queue()).map(|r| r as u64)
            }
            11 => {
                let kicks = [0, KICK_IDLE, KICK_PREEMPT, KICK_WAIT, self.number()];
                let flags = kicks[self.rng.gen_range(0..4 + usize::from(free))];
                system.native_kick(self.cpu() as i32 - i32::from(free), flags);
                Ok(7)
            }
            12 => {
                let queue = self.queue();
                Ok(system.native_nr_queued(queue) as u64 ^ system.native_peek(queue))
            }
            13 => {
                let (p, slice_ns) = (self.task(system), self.slice_ns());
                system.native_set_slice(p, slice_ns);
                Ok(system.native_slice(p))
            }
            14 if free || self.rng.gen_range(0..4) == 0 => {
                let dsq = if self.rng.gen() { DSQ_LOCAL } else { self.queue() };
                let flags = if free { self.number() } else { REENQ_ANY };
                system.native_reenq(dsq, flags);
                Ok(8)
            }
            15 => self.idle(system, op, args),
            _ => Ok(9),
        }
    }
}

impl Ops for Wild {
    fn params(&self) -> &OpsParams {
        &self.params
    }

    fn has(&self, op: Op) -> bool {
        self.has >> op as u8 & 1 == 1
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        if op == Op::Init {
            for queue in 0..QUEUES {
                system.native_create_dsq(queue)?;
            }
        }
        let own = self.own(system, op, args);
        if own != 0 && !self.tasks.contains(&own) {
            self.tasks.push(own);
        }
        // callbacks nest: a move to the local queue can end in ops.dequeue()
        let dispatched = std::mem::replace(&mut self.dispatched, false);
        // enough of what schedulers should do that their tasks get on
        if op == Op::Enqueue && self.rng.gen_bool(0.8) {
            self.insert(system, op, args)?;
        }
        for queue in 0..QUEUES {
            if op == Op::Dispatch && self.rng.gen_bool(0.7) {
                system.native_move_to_local(self, queue)?;
            }
        }
        for _ in 0..self.rng.gen_range(0..5) {
            let answer = self.act(system, op, args)?;
            self.answers.push(answer);
        }
        self.dispatched = dispatched;
        let value = match op {
            Op::SelectCpu => u64::from(self.cpu()),
            _ if self.breaks_rules() => self.number(),
            _ => 0,
        };
        Ok(OpRet { value, instructions: 10 })
    }

    fn run_timer(&mut self, _: &mut System, _: u64) -> Result<OpRet, Fault> {
        Err(Fault::denied("no timers"))
    }

    fn release_owner(&mut self, _: &mut System, _: u64) {}
}
