// SPDX-License-Identifier: MIT OR Apache-2.0
//! Customers of Apache beside busy tasks on its CPU, as in the experiments of the CAS paper [§7]:
//! under `appease`, and under the kernel's own scheduler.

use super::answers::{visited, Answers};
use super::draw::Customers;
use super::{film, server};
use crate::initramfs::Initramfs;
use crate::plan::Boot;
use crate::statement::{self, Statement, Wanted};
use anyhow::Result;
use rota_guest::record::Record;
use rota_guest::step::{Hog, Step};
use rota_guest::visits::Visits;
use std::collections::BTreeMap;

const CUSTOMERS: Customers =
    Customers { seed: 2, count: 4, think_us: 80_000.0, until_us: 5_000_000 };
const WINDOW_US: (u64, u64) = (500_000, 4_500_000);
/// Busy tasks: none, and as many as the paper's compilations [§7.2], 30 at most.
const BUSY: [usize; 4] = [0, 4, 12, 30];
const NONE: usize = 0;
const MANY: usize = 12;
const SERVER_CPU: usize = 1;
const FILE_BYTES: usize = 16 << 10;
const FILE_BEGINS: &str = "<!DOCTYPE html>";
/// Of a page that a program makes.
const MADE_BYTES: u64 = 400_000;

/// What clients ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    File,
    Made,
}

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    page: Page,
    policy: Option<&'static str>,
    busy: usize,
}

impl Page {
    fn id(self) -> &'static str {
        match self {
            Page::File => "file",
            Page::Made => "made",
        }
    }

    /// In tables.
    fn name(self) -> &'static str {
        match self {
            Page::File => "a file of 16 kB",
            Page::Made => "a page that a CGI program makes",
        }
    }

    /// Its path, and how it begins.
    fn asked(self) -> (String, String) {
        match self {
            Page::File => ("/file.html".to_owned(), FILE_BEGINS.to_owned()),
            Page::Made => server::made(MADE_BYTES),
        }
    }
}

impl Entry {
    fn job_name(self) -> String {
        format!("{}/{} beside {}", self.page.id(), self.policy.unwrap_or("kernel"), self.busy)
    }

    fn scheduler(self) -> &'static str {
        self.policy.unwrap_or("EEVDF, the kernel's own")
    }
}

fn entries() -> Vec<Entry> {
    let of = |page| {
        let of = move |policy| BUSY.map(move |busy| Entry { page, policy, busy });
        [of(None), of(Some("appease"))].into_iter().flatten()
    };
    [Page::File, Page::Made].into_iter().flat_map(of).collect()
}

fn visits(page: Page) -> Visits {
    CUSTOMERS.visits(|_| page.asked())
}

/// Tasks that only compute, on the server's CPU.
fn busy(count: usize) -> Option<Step> {
    let hog = Hog { cpus: vec![SERVER_CPU], count: Some(count), ..Hog::default() };
    let tasks = BTreeMap::from([("busy".to_owned(), hog)]);
    (count > 0).then_some(Step::Hogs { tasks })
}

/// The machine, and the visits in it.
pub fn boot(files: &mut Initramfs) -> Result<Boot> {
    for page in [Page::File, Page::Made] {
        server::add_visits(files, page.id(), &visits(page))?;
    }
    let mut file = format!("{FILE_BEGINS}\n");
    file.push_str(&" ".repeat(FILE_BYTES - file.len()));
    files.text(file, "www/file.html");
    let job = |entry: Entry| {
        let policy = (entry.policy, Vec::new());
        server::job(entry.job_name(), policy, busy(entry.busy), entry.page.id())
    };
    let jobs = entries().into_iter().map(job).chain(film::jobs(busy));
    Ok(server::boot(2, jobs.collect()))
}

/// What customers measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was run.
    pub entry: Entry,
    /// Their requests.
    pub answers: Answers,
}

/// Of all that is run.
pub fn outcomes(records: &[Record]) -> Result<Vec<Outcome>> {
    let outcome = |entry: Entry| {
        let visits = visits(entry.page);
        let visited = visited(records, &entry.job_name(), &visits)?;
        Ok(Outcome { entry, answers: Answers::of(&visits, &visited, WINDOW_US, |_| true) })
    };
    entries().into_iter().map(outcome).collect()
}

/// Beside twelve busy tasks customers wait half as long as under the kernel's own, or less.
pub fn statements(outcomes: &[Outcome]) -> Vec<Statement> {
    let mean = |entry: Entry| {
        let found = outcomes.iter().find(|outcome| outcome.entry == entry);
        found.map_or(f64::NAN, |outcome| outcome.answers.mean_ms())
    };
    let of = |page: Page| {
        let beside = |policy, busy| mean(Entry { page, policy, busy });
        let (none, many) = (NONE, MANY);
        let statement = |what: &str, wanted, found| Statement {
            what: format!("{}: {what}", page.name()),
            wanted,
            found,
            unit: "",
            // A file takes Apache so little that the kernel's own is good at it, too.
            has_to: page == Page::Made,
        };
        [
            statement(
                "ratio of appease to the kernel's own, with 12 busy tasks",
                Wanted::AtMost(0.5),
                beside(Some("appease"), many) / beside(None, many),
            ),
            statement(
                "appease, ratio of 12 busy tasks to none",
                Wanted::Anything,
                beside(Some("appease"), many) / beside(Some("appease"), none),
            ),
        ]
    };
    [Page::File, Page::Made].into_iter().flat_map(of).collect()
}

/// For the page, and for the terminal.
pub fn markdown(
    kernel: &str,
    server: &str,
    outcomes: &[Outcome],
    statements: &[Statement],
) -> String {
    let mut text = format!(
        "{kernel}, {server}.\n\n{}\n\
         | asked for | scheduler | busy tasks | requests | mean (ms) | median (ms) | 99 % within (ms) \
         |\n|---|---|--:|--:|--:|--:|--:|\n",
        statement::markdown(statements)
    );
    for Outcome { entry, answers } in outcomes {
        text += &format!(
            "| {} | {} | {} | {} | {:.1} | {:.1} | {:.1} |\n",
            entry.page.name(),
            entry.scheduler(),
            entry.busy,
            answers.count(),
            answers.mean_ms(),
            answers.quantile_ms(0.5),
            answers.quantile_ms(0.99)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::problems;
    use rota_guest::visits::{Answer, Visited};

    fn records(took_ms: impl Fn(Entry) -> u64) -> Vec<Record> {
        let record = |entry: Entry| {
            let answer = Answer { asked_us: 1_000_000, took_us: 1_000 * took_ms(entry) };
            let clients = vec![vec![answer; 9]; CUSTOMERS.count];
            let output = serde_json::to_string(&Visited { busy: 1.0, clients }).unwrap();
            Record::Step {
                job: entry.job_name(),
                step: "3".into(),
                does: "run".into(),
                at_ns: 0,
                saw: serde_json::json!({ "output": output }),
            }
        };
        entries().into_iter().map(record).collect()
    }

    #[test]
    fn customers_who_wait_half_as_long_are_good_and_others_are_told() {
        let good = |entry: Entry| match (entry.policy, entry.busy) {
            (None, 12) => 20,
            (_, busy) => 9 + busy as u64 / 12,
        };
        let outcomes = super::outcomes(&records(good)).unwrap();
        assert_eq!(problems(&statements(&outcomes)), Vec::<String>::new());
        let text = markdown("7.2", "Apache", &outcomes, &statements(&outcomes));
        assert!(text.contains("| appease | 12 | 36 | 10.0 | 10.0 | 10.0 |"), "{text}");

        let worse = |entry: Entry| match (entry.page, entry.busy) {
            (Page::Made, 12) => 20,
            _ => good(entry),
        };
        let told = problems(&statements(&super::outcomes(&records(worse)).unwrap()));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("a page that a CGI program makes: ratio of appease"),
            "{told:?}"
        );
    }

    #[test]
    fn busy_tasks_are_on_the_servers_cpu_and_jobs_differ_in_names() {
        let mut files = Initramfs::default();
        let jobs = boot(&mut files).unwrap().jobs;
        let names: std::collections::BTreeSet<&str> =
            jobs.iter().map(|job| job.name.as_str()).collect();
        // Two pages and a film.
        assert_eq!((names.len(), jobs.len()), (28, 28));
        let Step::Hogs { tasks } = &jobs[6].steps[1] else { panic!("{:?}", jobs[6]) };
        assert_eq!((tasks["busy"].count, tasks["busy"].cpus.as_slice()), (Some(12), &[1][..]));
    }
}
