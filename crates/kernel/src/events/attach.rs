// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and attaches the recorder's programs.

use super::calls;
use super::error::RecordError;
use super::hooks::{self, Hooks};
use super::recorder::{RecordOptions, Scope};
use super::rings;
use libbpf_rs::{Iter, Link, MapHandle, Object, ObjectBuilder, OpenObject, ProgramInput};
use std::io::Read;

static OBJECT: &[u8] = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/record.bpf.o"))).0;

/// libbpf reads headers in place.
#[repr(align(8))]
pub(crate) struct Aligned<T: ?Sized>(pub(crate) T);

/// What is in the kernel now.
pub(crate) struct Attached {
    pub(crate) object: Object,
    /// The buffers of all CPUs.
    pub(crate) rings: Vec<MapHandle>,
    pub(crate) links: Vec<Link>,
}

/// Loads and attaches everything; `switch` first, as all else refers to it.
pub(crate) fn attach(options: &RecordOptions, hooks: &Hooks) -> Result<Attached, RecordError> {
    let object = load(OBJECT, "recorder", |open| configure(open, options, hooks))?;
    let rings = rings::make(&object, options.buffer).map_err(refused("making the buffers"))?;
    let links = attach_programs(&object, "recorder")?;
    Ok(Attached { object, rings, links })
}

/// Loads an object whose programs begin with `begin`, and runs that; `what` is what it is called.
pub(crate) fn load(
    bytes: &[u8],
    what: &str,
    configure: impl FnOnce(&mut OpenObject) -> Result<(), libbpf_rs::Error>,
) -> Result<Object, RecordError> {
    rota_libbpf_log::start(false);
    let doing = |verb: &str| refused(format!("{verb} the {what}"));
    let mut open = ObjectBuilder::default().open_memory(bytes).map_err(doing("opening"))?;
    configure(&mut open).map_err(doing("setting up"))?;
    let object = open.load().map_err(doing("loading"))?;
    let begin = object.progs_mut().find(|program| program.name() == "begin");
    if let Some(begin) = begin {
        let ran = begin.test_run(ProgramInput::default()).map_err(doing("starting"))?;
        if ran.return_value != 0 {
            return Err(RecordError::CgroupGone);
        }
    }
    Ok(object)
}

/// Attaches all programs but those that are run.
pub(crate) fn attach_programs(object: &Object, what: &str) -> Result<Vec<Link>, RecordError> {
    let mut links = Vec::new();
    for program in object.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        if !program.autoload() || name == "begin" || name == "snapshot" {
            continue;
        }
        let attached = program.attach();
        links.push(attached.map_err(|e| refused(format!("attaching the {what}"))(e))?);
    }
    Ok(links)
}

/// Has the kernel go through all tasks once, by the program `snapshot`.
pub(crate) fn go_through_tasks(object: &mut Object) -> Result<(), RecordError> {
    let refused = |e| refused("reading all tasks")(e);
    let program = object.progs_mut().find(|p| p.name() == "snapshot");
    let Some(program) = program else { return Ok(()) };
    let link = program.attach_iter_with_opts(libbpf_rs::IterOpts::None).map_err(refused)?;
    let mut output = Vec::new();
    let all = Iter::new(&link).map_err(refused)?.read_to_end(&mut output);
    all.map(|_| ()).map_err(|e| refused(e.into()))
}

fn refused(what: impl AsRef<str>) -> impl FnOnce(libbpf_rs::Error) -> RecordError {
    move |e| RecordError::refused(what.as_ref(), e, rota_libbpf_log::take())
}

/// What `config` of `bpf/record_begin.bpf.h` has, and which programs are wanted.
pub(crate) fn configure(
    open: &mut OpenObject,
    options: &RecordOptions,
    hooks: &Hooks,
) -> Result<(), libbpf_rs::Error> {
    let (root_pid, spawn, cgroup) = match options.scope {
        Scope::System => (0, 0, None),
        Scope::Process(pid) => (pid, 0, None),
        Scope::Children => (0, 1, None),
        Scope::Cgroup(cgroup) => (0, 0, Some(cgroup.id())),
    };
    let only_tree = matches!(options.scope, Scope::Process(_) | Scope::Children);
    let dispatch = hooks.dispatch.as_ref();
    let mut config = vec![
        only_tree.into(),
        u32::from(!options.kernel_threads),
        root_pid,
        spawn,
        hooks.mask(),
        dispatch.map_or(0, |d| d.task),
        dispatch.map_or(0, |d| d.queue),
        dispatch.map_or(0, |d| d.by_id.into()),
        hooks.move_task,
        hooks.hard_mask(),
        cgroup.is_some().into(),
        cgroup.unwrap_or(0) as u32,
        (cgroup.unwrap_or(0) >> 32) as u32,
        options.detail.into(),
        calls::SLEEP.id() as u32,
        options.transfers.into(),
        calls::READ.id() as u32,
        calls::READV.id() as u32,
        calls::WRITE.id() as u32,
        calls::WRITEV.id() as u32,
        calls::CLOSE.id() as u32,
    ];
    config.extend(calls::sends());
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name.ends_with(".rodata") {
            map.set_initial_value(
                &config.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>(),
            )?;
        } else if name == rings::RINGS {
            map.set_max_entries(libbpf_rs::num_possible_cpus()? as u32)?;
        } else if name == "pids" && !options.detail {
            map.set_max_entries(1)?;
        }
    }
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let function = program.section().to_string_lossy().starts_with('f');
        if name == hooks::DISPATCH {
            match dispatch {
                Some(d) => program.set_attach_target(0, Some(d.function.into()))?,
                None => program.set_autoload(false),
            }
        } else if name == hooks::WAKING {
            program.set_autoload(!hooks.notes_interrupts());
        } else if hooks::NOTING.contains(&name.as_str()) {
            program.set_autoload(hooks.notes_interrupts());
        } else if hooks::TRANSFERS.contains(&name.as_str()) {
            program.set_autoload(options.transfers && hooks.sees_transfers(&name));
        } else if function && !hooks.programs.contains(&name.as_str()) {
            program.set_autoload(false);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn objects_that_ship_are_of_these_sources() {
        let shipped = include_str!("../../objects/SOURCES");
        let built = include_str!(concat!(env!("OUT_DIR"), "/SOURCES"));
        assert_eq!(shipped, built, "make objects compiles them anew");
    }
}
