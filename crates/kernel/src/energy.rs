// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's energy model of this machine: what its CPUs take at their frequencies, as debugfs has it
//! (kernel/power/energy_model.c).

use crate::events::cpus::numbers;
use rota_object::energy::{PerfDomain, PerfState};
use std::fs;
use std::path::{Path, PathBuf};

const MODEL: &str = "/sys/kernel/debug/energy_model";
/// `1`: wakeups weigh energy. Where that is not possible nothing can be read.
const IS_USED: &str = "/proc/sys/kernel/sched_energy_aware";

/// None where the kernel does not go by energy, or does not tell.
pub(crate) fn of_this_machine() -> Vec<PerfDomain> {
    match fs::read_to_string(IS_USED) {
        Ok(text) if text.trim() == "1" => read(Path::new(MODEL)),
        _ => Vec::new(),
    }
}

/// Domains of CPUs, in order of their first ones; none if one of them cannot be read.
fn read(model: &Path) -> Vec<PerfDomain> {
    let of_cpus = folders(model, "cpu");
    let domains: Option<Vec<_>> = of_cpus.iter().map(|folder| domain(folder)).collect();
    let mut domains = domains.unwrap_or_default();
    domains.sort_by_key(|domain| domain.cpus.first().copied());
    domains
}

fn domain(folder: &Path) -> Option<PerfDomain> {
    let cpus = numbers(&fs::read_to_string(folder.join("cpus")).ok()?);
    let number = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse().ok();
    let state = |folder: &PathBuf| {
        let performance = number(folder.join("performance"))?;
        let power_uw = number(folder.join("power"))?;
        Some(PerfState { performance: u32::try_from(performance).ok()?, power_uw })
    };
    let mut states: Vec<PerfState> =
        folders(folder, "ps:").iter().map(state).collect::<Option<_>>()?;
    states.sort_by_key(|state| state.performance);
    (!cpus.is_empty() && !states.is_empty()).then_some(PerfDomain { cpus, states })
}

/// Those whose names begin so.
fn folders(of: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().filter_map(Result::ok);
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    named.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Its folder, CPUs, and states: performance and power.
    type Domain<'a> = (&'a str, &'a str, &'a [(u32, u64)]);

    fn model(domains: &[Domain<'_>]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, cpus, states) in domains {
            put(dir.path(), &format!("{name}/cpus"), cpus);
            for (performance, power) in *states {
                // Their frequencies; those of debugfs are in kHz.
                let at = format!("{name}/ps:{}", performance * 2000);
                put(dir.path(), &format!("{at}/performance"), &format!("{performance}\n"));
                put(dir.path(), &format!("{at}/power"), &format!("{power}\n"));
            }
        }
        dir
    }

    #[test]
    fn domains_and_states_are_in_order() {
        let small = [(64, 10_000), (161, 104_000), (100, 30_000)];
        let model = model(&[("cpu4", "4-5\n", &[(499, 600_000)]), ("cpu0", "0-3\n", &small)]);
        put(model.path(), "gpu/cpus", "");
        let domains = read(model.path());
        let state = |(performance, power_uw)| PerfState { performance, power_uw };
        let states = [(64, 10_000), (100, 30_000), (161, 104_000)].map(state).to_vec();
        assert_eq!(domains[0], PerfDomain { cpus: vec![0, 1, 2, 3], states });
        assert_eq!(domains[1].cpus, [4, 5]);
        assert_eq!(domains.len(), 2);
    }

    #[test]
    fn a_model_that_cannot_be_read_as_a_whole_is_none() {
        let whole = model(&[("cpu0", "0\n", &[(1024, 9)]), ("cpu1", "x\n", &[(1024, 9)])]);
        assert_eq!(read(whole.path()), []);
        assert_eq!(read(Path::new("/nonexistent")), []);
    }
}
