// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what was seen to the small workload.

use crate::edges::Edges;
use crate::lengths::Lengths;
use crate::life::{Life, LifeIx, What};
use crate::part::{self, Part};
use crate::text::{self, Settings};
use crate::watch::Watched;
use std::collections::{BTreeMap, BTreeSet};

/// What the small workload is to be.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What the comment at its top says besides where it is from.
    pub about: Vec<String>,
    /// The machine, as the key `machine` of a workload file has it.
    pub machine: Option<serde_json::Value>,
    /// Its length.
    pub seconds: u64,
    /// Which parts are tried.
    pub seed: u64,
}

/// A small workload.
#[derive(Clone, Debug)]
pub struct Condensed {
    /// The file.
    pub text: String,
    /// The part of the long one from which it has its order, in nanoseconds.
    pub part_ns: (u64, u64),
}

/// How a task of the small workload comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// It is there from the begin, and repeats its steps.
    Lasting,
    /// It never sleeps.
    Busy,
    /// Once in each round, so long after the round's begin.
    Each { after_ns: u64 },
    /// Another one forks it.
    Forked,
}

/// A task of the small workload.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) life: LifeIx,
    pub(crate) begin: Begin,
    /// Places of its steps.
    pub(crate) steps: std::ops::Range<usize>,
}

/// Tasks of a kind that the part does not have, each with the same work and sleep for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filler {
    /// One of them.
    pub(crate) life: LifeIx,
    pub(crate) tasks: u64,
    pub(crate) run_ns: u64,
    pub(crate) sleep_ns: u64,
}

/// All that the text is made of.
pub(crate) struct Fit<'a> {
    pub(crate) watched: &'a Watched,
    pub(crate) part: Part,
    pub(crate) programs: Vec<Program>,
    pub(crate) fillers: Vec<Filler>,
    pub(crate) edges: Edges,
    pub(crate) lengths: Lengths,
}

/// The small workload of one that was seen until `end_ns`; `None` if no task worked. `settings` are
/// those of a task of the long one, by its name.
pub fn condense(
    watched: &mut Watched,
    end_ns: u64,
    settings: &dyn Fn(&str) -> Settings,
    request: &Request,
) -> Option<Condensed> {
    watched.finish(end_ns);
    let works = |life: &Life| life.steps.iter().any(|step| matches!(step.what, What::Run(_)));
    if !watched.lives.iter().any(works) {
        return None;
    }
    let part = part::choose(watched, request.seed);
    let programs = programs(watched, part);
    let taken: Vec<(usize, usize)> = programs
        .iter()
        .flat_map(|program| program.steps.clone().map(|at| (program.life, at)))
        .collect();
    let fillers = fillers(watched, &programs);
    let edges = Edges::new(watched, &taken);
    let lengths = Lengths::new(watched, &taken);
    let fit = Fit { watched, part, programs, fillers, edges, lengths };
    let text = text::file(&fit, settings, request);
    Some(Condensed { text, part_ns: (part.from_ns, part.to_ns) })
}

/// The tasks of a part.
fn programs(watched: &Watched, part: Part) -> Vec<Program> {
    let mut programs = Vec::new();
    let mut forked: Vec<LifeIx> = Vec::new();
    for (at, life) in watched.lives.iter().enumerate() {
        let program = match life.lasts(part.from_ns, part.to_ns) {
            true => lasting(watched, at, part),
            false if life.parent.is_none() && life.born_ns >= part.from_ns => {
                let begin = Begin::Each { after_ns: life.born_ns - part.from_ns };
                (life.born_ns < part.to_ns).then(|| whole(watched, at, part, begin))
            }
            false => None,
        };
        programs.extend(program);
    }
    let forks = |program: &Program| {
        let steps = &watched.lives[program.life].steps[program.steps.clone()];
        let forked = steps.iter().filter_map(|step| match step.what {
            What::Fork(child) => Some(child),
            _ => None,
        });
        forked.collect::<Vec<_>>()
    };
    let known: BTreeSet<LifeIx> = programs.iter().map(|program| program.life).collect();
    programs.iter().for_each(|program| forked.extend(forks(program)));
    while let Some(child) = forked.pop() {
        if known.contains(&child) {
            continue;
        }
        let program = whole(watched, child, part, Begin::Forked);
        forked.extend(forks(&program));
        programs.push(program);
    }
    programs.sort_by_key(|program| program.life);
    programs
}

/// Whole turns, from the begin of a sleep to the begin of another one.
fn lasting(watched: &Watched, at: LifeIx, part: Part) -> Option<Program> {
    let steps = &watched.lives[at].steps;
    let within = watched.lives[at].within(part.from_ns, part.to_ns);
    let blocks = |place: &usize| steps[*place].what.blocks();
    let Some(first) = within.clone().find(blocks) else {
        // It runs all the time, or sleeps all the time.
        let runs = within.start > 0 && !steps[within.start - 1].what.blocks();
        let program = Program { life: at, begin: Begin::Busy, steps: within.clone() };
        return (runs || !within.is_empty()).then_some(program);
    };
    let end = (within.end..steps.len()).find(blocks).unwrap_or(steps.len());
    Some(Program { life: at, begin: Begin::Lasting, steps: first..end })
}

/// All that a task does, but for what comes long after the part.
fn whole(watched: &Watched, at: LifeIx, part: Part, begin: Begin) -> Program {
    let last_ns = part.to_ns.saturating_add(part.len_ns());
    let steps = watched.lives[at].within(0, last_ns);
    Program { life: at, begin, steps }
}

/// For the kinds of which no task works in the part.
fn fillers(watched: &Watched, programs: &[Program]) -> Vec<Filler> {
    let mut there = BTreeSet::new();
    for program in programs {
        let life = &watched.lives[program.life];
        let works = life.steps[program.steps.clone()].iter();
        let works = works.filter(|step| matches!(step.what, What::Run(_))).count() > 0;
        if works || program.begin == Begin::Busy {
            there.insert(life.kind);
        }
    }
    // Of each kind: one task, its work and its wakeups.
    let mut missing: BTreeMap<usize, (LifeIx, u64, u64)> = BTreeMap::new();
    for (at, life) in watched.lives.iter().enumerate() {
        if there.contains(&life.kind) {
            continue;
        }
        let (_, work_ns, turns) = missing.entry(life.kind).or_insert((at, 0, 0));
        *turns += 1;
        for step in &life.steps {
            match step.what {
                What::Run(ns) => *work_ns += ns,
                what => *turns += u64::from(what.blocks()),
            }
        }
    }
    let end_ns = watched.end_ns;
    let works = missing.into_values().filter(|(_, work_ns, _)| *work_ns > 0);
    let filler = |(life, work_ns, turns): (LifeIx, u64, u64)| {
        let tasks = work_ns.div_ceil(end_ns.max(1)).max(1);
        let turn_ns = (u128::from(end_ns) * u128::from(tasks) / u128::from(turns)) as u64;
        let run_ns = work_ns / turns;
        Filler { life, tasks, run_ns, sleep_ns: turn_ns.saturating_sub(run_ns) }
    };
    works.map(filler).collect()
}
