// SPDX-License-Identifier: MIT OR Apache-2.0
//! Building a machine around a workload.

use crate::cgroup::Cgroups;
use crate::config::Config;
use crate::consts::*;
use crate::core::{Context, Core};
use crate::cpuset::CpuSet;
use crate::event_queue::EventQueue;
use crate::ext::idle::{IdleCpus, IdleMasks};
use crate::identity::Identities;
use crate::kernel_objects::Scratch;
use crate::layout::{KernelType, Layouts};
use crate::rq::Rq;
use crate::run::{Machine, RunError};
use crate::sockets::Sockets;
use crate::spending::Spending;
use crate::stats::Counters;
use crate::task::Tid;
use rota_choice::Choices;
use rota_object::btf::Btf;
use rota_vm::memory::{Memory, Perm};
use rota_workload::{Runner, Settings, Workload};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// First process id; the workload's loader is below it.
const FIRST_PID: u32 = 1001;

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
        let mem = Memory::with_shapes_of(&self.core.mem);
        let choices = config.choices();
        Self::with(choices, config, workload, mem, self.core.layouts.clone())
    }

    fn with(
        mut choices: Choices,
        config: Config,
        workload: Arc<Workload>,
        mut mem: Memory,
        layouts: Layouts,
    ) -> Result<Self, RunError> {
        let cpus = config.topology.cpus();
        let scratch = Scratch::new(&mut mem, &layouts, cpus);
        let cgroups = Cgroups::build(&mut mem, &layouts, &workload.groups);
        let runner = Runner::new(Arc::clone(&workload), &mut choices);
        let mut core = Core {
            choices,
            tick_turn: None,
            idle: idle_masks(&mut mem, &layouts, config.topology.nodes(), cpus),
            mem,
            layouts,
            now_ns: 0,
            rqs: Vec::new(),
            tasks: Vec::new(),
            task_of_region: Vec::new(),
            tid_of_pid: FxHashMap::default(),
            threads_of: FxHashMap::default(),
            dsqs: Vec::new(),
            user_dsqs: FxHashMap::default(),
            global_dsqs: Vec::new(),
            dsq_links: Default::default(),
            run_links: Default::default(),
            cgroups,
            timers: Default::default(),
            queue: EventQueue::new(!config.lab().starts_keep_order),
            scratch,
            identities: Identities::default(),
            this_cpu: 0,
            ctx: Context::default(),
            outsider: false,
            deferred: CpuSet::default(),
            resched: CpuSet::default(),
            nr_waiting: 0,
            reserved: 0,
            higher_classes: workload.real_time().is_some(),
            has_op: 0,
            ops_flags: 0,
            dsp_max_batch: DSP_DFL_MAX_BATCH,
            watchdog_timeout_ns: 0,
            enabled: false,
            bypassing: false,
            cgroup_enabled: false,
            exit: None,
            dump: None,
            events: Vec::new(),
            counters: Counters::new(),
            spending: Spending::default(),
            printed: Vec::new(),
            next_pid: FIRST_PID,
            iters: Default::default(),
            binding: None,
            css_iters: FxHashMap::default(),
            cmask_scratch: 0,
            config,
        };
        core.build_cpus();
        for (ix, _) in runner.initial() {
            check_task(&core, None, runner.name(ix), runner.settings(ix))?;
        }
        Ok(Self {
            core,
            runner,
            tid_of_ix: FxHashMap::default(),
            customers_at_ns: u64::MAX,
            sockets: Sockets::default(),
        })
    }
}

impl Core {
    /// CPUs with their queues and guest objects.
    fn build_cpus(&mut self) {
        for _node in 0..self.config.topology.nodes() {
            let addr = self.mem.alloc("scx_dispatch_q", self.layouts.dsq.size(), Perm::ReadOnly);
            let dsq = self.new_dsq(DSQ_GLOBAL, None, addr);
            self.global_dsqs.push(dsq);
        }
        for cpu in 0..self.nr_cpus() {
            let (rq_addr, idle_addr) = self.new_rq_objects(cpu);
            let local_at = self.layouts.rq.local_dsq;
            let local_addr = if local_at == crate::layout::ABSENT {
                rq_addr
            } else {
                rq_addr + u64::from(local_at)
            };
            let local = self.new_dsq(DSQ_LOCAL, Some(cpu), local_addr);
            let bypass_addr =
                self.mem.alloc("scx_dispatch_q", self.layouts.dsq.size(), Perm::ReadOnly);
            let bypass = self.new_dsq(DSQ_BYPASS, Some(cpu), bypass_addr);
            self.rqs.push(Rq::new(rq_addr, idle_addr, local, bypass));
        }
    }
}

fn idle_masks(mem: &mut Memory, layouts: &Layouts, nodes: u32, cpus: u32) -> IdleMasks {
    let mut mask = |name: &str| mem.alloc(name, layouts.cpumask_size, Perm::ReadOnly);
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
    core: &Core,
    who: Option<Tid>,
    name: &str,
    settings: &Settings,
) -> Result<(), RunError> {
    let fail = |what: String| Err(RunError::Task { task: name.to_string(), what });
    if let Some(cpu) = settings.cpus.iter().flat_map(|c| c.iter()).find(|c| **c >= core.nr_cpus()) {
        return fail(format!(
            "cpus names CPU {cpu}, but the machine has CPUs 0 to {}",
            core.nr_cpus() - 1
        ));
    }
    core.admit(who, settings).or_else(fail)
}
