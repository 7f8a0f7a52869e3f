// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::extra;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const LOOK_NS: u64 = 50 * MS;
const PERSON: u32 = 1000;
const SERVICE: u32 = 33;

/// People have nothing beyond their share, services half a CPU.
const EXTRA: Extra = Extra { people_cpus: 0.0, services_cpus: 0.5 };

/// On a CPU that ten want: 100 ms fill the account, and from 6.25 ms on it is enough.
fn accounts(extra: Extra) -> Accounts {
    Accounts::new(People::default(), extra, 0)
}

fn with_one(uid: u32) -> Accounts {
    let mut accounts = accounts(EXTRA);
    accounts.enter(0, uid, 10.0);
    accounts
}

fn spell(cpu_ms: u64, wait_ms: u64) -> Spell {
    let (cpu_ns, wait_ns) = (cpu_ms * MS, wait_ms * MS);
    Spell { cpu_ns, wait_ns, running: 10.0, elevated: false, serves: false }
}

/// A look at the only thread: it used this much since the last one.
fn look(accounts: &mut Accounts, uid: u32, at_ms: u64, cpu_ms: u64) -> bool {
    let elevated = accounts.has_enough(uid);
    accounts.spend(uid, Spell { elevated, ..spell(cpu_ms, 0) });
    accounts.settle(at_ms * MS);
    accounts.has_enough(uid)
}

/// A tenth of the time is fair. Who uses a twentieth has 6.25 ms after 125 ms.
#[test]
fn who_uses_less_than_its_share_has_enough_after_a_while() {
    let mut accounts = with_one(PERSON);
    assert!(!look(&mut accounts, PERSON, 120, 6));
    assert!(look(&mut accounts, PERSON, 130, 0));
    // It has 7 and gets 5, of which it uses 45: it owes 33.
    assert!(!look(&mut accounts, PERSON, 180, 45));
    assert_eq!(accounts.left_ms(PERSON), Some(-33));
    // Those take 330 ms, in which it uses nothing, and 6.25 more 62.5.
    assert!(!look(&mut accounts, PERSON, 570, 0));
    assert!(look(&mut accounts, PERSON, 575, 0));
}

/// What the kernel gives it without us it does not owe.
#[test]
fn time_that_was_used_while_not_elevated_is_not_owed() {
    let mut accounts = with_one(PERSON);
    assert!(!look(&mut accounts, PERSON, 1000, 900));
    assert_eq!(accounts.left_ms(PERSON), Some(0));
    assert!(look(&mut accounts, PERSON, 1063, 0));
}

#[test]
fn a_debt_stays_when_the_thread_ends_and_is_paid_with_time() {
    let mut accounts = with_one(PERSON);
    assert!(look(&mut accounts, PERSON, 130, 6));
    look(&mut accounts, PERSON, 180, 45);
    accounts.leave(PERSON);
    // 7 + 5 - 45, and 20 more.
    accounts.settle(380 * MS);
    accounts.enter(380 * MS, PERSON, 10.0);
    assert_eq!(accounts.left_ms(PERSON), Some(-13));
    accounts.leave(PERSON);
    accounts.settle(511 * MS);
    assert_eq!(accounts.left_ms(PERSON), None, "nobody remembers who owes nothing");
}

/// Two that are runnable all the time have two parts of ten, and the same two in turns have one.
#[test]
fn threads_that_take_turns_are_one() {
    for (waits_ms, expected) in [(100, 20), (0, 10)] {
        let mut accounts = with_one(PERSON);
        accounts.enter(0, PERSON, 10.0);
        for _ in 0..2 {
            accounts.spend(PERSON, Spell { wait_ns: waits_ms * MS, ..spell(0, 0) });
        }
        accounts.settle(100 * MS);
        assert_eq!(accounts.left_ms(PERSON), Some(expected));
    }
}

/// 50 ms, of which 5 are its share, leave 45 to be drawn.
#[test]
fn what_a_server_uses_beyond_its_share_is_drawn_from_the_pool() {
    let mut accounts = with_one(SERVICE);
    accounts.enter(0, PERSON, 10.0);
    assert!(accounts.may_serve(SERVICE) && !accounts.may_serve(PERSON));
    accounts.spend(SERVICE, Spell { elevated: true, serves: true, ..spell(50, 0) });
    accounts.settle(LOOK_NS);
    assert!((accounts.extra_left(SERVICE) - (1.0 - 0.045 / 2.0)).abs() < 1e-9);
    assert_eq!(accounts.left_ms(SERVICE), Some(0), "the pool pays");
}

/// Somebody who does whatever they like.
#[derive(Clone, Debug)]
struct Actor {
    uid: u32,
    serves: bool,
    /// For how many ms it burns and sleeps, in turns.
    habit: Vec<(u32, u32)>,
}

fn actor() -> impl Strategy<Value = Actor> {
    let uid = prop_oneof![0u32..3, 1000u32..1003];
    (uid, any::<bool>(), prop::collection::vec((0u32..200, 0u32..200), 1..6))
        .prop_map(|(uid, serves, habit)| Actor { uid, serves, habit })
}

/// One of the model's threads.
struct Thread {
    uid: u32,
    serves: bool,
    /// `true` in each ms in which it wants the CPU.
    wants: Vec<bool>,
    elevated: bool,
    cpu_ms: u64,
    wait_ms: u64,
}

const MODEL_MS: usize = 20_000;

impl Thread {
    fn new(actor: &Actor) -> Self {
        let phases = actor.habit.iter().flat_map(|(burns, sleeps)| {
            let burns = std::iter::repeat_n(true, *burns as usize);
            burns.chain(std::iter::repeat_n(false, *sleeps as usize))
        });
        let once: Vec<bool> = phases.chain([false]).collect();
        let wants = once.iter().copied().cycle().take(MODEL_MS).collect();
        let Actor { uid, serves, .. } = *actor;
        Self { uid, serves, wants, elevated: false, cpu_ms: 0, wait_ms: 0 }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The bound that docs/boost.md states, in a model of one CPU: who is elevated has it before
    /// all others, and those who are alike take turns of a ms. Whatever the users' threads do and
    /// however many there are: what a user's threads have while elevated is no more than its
    /// share of all the time, and what is drawn from the pool, of which all users together have
    /// no more than its income. A user's share in each ms is one part of as many as want the
    /// CPU for each thread that does, at least one.
    #[test]
    fn a_user_has_no_more_than_its_share_and_its_part_of_the_pool(
        hogs in 8usize..30,
        actors in prop::collection::vec(actor(), 1..8),
        (people_cpus, services_cpus) in (0.0f64..0.5, 0.0f64..0.5),
    ) {
        let mut accounts = accounts(Extra { people_cpus, services_cpus });
        let mut threads: Vec<Thread> = actors.iter().map(Thread::new).collect();
        for thread in &threads {
            accounts.enter(0, thread.uid, (hogs + threads.len()) as f64);
        }
        let mut shares: HashMap<u32, f64> = HashMap::new();
        let mut elevated: HashMap<u32, f64> = HashMap::new();
        let mut turn = 0;
        for ms in 0..MODEL_MS {
            let wanting: Vec<usize> = (0..threads.len()).filter(|t| threads[*t].wants[ms]).collect();
            // The most that a thread may say wants its CPU, and the fewest.
            let running = (hogs + wanting.len().max(1)) as f64;
            let first: Vec<usize> =
                wanting.iter().copied().filter(|t| threads[*t].elevated).collect();
            turn += 1;
            let runs = match first.len() {
                0 => wanting.get(turn % (wanting.len() + hogs)).copied(),
                n => Some(first[turn % n]),
            };
            for t in &wanting {
                let thread = &mut threads[*t];
                let has = u64::from(runs == Some(*t));
                thread.cpu_ms += has;
                thread.wait_ms += 1 - has;
                if thread.elevated {
                    *elevated.entry(thread.uid).or_default() += has as f64 * 1e6;
                }
            }
            let uids: std::collections::HashSet<u32> = threads.iter().map(|t| t.uid).collect();
            for uid in uids {
                let own = wanting.iter().filter(|t| threads[**t].uid == uid).count().max(1);
                *shares.entry(uid).or_default() += own as f64 / (hogs + 1) as f64 * 1e6;
            }
            let now_ns = (ms as u64 + 1) * MS;
            if now_ns % LOOK_NS == 0 {
                for thread in &mut threads {
                    let Thread { uid, serves, elevated, .. } = *thread;
                    let spell = Spell { running, elevated, serves, ..spell(thread.cpu_ms, thread.wait_ms) };
                    (thread.cpu_ms, thread.wait_ms) = (0, 0);
                    accounts.spend(uid, spell);
                }
                accounts.settle(now_ns);
                for thread in &mut threads {
                    thread.elevated = match thread.serves {
                        true => accounts.may_serve(thread.uid),
                        false => accounts.has_enough(thread.uid),
                    };
                }
            }
        }
        let time_ns = MODEL_MS as f64 * 1e6;
        let mut drawn = [0.0; 2];
        for (uid, had_ns) in elevated {
            let person = People::default().has(uid);
            let beyond_ns = (had_ns - shares[&uid]).max(0.0);
            drawn[usize::from(person)] += beyond_ns;
        }
        for (drawn_ns, cpus) in drawn.into_iter().zip([services_cpus, people_cpus]) {
            // What all use in one look may be more than there was.
            let most_ns = cpus * (time_ns + extra::DEPTH_NS) + 6.0 * LOOK_NS as f64;
            prop_assert!(drawn_ns <= most_ns, "{drawn_ns} of {most_ns}");
        }
    }
}
