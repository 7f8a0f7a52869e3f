// SPDX-License-Identifier: MIT OR Apache-2.0
//! Response times, as clients of a web server measured them.

use crate::verdict;
use anyhow::{ensure, Context, Result};
use rota_guest::record::Record;
use rota_guest::visits::{Answer, Visit, Visited, Visits};

/// What came of visits under a scheduler.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Part of the time that the server's CPU was busy.
    pub busy: f64,
    /// Those that count.
    took_us: Vec<u64>,
}

/// What a job's clients measured.
pub fn visited(records: &[Record], job: &str, visits: &Visits) -> Result<Visited> {
    let output = verdict::output_of(records, job)?;
    let visited: Visited =
        serde_json::from_str(output).with_context(|| format!("{job}: it printed {output}"))?;
    let (clients, expected) = (visited.clients.len(), visits.clients.len());
    ensure!(clients == expected, "{job}: there are {clients} clients, not {expected}");
    let more = |(answers, visits): (&Vec<Answer>, &Vec<Visit>)| answers.len() > visits.len();
    let more = visited.clients.iter().zip(&visits.clients).any(more);
    ensure!(!more, "{job}: there are more answers than visits");
    Ok(visited)
}

impl Answers {
    /// Those of visits asked for between two times, and of such a kind.
    pub fn of(
        visits: &Visits,
        visited: &Visited,
        (from_us, to_us): (u64, u64),
        kind: impl Fn(&Visit) -> bool,
    ) -> Self {
        let each = visits.clients.iter().zip(&visited.clients);
        let each = each.flat_map(|(visits, answers)| visits.iter().zip(answers));
        let counts = |(visit, answer): &(&Visit, &Answer)| {
            (from_us..to_us).contains(&answer.asked_us) && kind(visit)
        };
        let mut took_us: Vec<u64> = each.filter(counts).map(|(_, answer)| answer.took_us).collect();
        took_us.sort_unstable();
        Self { busy: visited.busy, took_us }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.took_us.len()
    }

    /// Mean in ms; NaN of none.
    pub fn mean_ms(&self) -> f64 {
        self.took_us.iter().sum::<u64>() as f64 / self.count() as f64 / 1e3
    }

    /// In ms, so that this part of them took no longer; NaN of none.
    pub fn quantile_ms(&self, part: f64) -> f64 {
        let rank = (part * self.count() as f64).ceil() as usize;
        self.took_us.get(rank.saturating_sub(1)).map_or(f64::NAN, |us| *us as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(path: &str) -> Visit {
        Visit { think_us: 1, path: path.into(), begins: String::new() }
    }

    fn both() -> (Visits, Visited) {
        let answer = |(asked_us, took_us)| Answer { asked_us, took_us };
        let visits = Visits {
            until_us: 9,
            clients: vec![vec![visit("a"), visit("b"), visit("a")], vec![visit("a"), visit("a")]],
        };
        let visited = Visited {
            busy: 0.5,
            clients: vec![
                [(10, 1_000), (20, 9_000), (30, 3_000)].map(answer).to_vec(),
                [(15, 5_000)].map(answer).to_vec(),
            ],
        };
        (visits, visited)
    }

    #[test]
    fn answers_belong_to_the_visits_that_asked() {
        let (visits, visited) = both();
        let all = Answers::of(&visits, &visited, (10, 31), |_| true);
        assert_eq!((all.count(), all.mean_ms()), (4, 4.5));
        let a = Answers::of(&visits, &visited, (11, 30), |visit| visit.path == "a");
        assert_eq!((a.count(), a.mean_ms()), (1, 5.0));
        // Ranks 2 and 4 of four.
        assert_eq!((all.quantile_ms(0.5), all.quantile_ms(0.99)), (3.0, 9.0));
        let none = Answers::of(&visits, &visited, (0, 1), |_| true);
        assert!(none.mean_ms().is_nan() && none.quantile_ms(0.5).is_nan());
    }

    #[test]
    fn what_does_not_fit_the_visits_is_told() {
        let (visits, visited) = both();
        let read = |visited: &Visited, visits: &Visits| {
            let output = serde_json::to_string(visited).unwrap();
            let saw = serde_json::json!({ "output": output });
            let (job, step, does) = ("web".into(), "1".into(), "run".into());
            let records = [Record::Step { job, step, does, at_ns: 0, saw }];
            super::visited(&records, "web", visits)
                .map(|_| ())
                .map_err(|error| format!("{error:#}"))
        };
        assert_eq!(read(&visited, &visits), Ok(()));
        let mut fewer = visits.clone();
        fewer.clients.pop();
        assert!(read(&visited, &fewer).unwrap_err().contains("2 clients, not 1"));
        fewer.clients.push(Vec::new());
        assert!(read(&visited, &fewer).unwrap_err().contains("more answers than visits"));
    }
}
