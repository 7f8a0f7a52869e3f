// SPDX-License-Identifier: MIT OR Apache-2.0
//! Building a machine around a workload.

use crate::cgroup::Cgroups;
use crate::class::Above;
use crate::config::Config;
use crate::consts::*;
use crate::cpuset::CpuSet;
use crate::event_queue::EventQueue;
use crate::ext::idle::{IdleCpus, IdleMasks};
use crate::guest::Guest;
use crate::layout::{KernelType, Layouts};
use crate::rq::Rq;
use crate::run::{Machine, RunError};
use crate::sockets::Sockets;
use crate::system::System;
use crate::task::Tid;
use rota_choice::Choices;
use rota_object::btf::Btf;
use rota_vm::memory::{Memory, Perm};
use rota_workload::{Runner, Settings, Workload};
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl Machine {
    /// Builds the machine, whose choices are seeded, and checks that the workload fits it.
    pub fn new(config: Config, workload: Arc<Workload>, btf: &Btf) -> Result<Self, RunError> {
        let choices = config.choices();
        Self::choosing(choices, config, workload, btf)
    }

    /// As [`Machine::new`], with other choices than `config` describes.
    pub fn choosing(
        choices: Choices,
        config: Config,
        workload: Arc<Workload>,
        btf: &Btf,
    ) -> Result<Self, RunError> {
        let mut mem = Memory::new();
        let layouts = Layouts::resolve(btf, &mut mem).map_err(RunError::Kernel)?;
        Self::with(choices, config, workload, mem, layouts)
    }

    /// Another machine with the same kernel.
    pub fn another(&self, config: Config, workload: Arc<Workload>) -> Result<Self, RunError> {
        let mem = Memory::with_shapes_of(&self.system.guest.mem);
        let choices = config.choices();
        Self::with(choices, config, workload, mem, self.system.guest.layouts.clone())
    }

    fn with(
        mut choices: Choices,
        config: Config,
        workload: Arc<Workload>,
        mem: Memory,
        layouts: Layouts,
    ) -> Result<Self, RunError> {
        let cpus = config.topology.cpus();
        let mut guest = Guest::new(mem, layouts, cpus);
        let cgroups = Cgroups::build(&mut guest, &workload.groups);
        let runner = Runner::new(Arc::clone(&workload), &mut choices);
        let idle = idle_masks(&mut guest, config.topology.nodes(), cpus);
        let exist = workload.real_time().is_some();
        let mut system = System {
            choices,
            now_ns: 0,
            queue: EventQueue::new(!config.lab().starts_keep_order),
            timers: Default::default(),
            tasks: Default::default(),
            queues: Default::default(),
            cpus: Default::default(),
            idle,
            above: Above { nr_waiting: 0, reserved: 0, exist },
            cgroups,
            guest,
            hosted: Default::default(),
            running: Default::default(),
            told: Default::default(),
            config,
        };
        system.build_cpus();
        for (ix, _) in runner.initial() {
            check_task(&system, None, runner.name(ix), runner.settings(ix))?;
        }
        workload.outside.iter().try_for_each(|event| system.check_outside(event))?;
        Ok(Self {
            system,
            runner,
            tid_of_ix: FxHashMap::default(),
            customers_at_ns: u64::MAX,
            sockets: Sockets::default(),
            outside: Vec::new(),
        })
    }
}

impl System {
    /// CPUs with their queues and guest objects.
    fn build_cpus(&mut self) {
        for _node in 0..self.config.topology.nodes() {
            let addr = self.guest.mem.alloc(
                "scx_dispatch_q",
                self.guest.layouts.dsq.size(),
                Perm::ReadOnly,
            );
            let dsq = self.new_dsq(DSQ_GLOBAL, None, addr);
            self.queues.global.push(dsq);
        }
        for cpu in 0..self.nr_cpus() {
            let (rq_addr, idle_addr) = self.guest.new_rq_objects(cpu);
            let local_at = self.guest.layouts.rq.local_dsq;
            let local_addr = if local_at == crate::layout::ABSENT {
                rq_addr
            } else {
                rq_addr + u64::from(local_at)
            };
            let local = self.new_dsq(DSQ_LOCAL, Some(cpu), local_addr);
            let bypass_addr = self.guest.mem.alloc(
                "scx_dispatch_q",
                self.guest.layouts.dsq.size(),
                Perm::ReadOnly,
            );
            let bypass = self.new_dsq(DSQ_BYPASS, Some(cpu), bypass_addr);
            self.cpus.rqs.push(Rq::new(rq_addr, idle_addr, local, bypass));
        }
    }
}

fn idle_masks(guest: &mut Guest, nodes: u32, cpus: u32) -> IdleMasks {
    let size = guest.layouts.cpumask_size;
    let mut mask = |name: &str| guest.mem.alloc(name, size, Perm::ReadOnly);
    let masks = (0..=nodes)
        .map(|_| IdleCpus {
            cpu: CpuSet::default(),
            smt: CpuSet::default(),
            cpu_addr: mask("idle cpumask"),
            smt_addr: mask("idle smtmask"),
        })
        .collect();
    IdleMasks {
        masks,
        enabled: false,
        per_node: false,
        llc: false,
        numa: false,
        distribute: vec![0; cpus as usize],
    }
}

/// Whether the machine can run a task with these settings.
pub(crate) fn check_task(
    system: &System,
    who: Option<Tid>,
    name: &str,
    settings: &Settings,
) -> Result<(), RunError> {
    let fail = |what: String| Err(RunError::Task { task: name.to_string(), what });
    if let Some(cpu) = settings.cpus.iter().flat_map(|c| c.iter()).find(|c| **c >= system.nr_cpus())
    {
        return fail(format!(
            "cpus names CPU {cpu}, but the machine has CPUs 0 to {}",
            system.nr_cpus() - 1
        ));
    }
    system.admit(who, settings).or_else(fail)
}
