// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tests of the policies that ship, in one program: each one more is linked for seconds.

mod appease;
mod appease_waits;
mod cfs;
mod cfs_groups;
mod classes;
mod common;
mod cost;
mod eevdf;
mod eevdf_balance;
mod eevdf_moves;
mod field;
mod first_slice;
mod idle;
mod invariants;
mod large_shares;
mod linux22;
mod mlfq;
mod o1;
mod o1_cpus;
mod papers;
mod pbs;
mod pbs_laws;
mod pbs_picks;
mod pfs;
mod pfs_crowd;
mod pfs_families;
mod quantum;
mod rbpe;
mod rounds;
mod shares;
mod sjf;
mod vtrr;
mod vtrr_cpus;
mod vtrr_dynamic;
mod workloads;
