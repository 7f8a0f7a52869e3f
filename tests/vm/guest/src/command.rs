// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a program to its end and checks what it said.

use crate::ordinary;
use crate::records::now;
use crate::residue::Residue;
use crate::sysfs::wait_until;
use anyhow::{bail, Context, Result};
use rota_guest::step::Command;
use rustix::mount::{mount, mount_bind, unmount, MountFlags, UnmountFlags};
use serde_json::{json, Value};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

const OUTPUT: &str = "/tmp/command.out";
const MESSAGES: &str = "/tmp/command.err";
const NOTHING: &str = "/tmp/nothing";

pub(crate) fn run(step: &Command, policy: Option<&str>) -> Result<(Value, Option<String>)> {
    let before = step.changes_nothing.then(Residue::now);
    let hidden = Hidden::new(&step.hide)?;
    let start = now();
    let code = run_to_end(step, policy)?;
    let took = now() - start;
    drop(hidden);

    let output = fs::read_to_string(OUTPUT)?;
    let messages = fs::read_to_string(MESSAGES)?;
    let mut saw = json!({ "code": code, "took_ns": took.as_nanos() as u64, "messages": messages });
    if step.keep {
        saw["output"] = Value::from(output.as_str());
    }
    let problem = judge(step, code, &output, &messages)
        .or_else(|| before.and_then(|b| b.wait_for_return().err()).map(|e| format!("{e:#}")));
    Ok((saw, problem))
}

fn run_to_end(step: &Command, policy: Option<&str>) -> Result<Option<i32>> {
    let words: Vec<String> =
        step.command.iter().map(|word| word.replace("{policy}", policy.unwrap_or(""))).collect();
    let Some((program, args)) = words.split_first() else { bail!("there is no command to run") };
    let mut command = ordinary::program(program);
    command.args(args).stdin(Stdio::null());
    command.stdout(File::create(OUTPUT)?).stderr(File::create(MESSAGES)?);
    if let Some(user) = step.user {
        command.uid(user).gid(user);
    }
    let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
    let mut status = None;
    let ended = wait_until(&words.join(" "), step.within.duration(), || {
        status = child.try_wait()?;
        Ok(status.is_some())
    });
    if ended.is_err() {
        child.kill()?;
        child.wait()?;
    }
    ended?;
    Ok(status.and_then(|status| status.code()))
}

fn judge(step: &Command, code: Option<i32>, output: &str, messages: &str) -> Option<String> {
    let all = format!("{output}{messages}");
    if code != Some(step.code) {
        let code = code.map_or("none".to_owned(), |code| code.to_string());
        return Some(format!("exit code {code}, expected {}; it said:\n{all}", step.code));
    }
    if let Some(missing) = step.says.iter().find(|text| !all.contains(text.as_str())) {
        return Some(format!("it did not say '{missing}' but:\n{all}"));
    }
    match step.messages {
        Some(lines) if messages.lines().count() != lines => {
            Some(format!("expected {lines} lines on standard error, there are:\n{messages}"))
        }
        _ => None,
    }
}

/// Files and folders that look empty for a while.
struct Hidden(Vec<String>);

impl Hidden {
    fn new(paths: &[String]) -> Result<Hidden> {
        let mut hidden = Hidden(Vec::new());
        File::create(NOTHING)?;
        for path in paths {
            let context = || format!("cannot hide {path}");
            if Path::new(path).is_dir() {
                mount("none", path, "tmpfs", MountFlags::empty(), None).with_context(context)?;
            } else {
                mount_bind(NOTHING, path).with_context(context)?;
            }
            hidden.0.push(path.clone());
        }
        Ok(hidden)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        for path in &self.0 {
            if let Err(error) = unmount(path, UnmountFlags::DETACH) {
                eprintln!("rota-guest: {path} stays hidden: {error}");
            }
        }
    }
}
