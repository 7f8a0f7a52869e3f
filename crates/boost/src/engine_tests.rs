// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine with threads whose behaviour is written down.

use super::*;
use crate::record::Kind;
use crate::table::Family;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// J = 12 on two CPUs: 6 per CPU, of Table 1 nice -7 for UNIX, -4 for network sockets.
const LOAD: u32 = 6 * table::LOAD_ONE + 1;

fn settings() -> Settings {
    Settings {
        request_cpu_ns: 200 * MS,
        limits: Limits { quiet_ns: 100 * MS, open_ns: 10_000 * MS },
    }
}

fn event(tid: u32, time_ms: u64) -> Event {
    let kind = Kind::Request;
    let (relation, peer, uid) = (0, 99, 1000);
    let (family, autogroup) = (Family::Unix, 0);
    Event { time_ns: time_ms * MS, kind, family, tid, tgid: tid, uid, relation, peer, autogroup }
}

fn times(cpu_ms: u64, wait_ms: u64) -> Times {
    Times { cpu_ns: cpu_ms * MS, wait_ns: wait_ms * MS }
}

#[test]
fn a_request_is_boosted_until_its_answer_has_decayed() {
    let mut engine = Engine::new(settings());
    assert_eq!(engine.event(0, event(1, 0), LOAD, times(0, 0), Facts::default()), Ok(-7));
    let open = Facts { open: true, ..Facts::default() };
    assert_eq!(engine.look(50 * MS, 1, Some(open), Some(times(10, 0)), LOAD), Step::Nice(-7));
    // Sent at 60 ms; the delay at this load is 600 ms, after 100 ms of quiet.
    let sent = Facts { send_ns: 60 * MS, answers: 1, ..Facts::default() };
    let mut look = |at: u64| engine.look(at * MS, 1, Some(sent), Some(times(15, 0)), LOAD);
    assert_eq!(look(100), Step::Nice(-7));
    assert_eq!(look(761), Step::Nice(-6));
    assert_eq!(look(4300), Step::Nice(-1));
    assert_eq!(look(4360), Step::Release(Why::Decayed));
    assert_eq!(look(4400), Step::Release(Why::Ended), "not known any more");
}

#[test]
fn no_boost_while_the_load_is_low() {
    let mut engine = Engine::new(settings());
    assert_eq!(
        engine.event(0, event(1, 0), 1600, times(0, 0), Facts::default()),
        Err(Why::LowLoad)
    );
    assert!(engine.boosted().is_empty());
}

#[test]
fn an_offender_is_barred_and_then_gets_another_chance() {
    let mut engine = Engine::new(settings());
    engine.event(0, event(1, 0), LOAD, times(0, 0), Facts::default()).expect("boosted");
    let open = Facts { open: true, ..Facts::default() };
    let step = engine.look(250 * MS, 1, Some(open), Some(times(250, 0)), LOAD);
    assert_eq!(step, Step::Release(Why::Offence(Offence::Unanswered(250 * MS))));
    let mut again = |at| engine.event(at * MS, event(1, at), LOAD, times(0, 0), Facts::default());
    assert_eq!(again(300), Err(Why::Barred(9950)));
    assert_eq!(again(10_251), Ok(-7));
}

#[test]
fn who_owed_an_answer_and_gave_it_is_boosted_again() {
    let mut engine = Engine::new(settings());
    engine.event(0, event(1, 0), LOAD, times(0, 0), Facts::default()).expect("boosted");
    let open = Facts { open: true, ..Facts::default() };
    let step = engine.look(250 * MS, 1, Some(open), Some(times(250, 0)), LOAD);
    assert!(matches!(step, Step::Release(Why::Offence(_))));
    let answered = Facts { answers: 1, ..Facts::default() };
    assert_eq!(engine.event(300 * MS, event(1, 300), LOAD, times(0, 0), answered), Ok(-7));
}

#[test]
fn who_was_set_up_by_a_person_is_not_asked_all_the_time() {
    let mut engine = Engine::new(settings());
    engine.event(0, event(1, 0), LOAD, times(0, 0), Facts::default()).expect("wanted");
    engine.refused(0, 1);
    assert_eq!(
        engine.event(9_000 * MS, event(1, 0), LOAD, times(0, 0), Facts::default()),
        Err(Why::Settings)
    );
    assert_eq!(engine.event(10_000 * MS, event(1, 0), LOAD, times(0, 0), Facts::default()), Ok(-7));
}

proptest! {
    /// Whatever threads do: nice values stay in the table, and nobody stays boosted for ever
    /// after the last event.
    #[test]
    fn every_boost_ends(
        load in 1601u32..100_000,
        looks in prop::collection::vec((1u64..100, 0u64..100, any::<bool>(), any::<bool>()), 0..60),
    ) {
        let mut engine = Engine::new(settings());
        prop_assert!(engine.event(0, event(1, 0), load, times(0, 0), Facts::default()).is_ok());
        let (mut now, mut cpu, mut facts) = (0, 0, Facts::default());
        for (wall, busy, open, answered) in looks {
            now += wall;
            cpu += busy.min(wall);
            facts.open = open;
            facts.answers += u32::from(answered);
            if answered { facts.send_ns = now * MS; }
            match engine.look(now * MS, 1, Some(facts), Some(times(cpu, 0)), load) {
                Step::Nice(nice) => prop_assert!((-15..0).contains(&nice)),
                Step::Release(_) => return Ok(()),
            }
        }
        // Given up after 10 s, and then at most 15 levels of 600 ms.
        let end = now + 10_000 + 100 + 15 * 600;
        let step = engine.look(end * MS, 1, Some(facts), Some(times(cpu, 0)), load);
        prop_assert!(matches!(step, Step::Release(_)), "{:?}", step);
        engine.tidy(end * MS + 1);
        prop_assert!(engine.boosted().is_empty());
    }
}
