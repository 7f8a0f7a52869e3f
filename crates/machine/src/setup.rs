// SPDX-License-Identifier: MIT OR Apache-2.0
//! Building a machine around a workload.

use crate::cgroup::Cgroups;
use crate::class::{Above, Class};
use crate::config::Config;
use crate::consts::*;
use crate::cpuset::CpuSet;
use crate::dsq::DsqIx;
use crate::event_queue::EventQueue;
use crate::ext::idle::{IdleCpus, IdleMasks};
use crate::guest::Guest;
use crate::hardware::speed::Models;
use crate::layout::Layouts;
use crate::rq::Cpus;
use crate::rq::{Rq, ScxRq};
use crate::run::{Machine, RunError};
use crate::sockets::Sockets;
use crate::system::System;
use crate::task::Tid;
use rota_choice::Choices;
use rota_object::btf::Btf;
use rota_vm::memory::{Memory, Perm};
use rota_workload::{Policy, Runner, Settings, Workload};
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
        let (layouts, mem) = Layouts::of(btf).map_err(RunError::Kernel)?;
        Self::with(choices, config, workload, mem, layouts)
    }

    /// Another machine with the same kernel.
    pub fn another(&self, config: Config, workload: Arc<Workload>) -> Result<Self, RunError> {
        let mem = Memory::with_shapes_of(&self.system.guest.mem);
        let choices = config.choices();
        let layouts = self.system.guest.layouts.clone();
        let mut other = Self::with(choices, config, workload, mem, layouts)?;
        other.system.engine.clone_from(&self.system.engine);
        Ok(other)
    }

    /// Gives the machine a fair class; `make` loads the scheduler that is it. See
    /// [`crate::stage::Stage`].
    pub fn with_fair<T>(&mut self, make: impl FnOnce(&mut System) -> T) -> T {
        self.system.add_fair_side();
        self.system.on_side_of(Class::Fair, make)
    }

    fn with(
        mut choices: Choices,
        config: Config,
        workload: Arc<Workload>,
        mem: Memory,
        layouts: Layouts,
    ) -> Result<Self, RunError> {
        let cpus = config.topology.cpus();
        let nohz_full = check_nohz_full(&config)?;
        if let Some(hardware) = &config.hardware {
            hardware.check(&config.topology).map_err(RunError::Kernel)?;
        }
        let mut guest = Guest::new(mem, layouts, cpus);
        let cgroups = Cgroups::build(&mut guest, &workload.groups);
        let runner = Runner::new(Arc::clone(&workload), &mut choices);
        let idle = idle_masks(&mut guest, config.topology.nodes(), cpus);
        let exist = workload.real_time().is_some();
        let mut system = System {
            engine: None,
            choices,
            now_ns: 0,
            queue: EventQueue::new(cpus, !config.lab().starts_keep_order),
            timers: Default::default(),
            tasks: Default::default(),
            queues: Default::default(),
            cpus: Cpus { nohz_full, ..Cpus::default() },
            idle,
            above: Above { nr_waiting: 0, reserved: 0, exist },
            cgroups,
            guest,
            hosted: Default::default(),
            other: None,
            running: Default::default(),
            told: Default::default(),
            hotplug: Default::default(),
            core_sched: Default::default(),
            subs: Default::default(),
            always: Default::default(),
            program: None,
            models: Models::of(&config),
            clamped: None,
            config,
        };
        system.build_cpus();
        system.build_cpusets(&workload.groups)?;
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
        self.queues.global = self.new_global_queues();
        for cpu in 0..self.nr_cpus() {
            let (rq_addr, idle_addr) = self.guest.new_rq_objects(cpu);
            let local_at = self.guest.layouts.rq.local_dsq;
            let local_addr = if local_at == crate::layout::ABSENT {
                rq_addr
            } else {
                rq_addr + u64::from(local_at)
            };
            let local = self.new_dsq(DSQ_LOCAL, Some(cpu), local_addr);
            let bypass = self.new_builtin_dsq(DSQ_BYPASS, Some(cpu));
            self.cpus.rqs.push(Rq::new(rq_addr, idle_addr, local, bypass));
        }
        self.publish_cores();
        self.publish_capacities();
        (0..self.nr_cpus()).for_each(|cpu| self.publish_cpu_clamps(cpu));
    }

    fn new_builtin_dsq(&mut self, id: u64, cpu: Option<u32>) -> DsqIx {
        let addr = self.guest.mem.alloc_kernel(self.guest.layouts.dsq_shape);
        self.new_dsq(id, cpu, addr)
    }

    fn new_global_queues(&mut self) -> Vec<DsqIx> {
        let nodes = 0..self.config.topology.nodes();
        nodes.map(|_| self.new_builtin_dsq(DSQ_GLOBAL, None)).collect()
    }

    /// Queues of another hosted scheduler: by node, and by CPU.
    pub(crate) fn new_queues(&mut self) -> (Vec<DsqIx>, Vec<ScxRq>) {
        let global = self.new_global_queues();
        let cpus = 0..self.nr_cpus();
        let new = |cpu| {
            let local = self.new_builtin_dsq(DSQ_LOCAL, Some(cpu));
            ScxRq::new(local, self.new_builtin_dsq(DSQ_BYPASS, Some(cpu)))
        };
        (global, cpus.map(new).collect())
    }

    /// Idle masks of another hosted scheduler.
    pub(crate) fn new_idle_masks(&mut self) -> IdleMasks {
        let (nodes, cpus) = (self.config.topology.nodes(), self.nr_cpus());
        idle_masks(&mut self.guest, nodes, cpus)
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
        assumed: CpuSet::default(),
        enabled: false,
        per_node: false,
        llc: false,
        numa: false,
        distribute: vec![0; cpus as usize],
    }
}

/// The CPUs whose tick may stop: there are such CPUs, and others.
fn check_nohz_full(config: &Config) -> Result<CpuSet, RunError> {
    let cpus = config.topology.cpus();
    if let Some(cpu) = config.nohz_full.iter().find(|cpu| **cpu >= cpus) {
        let text = format!("nohz_full names CPU {cpu}, but the machine has CPUs 0 to {}", cpus - 1);
        return Err(RunError::Kernel(text));
    }
    let full: CpuSet = config.nohz_full.iter().copied().collect();
    if full.len() == cpus {
        let text = "nohz_full has every CPU: one at least has to tick for the others";
        return Err(RunError::Kernel(text.into()));
    }
    Ok(full)
}

impl System {
    /// Whether a task that has disabled migration asks for other CPUs than its own.
    pub(crate) fn check_pinned(
        &self,
        t: Tid,
        name: &str,
        settings: &Settings,
    ) -> Result<(), RunError> {
        let task = self.task(t);
        let stays = task.migration_disabled && settings.migrate_disable;
        let changes = task.settings.cpus != settings.cpus;
        if !stays || !changes || self.affinity(settings.cpus.as_deref()).contains(task.cpu) {
            return Ok(());
        }
        let what = format!("its cpus leave out CPU {}, with migration disabled (EBUSY)", task.cpu);
        Err(RunError::Task { task: name.to_string(), what })
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
    let nodes = system.config.topology.nodes();
    let stranger = |node: &&u32| nodes > 1 && **node >= nodes;
    if let Some(node) = settings.mem_nodes.iter().flat_map(|n| n.iter()).find(stranger) {
        return fail(format!(
            "nodes_membind names node {node}, but the machine has nodes 0 to {}",
            nodes - 1
        ));
    }
    // sched_core_share_pid()
    let has_cookie = settings.core_cookie.as_ref().is_some_and(|name| !name.is_empty());
    if has_cookie && !system.config.topology.has_smt() {
        return fail("a core_cookie needs cores with SMT siblings, as smt=2 (ENODEV)".into());
    }
    // scx_check_setscheduler()
    let marks = |t: &Tid| {
        let policy = system.task(*t).settings.policy;
        settings.policy == Policy::Ext && policy != Policy::Ext && system.is_disallowed(*t)
    };
    if system.hosted.enabled && who.is_some_and(|t| marks(&t)) {
        return fail("SCHED_EXT is refused (EACCES): p->scx.disallow is set".into());
    }
    let stays = who.is_some_and(|t| system.task(t).settings.cpus == settings.cpus);
    let wanted = system.affinity(settings.cpus.as_deref()).and(&system.active_cpus());
    if !stays && wanted.is_empty() {
        return fail("all CPUs of its cpus are offline then (EINVAL)".into());
    }
    // a task that begins is in its group before it asks for CPUs
    let path = settings.group.as_deref().unwrap_or("/");
    let cgroup =
        who.map_or_else(|| system.cgroups.find(path).unwrap_or(0), |t| system.task(t).cgroup);
    if !stays && wanted.and(&system.cpuset_cpus_allowed(cgroup)).is_empty() {
        return fail("none of its cpus is in the cpuset of its cgroup then (EINVAL)".into());
    }
    system.admit(who, settings).or_else(fail)
}
