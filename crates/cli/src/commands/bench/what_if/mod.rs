// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench what-if`: a command is recorded, and what its workload says about another setting is
//! compared with the command in that setting.

mod args;
mod child;
mod compare;
mod live;
mod predicted;
mod question;
mod show;

pub(crate) use args::{WhatIfArgs, WhatIfChildArgs};

use super::computer::Computer;
use crate::commands::record::plain;
use crate::error::{Error, Status};
use crate::output::{json, messages};
use crate::program;
use crate::replay::Making;
use compare::{Answer, Runs};
use live::{Recording, Wish};
use question::{Question, Setting};
use rota_machine_file::Machine;
use serde::Serialize;
use std::collections::btree_map::{BTreeMap, Entry};
use std::io::Write;

#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: &'static str,
    computer: &'a Computer,
    name: &'a str,
    repeat: u32,
    answers: &'a [Answer],
}

pub(crate) fn run(args: &WhatIfArgs) -> Result<Status, Error> {
    program::file(&args.command[0])?;
    let computer = Computer::look()?;
    let questions = questions(args, computer.cpus)?;
    let mut runs: Vec<Runs> = questions.iter().map(|_| Runs::default()).collect();
    for _ in 0..args.repeat {
        round(args, &computer, &questions, &mut runs)?;
    }
    if let Some(of) = runs.iter().position(|runs| runs.predicted_ns.is_empty()) {
        let question = questions[of].text(computer.cpus);
        return Err(Error::Failure(format!("{question}: no recording of it played to its end")));
    }
    let answers = questions.into_iter().zip(runs);
    let answers: Vec<_> = answers.map(|(of, runs)| Answer::of(of, computer.cpus, runs)).collect();
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let name = args.name.clone().unwrap_or_else(|| words.join(" "));
    let mut out = crate::output::stdout();
    if args.json {
        let (schema, repeat) = ("rota.bench.what-if/1", args.repeat);
        let (computer, answers) = (&computer, &answers[..]);
        json::print(&mut out, &Json { schema, computer, name: &name, repeat, answers })?;
    } else if args.markdown {
        show::markdown(&mut out, &name, &answers)?;
    } else {
        computer.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
        show::print(&mut out, &name, args.repeat, &answers)?;
    }
    out.flush()?;
    Ok(Status::Done)
}

/// Those that this computer can answer.
fn questions(args: &WhatIfArgs, cpus: u32) -> Result<Vec<Question>, Error> {
    if let Some(question) = args.ask.iter().find(|ask| ask.is_of_several_cpus() && cpus < 2) {
        return Err(Error::Input(format!(
            "--ask {question:?}: this computer has one CPU, expected hogs, nice or slice"
        )));
    }
    if !args.ask.is_empty() {
        return Ok(args.ask.clone());
    }
    let can = |question: &Question| cpus > 1 || !question.is_of_several_cpus();
    Ok(Question::ALL.into_iter().filter(can).collect())
}

/// Each setting is recorded once, and each question is answered once by the computer and by the
/// simulator. So what changes on the computer meanwhile concerns all of them.
fn round(
    args: &WhatIfArgs,
    computer: &Computer,
    questions: &[Question],
    runs: &mut [Runs],
) -> Result<(), Error> {
    let making = || Making::here(args.machine.as_deref(), computer.cpus);
    let machine: Machine = making()?.machine().clone();
    let mut recordings: BTreeMap<Setting, Recording> = BTreeMap::new();
    let record = |setting, wish| {
        let recording = live::record(setting, &args.command, wish, computer.cpus)?;
        if recording.lost > 0 {
            let lost = recording.lost;
            messages::warning(&format!("{lost} events were lost: these numbers are wrong"));
        }
        Ok::<_, Error>(recording)
    };
    for (question, runs) in questions.iter().zip(runs) {
        let (recorded, asked) = (question.recorded(computer.cpus), question.asked(computer.cpus));
        let recording = match recordings.entry(recorded) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(free) => {
                let plain_ns =
                    plain::median_of(args.plain, |_| Ok(record(recorded, None)?.work_ns))?;
                let wish = Wish { making: making()?, plain_ns };
                free.insert(record(recorded, Some(wish))?)
            }
        };
        match predicted::predict(recording, &machine, asked, computer)? {
            Some(predicted) => {
                runs.predicted_ns.push(predicted.took_ns);
                runs.predicted_p99_ns.extend(predicted.p99_ns);
            }
            None => messages::warning(&format!(
                "{}: the recording did not play to its end, as tasks wait for ever: no guess",
                question.text(computer.cpus)
            )),
        }
        runs.live_ns.push(live::run(asked, &args.command)?);
        runs.live_p99_ns.extend(record(asked, None)?.p99_ns);
    }
    Ok(())
}

/// Who runs the command.
pub(crate) fn child(args: &WhatIfChildArgs) -> Result<Status, Error> {
    child::run(args)
}

/// A hog.
pub(crate) fn hog() -> Result<Status, Error> {
    child::hog()
}
