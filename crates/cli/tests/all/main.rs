// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tests of the commands, in one program: each one more is linked for seconds.

mod cli_autogroup;
mod cli_bad_input;
mod cli_bench;
mod cli_boost;
mod cli_bugs;
mod cli_choices;
mod cli_compare;
mod cli_compare_resume;
mod cli_completions;
mod cli_control;
mod cli_ejection;
mod cli_errors;
mod cli_findings;
mod cli_fluid;
mod cli_hostile;
mod cli_ignores;
mod cli_interrupt;
mod cli_kernels;
mod cli_link;
mod cli_list;
mod cli_man;
mod cli_outputs;
mod cli_program;
mod cli_record;
mod cli_report;
mod cli_reproduce;
mod cli_run;
mod cli_samples;
mod cli_sim;
mod cli_stats;
mod cli_timeline;
mod cli_tune;
mod cli_workload;
mod pages;
mod support;
