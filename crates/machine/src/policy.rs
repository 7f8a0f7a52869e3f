// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hosted BPF object as a scheduler.

mod by_program;

use crate::attach::{self, AttachError, Program};
use crate::contexts::Caller;
use crate::kfuncs;
use crate::ops::{Op, OpRet, Ops, OpsParams};
pub use crate::outside::object::program as syscall_program;
use crate::outside::object::{self, Done};
use crate::run::RunError;
use crate::system::System;
use crate::tracing::{self, Attached, Moment, Place, Places, Stopped};
use crate::user_half::{Step, UserHalf};
use rota_object::image::{FuncId, Image, MapId, OpsField, StructOps};
use rota_object::set_up::SetUpStep;
use rota_vm::error::Fault;
use rota_vm::runtime::{CodePlace, Ret, Runtime};
use rota_workload::events::ObjectAction;
use std::sync::Arc;

/// Map of shares that `rota run --share` and the workload key `share` fill.
pub const SHARES_MAP: &str = "rota_shares";

/// Which functions of an object are its callbacks, and its plain members.
#[derive(Debug)]
pub struct Binding {
    funcs: Vec<Option<FuncId>>,
    params: OpsParams,
    /// `struct sched_ext_ops_cid`: masks are passed as `struct scx_cmask`.
    cid: bool,
    shares: Option<MapId>,
    /// Tracing programs, in the order in which they run at a place, and where that is.
    tracing: Vec<Attached>,
    watched: Places,
}

/// Is it a scheduler's table?
fn is_scheduler(table: &StructOps) -> bool {
    matches!(table.type_name.as_str(), "sched_ext_ops" | "sched_ext_ops_cid")
}

/// Callbacks in tables of other types.
fn in_other_tables(image: &Image) -> impl Iterator<Item = Program> + '_ {
    let others = image.struct_ops.iter().filter(|table| !is_scheduler(table));
    others.flat_map(|table| table.fields.values()).filter_map(|field| match field {
        OpsField::Func(func) => {
            Some(Program { caller: Caller::OtherTable, func: *func, cid_form: false })
        }
        _ => None,
    })
}

impl Binding {
    fn of(image: &Image) -> Result<Self, AttachError> {
        let object = || image.name.clone();
        match schedulers(image).collect::<Vec<_>>()[..] {
            [] => Err(AttachError::NoScheduler { object: object() }),
            [ops] => Self::with(image, ops),
            _ => Err(AttachError::Several { object: object(), names: names(image) }),
        }
    }

    /// With the table of the image's scheduler.
    fn with(image: &Image, ops: &StructOps) -> Result<Self, AttachError> {
        let object = || image.name.clone();
        let cid = ops.type_name.ends_with("_cid");
        let mut funcs = Vec::new();
        for op in Op::ALL {
            let member = if cid { op.cid_name() } else { op.name() };
            funcs.push(match ops.fields.get(member) {
                Some(OpsField::Func(func)) => Some(*func),
                None | Some(OpsField::Int(0)) => None,
                Some(other) => {
                    return Err(AttachError::Member {
                        object: object(),
                        member: format!("{}.{member}", ops.name),
                        value: format!("{other:?}"),
                    })
                }
            });
        }
        let int = |member: &str| match ops.fields.get(member) {
            Some(OpsField::Int(value)) => *value,
            _ => 0,
        };
        let name = match ops.fields.get("name") {
            Some(OpsField::Str(name)) => name.clone(),
            _ => String::new(),
        };
        let params = OpsParams {
            name,
            flags: int("flags"),
            dispatch_max_batch: int("dispatch_max_batch") as u32,
            timeout_ms: int("timeout_ms") as u32,
            exit_dump_len: int("exit_dump_len") as u32,
            hotplug_seq: int("hotplug_seq"),
        };
        let tracing = tracing::attached(image);
        let watched = tracing.iter().map(|program| program.at).collect();
        Ok(Self { funcs, params, cid, shares: None, tracing, watched })
    }

    /// All programs of the object that can run.
    fn programs<'a>(&'a self, image: &'a Image) -> impl Iterator<Item = Program> + 'a {
        let ops = Op::ALL.iter().zip(&self.funcs);
        let ops = ops.filter_map(|(&op, func)| Some((Caller::Op(op), (*func)?)));
        let tracing = self.tracing.iter().map(|program| (program.caller(), program.func));
        let functions = (0..).zip(&image.functions);
        let syscalls = functions.filter(|(_, function)| function.section == "syscall");
        let syscalls = syscalls.map(|(id, _)| (Caller::Syscall, FuncId(id)));
        let all = ops.chain(tracing).chain(syscalls);
        all.map(|(caller, func)| Program { caller, func, cid_form: self.cid })
    }
}

/// The schedulers of an object.
pub fn schedulers(image: &Image) -> impl Iterator<Item = &StructOps> {
    image.struct_ops.iter().filter(|ops| is_scheduler(ops))
}

fn names(image: &Image) -> Vec<String> {
    schedulers(image).map(|ops| ops.name.clone()).collect()
}

/// Leaves an object one of its schedulers, by the name of its variable.
pub fn choose_scheduler(image: &mut Image, name: &str) -> Result<(), AttachError> {
    let names = names(image);
    if !names.iter().any(|known| known == name) {
        let (object, asked) = (image.name.clone(), name.to_owned());
        return Err(match names.is_empty() {
            true => AttachError::NoScheduler { object },
            false => AttachError::Unknown { object, asked, names },
        });
    }
    image.struct_ops.retain(|ops| ops.name == name || !is_scheduler(ops));
    Ok(())
}

/// A running object.
pub struct BpfOps {
    rt: Runtime<System>,
    binding: Arc<Binding>,
    /// The program that loaded it.
    user_half: Option<Box<dyn UserHalf>>,
    /// The table that it attached.
    table: Option<Box<StructOps>>,
}

impl BpfOps {
    /// Creates the object's maps in the machine's memory and finds its callbacks.
    pub fn load(image: Arc<Image>, system: &mut System) -> Result<Self, AttachError> {
        let binding = Binding::of(&image);
        if in_other_tables(&image).next().is_none() {
            // says that it is no scheduler before anything else is wrong with it
            binding.as_ref().map_err(AttachError::clone)?;
        }
        system.attend_to(&image);
        let rt = Runtime::new(Arc::clone(&image), &kfuncs::table(), system)?;
        in_other_tables(&image).try_for_each(|program| attach::check(&rt, program))?;
        Self::bind(rt, binding?, system)
    }

    fn bind(
        mut rt: Runtime<System>,
        binding: Binding,
        system: &mut System,
    ) -> Result<Self, AttachError> {
        let binding = checked(&rt, binding)?;
        rt.set_budget(system.config.budget);
        system.hosted.binding = Some(Arc::clone(&binding));
        Ok(Self { rt, binding, user_half: None, table: None })
    }

    /// The same object in another machine, as it was loaded, and without the program that did so.
    pub fn another(&self, system: &mut System) -> Result<Self, AttachError> {
        system.attend_to(self.rt.image());
        let rt = self.rt.another(&kfuncs::table(), system)?;
        let binding = Arc::clone(&self.binding);
        system.hosted.binding = Some(Arc::clone(&binding));
        Ok(Self { rt, binding, user_half: None, table: None })
    }

    /// What its program did until it attached, if it was to record that.
    pub fn set_up(&self) -> &[SetUpStep] {
        self.user_half.as_ref().map_or(&[], |program| program.set_up())
    }

    /// The instance, for reading maps and globals.
    pub fn runtime(&mut self) -> &mut Runtime<System> {
        &mut self.rt
    }

    fn bound(&mut self) -> Bound<'_> {
        Bound { rt: &mut self.rt, binding: &self.binding }
    }
}

/// What a kernel checks when it registers a scheduler.
fn checked(rt: &Runtime<System>, mut binding: Binding) -> Result<Arc<Binding>, AttachError> {
    binding.programs(rt.image()).try_for_each(|program| attach::check(rt, program))?;
    attach::check_loads(rt)?;
    binding.shares = rt.map(SHARES_MAP);
    Ok(Arc::new(binding))
}

/// A running object from inside one of its calls.
struct Bound<'a> {
    rt: &'a mut Runtime<System>,
    binding: &'a Binding,
}

/// Lets a kernel function make callbacks into the object that called it.
pub(crate) fn reenter<R>(
    system: &mut System,
    rt: &mut Runtime<System>,
    act: impl FnOnce(&mut System, &mut dyn Ops) -> R,
) -> Result<R, Fault> {
    let binding =
        system.hosted.binding.clone().ok_or_else(|| Fault::denied("no scheduler is loaded"))?;
    Ok(act(system, &mut Bound { rt, binding: &binding }))
}

fn place(
    rt: &Runtime<System>,
    binding: &Binding,
    op: Option<Op>,
    call: Option<u32>,
) -> Option<CodePlace> {
    match (call, op) {
        (Some(site), _) => rt.place(site),
        (None, Some(op)) => rt.entry(binding.funcs[op as usize]?),
        (None, None) => None,
    }
}

fn op_ret(ret: Ret) -> OpRet {
    OpRet { value: ret.r0, instructions: ret.instructions }
}

impl Ops for Bound<'_> {
    fn params(&self) -> &OpsParams {
        &self.binding.params
    }

    fn cid_form(&self) -> bool {
        self.binding.cid
    }

    fn has(&self, op: Op) -> bool {
        self.binding.funcs[op as usize].is_some()
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        let Some(func) = self.binding.funcs[op as usize] else {
            return Err(Fault::denied(format!("there is no ops.{}()", op.name())));
        };
        let ctx = system.running.push_args(&mut system.guest.mem, args);
        if op == Op::SetCpumask && self.binding.cid {
            let cmask = kfuncs::cid::cmask_for(system, self.rt, args[1])?;
            system.guest.mem.set_u64(ctx + 8, cmask);
        }
        let result = self.rt.call(system, func, &[ctx]);
        system.running.pop_args();
        result.map(op_ret)
    }

    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault> {
        self.rt.run_timer(system, timer).map(op_ret)
    }

    fn watched(&self) -> Places {
        self.binding.watched
    }

    fn pass(
        &mut self,
        system: &mut System,
        at: (Place, Moment),
        args: &[u64],
    ) -> Result<u64, Stopped> {
        tracing::run(system, self.rt, &self.binding.tracing, at, args)
    }

    fn set_share(&mut self, system: &mut System, pid: u32, share: u64) -> Result<(), Fault> {
        match self.binding.shares {
            Some(map) => self.rt.map_put(system, map, &pid.to_le_bytes(), &share.to_le_bytes()),
            None => Ok(()),
        }
    }

    fn place(&self, op: Option<Op>, call: Option<u32>) -> Option<CodePlace> {
        place(self.rt, self.binding, op, call)
    }

    fn release_owner(&mut self, system: &mut System, addr: u64) {
        self.rt.release_owner(system, addr);
    }
}

impl Ops for BpfOps {
    fn params(&self) -> &OpsParams {
        &self.binding.params
    }

    fn cid_form(&self) -> bool {
        self.binding.cid
    }

    fn has(&self, op: Op) -> bool {
        self.binding.funcs[op as usize].is_some()
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        self.bound().call(system, op, args)
    }

    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault> {
        self.bound().run_timer(system, timer)
    }

    fn watched(&self) -> Places {
        self.binding.watched
    }

    fn pass(
        &mut self,
        system: &mut System,
        at: (Place, Moment),
        args: &[u64],
    ) -> Result<u64, Stopped> {
        self.bound().pass(system, at, args)
    }

    fn set_share(&mut self, system: &mut System, pid: u32, share: u64) -> Result<(), Fault> {
        self.bound().set_share(system, pid, share)
    }

    fn place(&self, op: Option<Op>, call: Option<u32>) -> Option<CodePlace> {
        place(&self.rt, &self.binding, op, call)
    }

    fn fits(&self, action: &ObjectAction) -> Result<(), String> {
        object::fits(self.rt.image(), action)
    }

    fn act(&mut self, system: &mut System, action: &ObjectAction) -> Done {
        self.act_on(system, action).unwrap_or_else(Done::Refused)
    }

    fn go_on(&mut self, system: &mut System) -> Result<Option<Step>, RunError> {
        let Some(mut program) = self.user_half.take() else { return Ok(None) };
        let step = self.go_on_by(&mut *program, system);
        self.user_half = Some(program);
        step.map(Some)
    }

    fn release_owner(&mut self, system: &mut System, addr: u64) {
        self.bound().release_owner(system, addr);
    }
}
