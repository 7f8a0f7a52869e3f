// SPDX-License-Identifier: MIT OR Apache-2.0
//! Group B of the PBS paper [§4.2.2, Figure 8], a tenth of its times: 30 clients of Apache, whose
//! pages a CGI program makes with work in proportion to sizes of Pareto's distribution.

use super::answers::{visited, Answers};
use super::draw::Customers;
use super::server;
use crate::plan::Boot;
use crate::statement::{self, Statement, Wanted};
use anyhow::Result;
use rota_guest::record::Record;
use rota_guest::visits::{Visit, Visits};
use rota_report::chart::{Axis, Line, LineChart, Scale};

const NAME: &str = "pbs";
const SHAPE: f64 = 1.2;
/// Some 25 ms of an emulated CPU's work, if nothing were cut off.
const MEAN_BYTES: f64 = 2e6;
const MOST_BYTES: f64 = 120.0 * MEAN_BYTES;
/// Requests that count, and the end; all are answered.
const WINDOW_US: (u64, u64) = (2_000_000, 11_000_000);
const CUSTOMERS: Customers =
    Customers { seed: 1, count: 30, think_us: 0.7e6, until_us: 12_000_000 };
const LOW: &str = "0.2";
const HIGH: &str = "10";
/// Alphas by beta. Judged is the first: each page has a process of its own.
const BETAS: [(&str, &[&str]); 3] =
    [("0", &[LOW, "1", HIGH]), ("-3", &[LOW, HIGH]), ("+inf", &[LOW, HIGH])];

/// What is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// In the table.
    pub name: String,
    policy: Option<&'static str>,
    set: Vec<String>,
    /// Of PBS.
    knobs: Option<(&'static str, &'static str)>,
}

/// RR, O(1), the kernel's own, and PBS.
pub fn entries() -> Vec<Entry> {
    let plain = |name: &str, policy, set: &[&str]| {
        let set = set.iter().map(|set| (*set).to_owned()).collect();
        Entry { name: name.into(), policy, set, knobs: None }
    };
    let mut all = vec![
        plain("RR", Some("rr"), &["quantum_ns=4ms"]),
        plain("O(1)", Some("o1"), &[]),
        plain("EEVDF, the kernel's own", None, &[]),
    ];
    for (beta, alphas) in BETAS {
        all.extend(alphas.iter().map(|alpha| Entry {
            name: format!("PBS, beta {beta}, alpha {alpha}"),
            policy: Some("pbs"),
            set: vec![format!("alpha={alpha}"), format!("beta={beta}")],
            knobs: Some((beta, alpha)),
        }));
    }
    all
}

/// What clients do, the same under each.
pub fn visits() -> Visits {
    CUSTOMERS.visits(|draw| server::made(draw.pareto(SHAPE, MEAN_BYTES, MOST_BYTES).round() as u64))
}

/// Smaller than the average of the distribution, as in the paper.
fn is_small(visit: &Visit) -> bool {
    let bytes = visit.path.rsplit('=').next().and_then(|bytes| bytes.parse::<f64>().ok());
    bytes.is_some_and(|bytes| bytes < MEAN_BYTES)
}

/// The machine, and the visits in it.
pub fn boot(files: &mut crate::initramfs::Initramfs) -> Result<Boot> {
    server::add_visits(files, NAME, &visits())?;
    let job = |entry: Entry| server::job(job_name(&entry), (entry.policy, entry.set), None, NAME);
    Ok(server::boot(1, entries().into_iter().map(job).collect()))
}

fn job_name(entry: &Entry) -> String {
    format!("web/{}", entry.name)
}

/// What clients measured under a scheduler.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was run.
    pub entry: Entry,
    /// All requests.
    pub all: Answers,
    /// Those for small pages.
    pub small: Answers,
}

/// In the order of [`entries`].
pub fn outcomes(records: &[Record]) -> Result<Vec<Outcome>> {
    let visits = visits();
    let outcome = |entry: Entry| {
        let visited = visited(records, &job_name(&entry), &visits)?;
        let all = Answers::of(&visits, &visited, WINDOW_US, |_| true);
        let small = Answers::of(&visits, &visited, WINDOW_US, is_small);
        Ok(Outcome { entry, all, small })
    };
    entries().into_iter().map(outcome).collect()
}

/// Which requests.
type Which = fn(&Outcome) -> f64;

/// What the paper says.
pub fn statements(outcomes: &[Outcome]) -> Vec<Statement> {
    let named = |name: &str, which: Which| {
        outcomes.iter().find(|o| o.entry.name == name).map_or(f64::NAN, which)
    };
    let pbs = |alpha, which| named(&format!("PBS, beta {}, alpha {alpha}", BETAS[0].0), which);
    let (low, high) = (LOW, HIGH);
    let (all, small): (Which, Which) = (|o| o.all.mean_ms(), |o| o.small.mean_ms());
    let ratio = |what: &str, most, found| Statement {
        what: what.to_owned(),
        wanted: Wanted::AtMost(most),
        found,
        unit: "",
        has_to: false,
    };
    // What alpha is for. The others compare schedulers by a few hundred requests.
    let has_to = |statement| Statement { has_to: true, ..statement };
    vec![
        has_to(ratio(
            "all requests: mean, ratio of the largest alpha to the smallest",
            1.0,
            pbs(high, all) / pbs(low, all),
        )),
        has_to(ratio(
            "small requests: mean, ratio of the largest alpha to the smallest",
            1.0,
            pbs(high, small) / pbs(low, small),
        )),
        ratio("all requests: ratio of O(1) to RR", 1.0, named("O(1)", all) / named("RR", all)),
        ratio(
            "small requests: ratio of O(1) to RR",
            1.0,
            named("O(1)", small) / named("RR", small),
        ),
        ratio(
            "all requests: ratio of PBS with the largest alpha to O(1)",
            1.0,
            pbs(high, all) / named("O(1)", all),
        ),
        ratio(
            "all requests: ratio of PBS with the largest alpha to RR",
            1.0,
            pbs(high, all) / named("RR", all),
        ),
        ratio(
            "small requests: ratio of PBS with the largest alpha to O(1)",
            1.1,
            pbs(high, small) / named("O(1)", small),
        ),
    ]
}

/// For the page, and for the terminal.
pub fn markdown(
    kernel: &str,
    server: &str,
    outcomes: &[Outcome],
    statements: &[Statement],
) -> String {
    let (requests, small) = outcomes.first().map_or((0, 0), |o| (o.all.count(), o.small.count()));
    let mut text = format!(
        "{kernel}, {server}. Under RR {requests} requests count, {small} of them small.\n\n{}\n\
         | scheduler | all (ms) | small (ms) | 95 % of the small within (ms) | CPU busy |\n\
         |---|--:|--:|--:|--:|\n",
        statement::markdown(statements)
    );
    for Outcome { entry, all, small } in outcomes {
        text += &format!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.0} % |\n",
            entry.name,
            all.mean_ms(),
            small.mean_ms(),
            small.quantile_ms(0.95),
            100.0 * all.busy
        );
    }
    text
}

/// Means by alpha, as the paper's figure has them: of all requests, and of small ones.
pub fn pictures(outcomes: &[Outcome]) -> [String; 2] {
    let (all, small): (Which, Which) = (|o| o.all.mean_ms(), |o| o.small.mean_ms());
    [chart(outcomes, "all requests", all), chart(outcomes, "small requests", small)]
}

fn chart(outcomes: &[Outcome], what: &str, which: Which) -> String {
    let alpha = |alpha: &str| alpha.parse::<f64>().unwrap_or(f64::NAN);
    let mut lines: Vec<Line> = Vec::new();
    for outcome in outcomes {
        let ms = which(outcome);
        let Some((beta, of)) = outcome.entry.knobs else {
            let points = [LOW, HIGH].map(|at| (alpha(at), ms)).to_vec();
            lines.push(Line { name: outcome.entry.name.clone(), points });
            continue;
        };
        let name = format!("PBS, beta {beta}");
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push((alpha(of), ms)),
            None => lines.push(Line { name, points: vec![(alpha(of), ms)] }),
        }
    }
    LineChart {
        title: format!("Apache in a kernel: mean response time, {what}"),
        description: format!("Mean response time of {what} by alpha, and under RR, O(1) and EEVDF"),
        x: Axis { label: "alpha".into(), scale: Scale::Logarithmic },
        y: Axis { label: "mean response time (ms)".into(), scale: Scale::Linear },
        lines,
    }
    .render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::problems;
    use rota_guest::visits::{Answer, Visited};

    /// Each request takes so many milliseconds, small ones and others.
    fn took(entry: &Entry) -> (u64, u64) {
        match (entry.knobs, entry.name.as_str()) {
            (Some((_, "0.2")), _) => (80, 300),
            (Some((_, "10")), _) => (20, 200),
            (Some(_), _) => (40, 250),
            (None, "O(1)") => (20, 250),
            (None, _) => (40, 260),
        }
    }

    fn records(took: impl Fn(&Entry) -> (u64, u64)) -> Vec<Record> {
        let visits = visits();
        let record = |entry: Entry| {
            let (small, other) = took(&entry);
            let answers = |own: &Vec<Visit>| {
                let answer = |visit: &Visit| Answer {
                    asked_us: 5_000_000,
                    took_us: 1_000 * if is_small(visit) { small } else { other },
                };
                own.iter().map(answer).collect()
            };
            let clients = visits.clients.iter().map(answers).collect();
            let output = serde_json::to_string(&Visited { busy: 0.7, clients }).unwrap();
            Record::Step {
                job: job_name(&entry),
                step: "2".into(),
                does: "run".into(),
                at_ns: 0,
                saw: serde_json::json!({ "output": output }),
            }
        };
        entries().into_iter().map(record).collect()
    }

    #[test]
    fn clients_think_for_a_second_and_small_pages_are_most() {
        let visits = visits();
        let all: Vec<&Visit> = visits.clients.iter().flatten().collect();
        let mean = all.iter().map(|visit| visit.think_us as f64).sum::<f64>() / all.len() as f64;
        assert!((mean / CUSTOMERS.think_us - 1.0).abs() < 0.15, "{mean}");
        // Below the mean are 1 - (1/6)^1.2 = 88 %.
        let small = all.iter().filter(|visit| is_small(visit)).count() as f64 / all.len() as f64;
        assert!((small - 0.88).abs() < 0.05, "{small}");
        assert_eq!(visits, super::visits());
    }

    #[test]
    fn what_is_as_in_the_paper_agrees_and_what_is_not_is_told() {
        let good = outcomes(&records(took)).unwrap();
        assert!(statements(&good).iter().all(|statement| statement.agrees() == Some(true)));
        let text = markdown("7.2", "Apache", &good, &statements(&good));
        assert!(text.contains("| 20.0 | 20.0 | 70 % |"), "{text}");

        let same = outcomes(&records(|_| (40, 200))).unwrap();
        assert!(statements(&same).iter().all(|statement| statement.agrees() == Some(true)));
        let worse = |entry: &Entry| match entry.knobs {
            Some((_, "10")) => (100, 400),
            _ => took(entry),
        };
        let worse = statements(&outcomes(&records(worse)).unwrap());
        let differ = worse.iter().filter(|statement| statement.agrees() == Some(false));
        assert_eq!(differ.count(), 5, "{worse:?}");
        let worse = problems(&worse);
        assert_eq!(worse.len(), 2, "{worse:?}");
        assert!(
            worse[0].starts_with("all requests: mean, ratio of the largest alpha"),
            "{worse:?}"
        );
    }

    #[test]
    fn lines_of_the_pictures_are_those_of_the_betas_and_the_others() {
        let [all, small] = pictures(&outcomes(&records(took)).unwrap());
        for name in ["RR", "O(1)", "PBS, beta 0", "PBS, beta -3", "PBS, beta +inf"] {
            assert!(all.contains(name) && small.contains(name), "{name}");
        }
    }
}
