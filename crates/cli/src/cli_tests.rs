// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever stands behind an option.

use crate::cli::Cli;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory};
use proptest::prelude::*;

/// Every option that takes a value, with the commands before it.
fn options(command: &Command, before: &[String]) -> Vec<Vec<String>> {
    let takes_value = |arg: &&clap::Arg| arg.get_action().takes_values() && !arg.is_positional();
    let named = command.get_arguments().filter(takes_value).filter_map(|arg| arg.get_long());
    let mut all: Vec<Vec<String>> =
        named.map(|long| [before, &[format!("--{long}")]].concat()).collect();
    for below in command.get_subcommands() {
        all.extend(options(below, &[before, &[below.get_name().to_owned()]].concat()));
    }
    all
}

#[test]
fn options_of_all_commands_are_found() {
    let all = options(&Cli::command(), &["rota".into()]);
    for known in ["rota sim --topology", "rota boost --user-budget", "rota bench shares --task"] {
        assert!(all.iter().any(|option| option.join(" ") == known), "{known}: {all:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_value_of_an_option_is_read_or_refused(
        option: prop::sample::Index,
        value in "-?[0-9]{0,21}|[0-9]{1,3}[.,:=x][0-9a-z.]{0,8}|[0-9]{0,4}(ns|us|ms|s|min|h|%|K|M|G)|\
            [0-9]{0,3}(s|)[.]{0,2}[0-9]{0,3}(s|)|[a-z_]{0,5}[=:@][-a-z0-9=,]{0,8}|\\PC{0,12}",
    ) {
        let command = Cli::command();
        let all = options(&command, &["rota".into()]);
        let (name, before) = option.get(&all).split_last().expect("an option");
        let args = [before, &[format!("{name}={value}")]].concat();
        if let Err(error) = command.try_get_matches_from(args) {
            let told = error.to_string();
            let is_of_value = error.kind() == ErrorKind::ValueValidation;
            prop_assert!(!is_of_value || told.contains(name), "{told}");
        }
    }
}
