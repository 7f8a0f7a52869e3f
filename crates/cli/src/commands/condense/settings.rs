// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of a task, as keys of a workload file.

use rota_condense::Settings;
use rota_workload::events::CgroupAction;
use rota_workload::{Policy, Workload};
use serde_json::{json, Map, Value};

/// Those of a task of the long workload, by its name.
pub(super) fn of(workload: &Workload, task: &str) -> Settings {
    let Some((settings, kernels)) = workload.settings_of(task) else { return Settings::default() };
    let mut keys = Vec::new();
    if kernels {
        keys.push(("kthread", json!(true)));
    }
    if settings.policy != Policy::Other {
        keys.push(("policy", json!(settings.policy.to_string())));
    }
    if settings.priority != 0 && settings.policy != Policy::Deadline {
        keys.push(("priority", json!(settings.priority)));
    }
    let us = |ns: u64| json!(ns / 1000);
    let numbers = [
        ("weight", settings.weight.map(|weight| json!(weight))),
        ("share", settings.share.map(|share| json!(share))),
        ("cpus", settings.cpus.as_deref().map(|cpus| json!(cpus))),
        ("core_cookie", settings.core_cookie.as_deref().map(|cookie| json!(cookie))),
        ("migrate_disable", settings.migrate_disable.then(|| json!(true))),
        ("dl-runtime", settings.slice_ns.map(us)),
        ("dl-period", settings.dl_period_ns.map(us)),
        ("dl-deadline", settings.dl_deadline_ns.map(us)),
        ("util_min", settings.util_min.map(|least| json!(least))),
        ("util_max", settings.util_max.map(|most| json!(most))),
        ("nodes_membind", settings.mem_nodes.as_deref().map(|nodes| json!(nodes))),
        ("work_class", settings.work.class.map(|class| json!(class.name()))),
        ("working_set_kib", settings.work.working_set_kib.map(|kib| json!(kib))),
        ("dram_share", settings.work.dram_share.map(|of| json!(f64::from(of) / 1024.0))),
        ("taskgroup", settings.group.as_deref().map(|path| group(workload, path))),
    ];
    keys.extend(numbers.into_iter().filter_map(|(key, value)| Some((key, value?))));
    let leader = workload.tasks.iter().find(|instance| workload.name_of(instance) == task);
    let leader = leader.and_then(|instance| instance.thread_of);
    let leader = leader.and_then(|leader| workload.tasks.get(leader.0 as usize));
    let thread_of = leader.map(|leader| workload.name_of(leader).to_owned());
    Settings { keys, thread_of }
}

/// A cgroup with what its files hold.
fn group(workload: &Workload, path: &str) -> Value {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let Some(group) = workload.groups.iter().find(|group| group.path == path) else {
        return json!(path);
    };
    let mut keys = Map::new();
    keys.insert("path".into(), json!(path));
    if group.cpu_weight != 100 {
        keys.insert("cpu.weight".into(), json!(group.cpu_weight));
    }
    for file in &group.files {
        let (key, value) = match file {
            CgroupAction::Weight(weight) => ("cpu.weight", json!(weight)),
            CgroupAction::Max { quota_us, period_us } => {
                let quota = quota_us.map_or_else(|| "max".to_owned(), |us| us.to_string());
                let period = period_us.map_or_else(String::new, |us| format!(" {us}"));
                ("cpu.max", json!(format!("{quota}{period}")))
            }
            CgroupAction::Burst(us) => ("cpu.max.burst", json!(us)),
            CgroupAction::Idle(idle) => ("cpu.idle", json!(u8::from(*idle))),
            CgroupAction::Cpus(cpus) => ("cpuset.cpus", json!(&cpus[..])),
            // No key of a task makes these.
            CgroupAction::Create | CgroupAction::Destroy | CgroupAction::Scheduler(_) => continue,
        };
        keys.insert(key.into(), value);
    }
    Value::Object(keys)
}
