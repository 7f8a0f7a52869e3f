// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the kernel's fair class is set on this computer, and the policy `eevdf` as it.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

const FOLDER: &str = "/sys/kernel/debug/sched";

/// Features of the fair class that the policy has, and its tunables that switch them off.
const FEATURES: [(&str, &str); 9] = [
    ("PLACE_LAG", "no_place_lag"),
    ("PLACE_DEADLINE_INITIAL", "no_place_deadline_initial"),
    ("PLACE_REL_DEADLINE", "no_place_rel_deadline"),
    ("RUN_TO_PARITY", "no_run_to_parity"),
    ("PREEMPT_SHORT", "no_preempt_short"),
    ("PICK_BUDDY", "no_pick_buddy"),
    ("DELAY_DEQUEUE", "no_delay_dequeue"),
    ("DELAY_ZERO", "no_delay_zero"),
    ("WAKEUP_PREEMPTION", "no_wakeup_preemption"),
];

/// The kernel's names of domains, as the policy numbers them; of nodes by distance there are several.
const LEVELS: [&str; 5] = ["SMT", "CLS", "MC", "PKG", "NUMA"];

/// Of 1024 times that a CPU becomes idle it looks for work so often at first. A machine that has been
/// up for a while, mostly idle, took longer than 4.3 s for 512 of them, and looks always (`NI_RATE`).
const NEWIDLE_RATIO: u32 = 1024;

/// How the kernel's fair class is set: what `/sys/kernel/debug/sched` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fair {
    /// The slice of who asks for none, with this computer's number of CPUs.
    pub base_slice_ns: u64,
    /// Its features, those that are off with `NO_` before them.
    pub features: Vec<String>,
    /// When it preempts: `none`, `voluntary`, `full` or `lazy`.
    pub preempt: String,
    /// What it cost a CPU that became idle to look for work in a domain, as measured, on average;
    /// `None`: there is one CPU.
    #[serde(default)]
    pub newidle_cost_ns: Option<u64>,
    /// The same of each of `domains`, on average over the CPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub newidle_costs_ns: Vec<u64>,
    /// Names of the first CPU's scheduling domains, from below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<String>,
}

impl Fair {
    /// Reads it from debugfs, which has to be mounted and takes root. Kernels show domains while
    /// `verbose` is on, so that is switched on for the moment.
    pub fn read() -> io::Result<Fair> {
        Self::read_from(Path::new(FOLDER))
    }

    fn read_from(folder: &Path) -> io::Result<Fair> {
        let base_slice_ns = number(folder, "base_slice_ns")?;
        let Domains { names, costs_ns, cost_ns } = Domains::read(folder)?;
        Ok(Fair {
            base_slice_ns,
            features: text(folder, "features")?.split_whitespace().map(str::to_owned).collect(),
            preempt: chosen(&text(folder, "preempt")?),
            newidle_cost_ns: cost_ns,
            newidle_costs_ns: costs_ns,
            domains: names,
        })
    }

    /// The tunables of the policy `eevdf`, `name=value`, with which it is set as the fair class is.
    pub fn tunables(&self) -> Vec<String> {
        let slice = format!("base_slice_ns={}", self.base_slice_ns);
        let mut set = vec![slice, "tunable_scaling=none".to_owned()];
        if let Some(ns) = self.newidle_cost_ns {
            set.push(format!("newidle_cost_ns={}", ns.min(10_000_000)));
            set.push(format!("newidle_ratio={NEWIDLE_RATIO}"));
        }
        if self.domains.len() > 1 {
            set.extend(self.costs());
        }
        set.extend(preemption(&self.preempt).map(str::to_owned));
        let off =
            |feature: &str| self.features.iter().any(|f| f.strip_prefix("NO_") == Some(feature));
        let switched_off = FEATURES.iter().filter(|(feature, _)| off(feature));
        set.extend(switched_off.map(|(_, tunable)| format!("{tunable}=true")));
        set
    }
}

impl Fair {
    /// The policy's tunables for what looking costs in each kind of domain.
    fn costs(&self) -> impl Iterator<Item = String> + '_ {
        let far = |at: usize| self.domains[..at].iter().filter(|name| *name == "NUMA").count();
        let of = move |(at, ns): (usize, &u64)| {
            let name = self.domains.get(at)?;
            let level = LEVELS.iter().position(|level| level == name)? + far(at);
            Some(format!("newidle_costs_ns[{level}]={}", (*ns).clamp(1, 10_000_000)))
        };
        self.newidle_costs_ns.iter().enumerate().filter_map(of)
    }
}

/// The slice of who asks for none, where nobody has set another: 0.7 ms, longer on a computer with several
/// CPUs online, also for tasks that may use one of them only (`sysctl_sched_base_slice` and
/// `get_update_sysctl_factor()` of kernel/sched/fair.c, Linux 6.15 and later).
pub fn usual_base_slice_ns(cpus: u32) -> u64 {
    700_000 * u64::from(1 + cpus.clamp(1, 8).ilog2())
}

/// The tunable of `eevdf` for a mode of preemption, if it takes one: only `lazy` waits for the next
/// tick (`resched_curr_lazy()`).
pub fn preemption(mode: &str) -> Option<&'static str> {
    (mode != "lazy").then_some("preempt_full=true")
}

/// What the kernel tells of its domains. A CPU without others has none.
struct Domains {
    /// Of the first CPU, from below.
    names: Vec<String>,
    /// What it cost to look for work in each, on average over the CPUs, and over all of them.
    costs_ns: Vec<u64>,
    cost_ns: Option<u64>,
}

impl Domains {
    fn read(folder: &Path) -> io::Result<Domains> {
        let verbose = folder.join("verbose");
        let before = text(folder, "verbose")?;
        fs::write(&verbose, "Y").map_err(|e| of(&verbose, e))?;
        let of_cpu = |cpu: u32| {
            let path = move |nr: u32| format!("domains/cpu{cpu}/domain{nr}");
            (0..).map(path).take_while(|path| folder.join(path).exists()).collect::<Vec<_>>()
        };
        let cpus: Vec<Vec<String>> = (0..).map(of_cpu).take_while(|all| !all.is_empty()).collect();
        let cost = |path: &String| number(folder, &format!("{path}/max_newidle_lb_cost"));
        let costs = |paths: &Vec<String>| paths.iter().map(cost).collect::<io::Result<Vec<u64>>>();
        let costs = cpus.iter().map(costs).collect::<io::Result<Vec<Vec<u64>>>>()?;
        let name = |path: &String| Ok(text(folder, &format!("{path}/name"))?.trim().to_owned());
        let names: Vec<String> =
            cpus.first().into_iter().flatten().map(name).collect::<io::Result<_>>()?;
        fs::write(&verbose, before.trim()).map_err(|e| of(&verbose, e))?;
        let at = |at: usize| mean(costs.iter().filter_map(|costs| costs.get(at)));
        let costs_ns = (0..names.len()).filter_map(at).collect();
        Ok(Domains { names, costs_ns, cost_ns: mean(costs.iter().flatten()) })
    }
}

fn mean<'a>(of: impl Iterator<Item = &'a u64>) -> Option<u64> {
    let (sum, number) = of.fold((0_u64, 0), |(sum, number), ns| (sum + ns, number + 1));
    sum.checked_div(number)
}

fn text(folder: &Path, name: &str) -> io::Result<String> {
    let path = folder.join(name);
    fs::read_to_string(&path).map_err(|e| of(&path, e))
}

fn number(folder: &Path, name: &str) -> io::Result<u64> {
    let text = text(folder, name)?;
    let bad =
        || io::Error::other(format!("{}: \"{text}\" is no number", folder.join(name).display()));
    text.trim().parse().map_err(|_| bad())
}

fn of(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Of a list of modes the one in parentheses; the only one if there is no choice.
fn chosen(modes: &str) -> String {
    let mut words = modes.split_whitespace();
    let marked = words.clone().find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
    marked.or(words.next()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(preempt: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("base_slice_ns", "1400000\n");
        put("features", "PLACE_LAG NO_DELAY_DEQUEUE NO_HRTICK \n");
        put("preempt", preempt);
        put("verbose", "N\n");
        put("domains/cpu0/domain0/max_newidle_lb_cost", "30000\n");
        put("domains/cpu1/domain0/max_newidle_lb_cost", "32000\n");
        put("domains/cpu0/domain0/name", "MC\n");
        dir
    }

    #[test]
    fn each_kind_of_domain_has_its_cost() {
        let dir = folder("full\n");
        for (path, text) in [
            ("cpu0/domain1/max_newidle_lb_cost", "200000\n"),
            ("cpu0/domain1/name", "PKG\n"),
            ("cpu1/domain1/max_newidle_lb_cost", "300000\n"),
        ] {
            let path = dir.path().join("domains").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        let fair = Fair::read_from(dir.path()).unwrap();

        // (30 + 32 + 200 + 300) / 4 us
        assert_eq!(fair.newidle_cost_ns, Some(140_500));
        let costs: Vec<String> = fair.costs().collect();
        assert_eq!(costs, ["newidle_costs_ns[2]=31000", "newidle_costs_ns[3]=250000"]);
        assert!(costs.iter().all(|cost| fair.tunables().contains(cost)));
    }

    /// 0.7 ms times 1 + log2 of the CPUs, of eight at most.
    #[test]
    fn slices_are_longer_with_more_cpus_up_to_eight() {
        assert_eq!(
            [1, 2, 3, 4, 8, 64].map(usual_base_slice_ns),
            [700_000, 1_400_000, 1_400_000, 2_100_000, 2_800_000, 2_800_000]
        );
    }

    #[test]
    fn the_policy_is_set_as_the_fair_class_is() {
        let dir = folder("none voluntary full (lazy)\n");

        let fair = Fair::read_from(dir.path()).unwrap();

        let expected = [
            "base_slice_ns=1400000",
            "tunable_scaling=none",
            "newidle_cost_ns=31000",
            "newidle_ratio=1024",
            "no_delay_dequeue=true",
        ];
        assert_eq!(fair.tunables(), expected);
        assert_eq!(fair.domains, ["MC"]);
        assert_eq!(fs::read_to_string(dir.path().join("verbose")).unwrap(), "N");
    }

    #[test]
    fn all_modes_but_lazy_preempt_at_once() {
        for (modes, mode) in
            [("(none) voluntary full lazy\n", "none"), ("full\n", "full"), ("none (full)", "full")]
        {
            let fair = Fair::read_from(folder(modes).path()).unwrap();

            assert_eq!(fair.preempt, mode);
            assert!(fair.tunables().contains(&"preempt_full=true".to_owned()), "{modes}");
        }
    }

    #[test]
    fn a_file_that_is_missing_or_no_number_is_named() {
        let dir = folder("full\n");
        fs::write(dir.path().join("base_slice_ns"), "soon").unwrap();

        let why = Fair::read_from(dir.path()).unwrap_err().to_string();

        assert!(why.ends_with("base_slice_ns: \"soon\" is no number"), "{why}");
        let why = Fair::read_from(Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(why.starts_with("/nonexistent/base_slice_ns: "), "{why}");
    }
}
