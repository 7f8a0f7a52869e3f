// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload in which much happens in 10 ms.

use rota_workload::Workload;
use std::sync::{Arc, OnceLock};

/// Most callbacks come, from both kinds of tasks that a policy sees and from those above it.
const LOAD: &str = r#"{
    "sockets": { "s": "unix" },
    "customers": { "c": { "to": "s", "rate": 2000, "demand": 100, "batch": 2 } },
    "tasks": {
        "hog": { "instance": 5, "share": 3, "uid": 7, "run": 3000, "yield": "" },
        "talk": { "instance": 3, "loop": 4, "phases": {
            "one": { "priority": -5, "taskgroup": { "path": "/a/b", "cpu.weight": 300 },
                "lock": "m", "run": 200, "unlock": "m", "sleep": 300, "fork": "child" },
            "two": { "weight": 700, "cpus": [1, 2], "run": 100, "barrier": "b" },
            "three": { "policy": "SCHED_BATCH", "taskgroup": "/c", "share": 5, "run": 50 } } },
        "child": { "instance": 0, "loop": 2, "thread_of": "hog", "run": 100, "sem_post": "p" },
        "wait": { "sem_wait": "p", "policy": "SCHED_IDLE", "run": 30 },
        "above": { "policy": "SCHED_FIFO", "delay": 1000, "run": 400, "sleep": 900 },
        "serve": { "instance": 2, "session": 9, "recv": "s", "run": { "request": 2 }, "reply": "s" }
    }
}"#;

/// It, read once.
pub fn mixed() -> &'static Arc<Workload> {
    static LOADED: OnceLock<Arc<Workload>> = OnceLock::new();
    LOADED.get_or_init(|| Arc::new(rota_workload::parse("fuzz.json", LOAD).expect("a workload")))
}
