// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger against threads that only exist here.

use super::*;
use proptest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;

const DEFAULT_NS: u64 = 2_800_000;
const ORDINARY: Attr = Attr { policy: 0, flags: 0, nice: 0, slice_ns: DEFAULT_NS };

/// Threads by id, as a kernel keeps them: a slice of 0 becomes the default.
#[derive(Clone, Debug, Default)]
struct Fake {
    attrs: Rc<RefCell<HashMap<u32, Attr>>>,
    out_of_descriptors: Rc<Cell<bool>>,
}

impl Fake {
    fn with(tid: u32, attr: Attr) -> Self {
        let fake = Self::default();
        fake.attrs.borrow_mut().insert(tid, attr);
        fake
    }

    fn of(&self, tid: u32) -> Attr {
        self.attrs.borrow()[&tid]
    }

    fn nice(&self, tid: u32, nice: i32) {
        self.attrs.borrow_mut().get_mut(&tid).expect("a thread").nice = nice;
    }
}

impl Threads for Fake {
    fn attr(&self, tid: u32) -> io::Result<Attr> {
        let gone = || io::Error::from_raw_os_error(libc::ESRCH);
        self.attrs.borrow().get(&tid).copied().ok_or_else(gone)
    }

    fn set(&self, tid: u32, attr: &Attr) -> io::Result<()> {
        let now = self.attr(tid)?;
        if !attr.takes_nice() {
            // As __setscheduler_params(): the nice value is left for later.
            self.attrs.borrow_mut().insert(tid, Attr { nice: now.nice, ..*attr });
            return Ok(());
        }
        let slice_ns = if attr.slice_ns == 0 { DEFAULT_NS } else { attr.slice_ns };
        self.attrs.borrow_mut().insert(tid, Attr { slice_ns, ..*attr });
        Ok(())
    }

    fn renice(&self, tid: u32, nice: i32) -> io::Result<()> {
        self.attr(tid)?;
        self.nice(tid, nice);
        Ok(())
    }

    fn started(&self, tid: u32) -> io::Result<u64> {
        if self.out_of_descriptors.get() {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        self.attr(tid).map(|_| u64::from(tid) + 7)
    }
}

fn ledger(threads: &Fake) -> Ledger<Fake> {
    Ledger::new(threads.clone(), None, DEFAULT_NS)
}

#[test]
fn a_boost_is_nice_and_slice_and_not_for_children() {
    let threads = Fake::with(1, ORDINARY);
    let mut ledger = ledger(&threads);
    ledger.boost(1, -7).expect("boosted");
    let expected = Attr { policy: 0, flags: RESET_ON_FORK, nice: -7, slice_ns: 100_000 };
    assert_eq!(threads.of(1), expected);
    ledger.boost(1, -6).expect("changed");
    assert_eq!(threads.of(1).nice, -6);
    ledger.release(1).expect("released");
    assert_eq!(threads.of(1), ORDINARY);
}

#[test]
fn who_was_changed_by_a_person_is_not_touched() {
    for attr in [
        Attr { nice: 5, ..ORDINARY },
        Attr { nice: -5, ..ORDINARY },
        Attr { slice_ns: 1_000_000, ..ORDINARY },
        Attr { policy: 3, ..ORDINARY },
        Attr { policy: 1, ..ORDINARY },
    ] {
        let threads = Fake::with(1, attr);
        let mut ledger = ledger(&threads);
        assert!(matches!(ledger.boost(1, -7), Err(Refusal::SetByPerson(found)) if found == attr));
        assert_eq!((threads.of(1), ledger.len()), (attr, 0));
    }
}

/// A boosted thread that sets this at nice -7; what it has after its release.
fn after_setting(own: Attr) -> Attr {
    let threads = Fake::with(1, ORDINARY);
    let mut ledger = ledger(&threads);
    ledger.boost(1, -7).expect("boosted");
    threads.attrs.borrow_mut().insert(1, own);
    ledger.release(1).expect("released");
    threads.of(1)
}

const BOOSTED: Attr = Attr { policy: 0, flags: RESET_ON_FORK, nice: -7, slice_ns: SHORT_SLICE_NS };

#[test]
fn a_better_nice_value_than_before_does_not_outlive_the_boost_under_any_policy() {
    for nice in [-7, -6, -1] {
        assert_eq!(after_setting(Attr { nice, ..BOOSTED }), ORDINARY);
        let batch = Attr { policy: 3, nice, ..BOOSTED };
        assert_eq!(after_setting(batch), Attr { policy: 3, ..ORDINARY });
        for policy in [1, 2, 5, 6] {
            let other = Attr { policy, nice, slice_ns: 0, ..BOOSTED };
            let after = after_setting(other);
            assert_eq!((after.policy, after.nice), (policy, 0), "{other:?}");
            // Real-time threads had to ask for the flag themselves.
            assert_eq!(after.flags, if policy == 5 { 0 } else { RESET_ON_FORK });
        }
    }
}

#[test]
fn a_nice_value_a_policy_and_a_slice_that_it_sets_stay_if_they_are_not_better() {
    let worse = Attr { nice: 10, ..BOOSTED };
    assert_eq!(after_setting(worse), Attr { nice: 10, ..ORDINARY }, "slice and flag go");
    let batch = Attr { policy: 3, nice: 4, slice_ns: 5_000_000, ..BOOSTED };
    assert_eq!(after_setting(batch), Attr { flags: 0, ..batch });
    let slice = Attr { slice_ns: 5_000_000, ..BOOSTED };
    assert_eq!(after_setting(slice), Attr { slice_ns: 5_000_000, ..ORDINARY });
}

#[test]
fn who_set_a_nice_value_is_not_boosted_on_and_a_slice_stays_through_other_boosts() {
    let threads = Fake::with(1, ORDINARY);
    let mut ledger = ledger(&threads);
    ledger.boost(1, -7).expect("boosted");
    threads.nice(1, 10);
    assert!(matches!(ledger.boost(1, -6), Err(Refusal::SetByPerson(_))));
    assert_eq!(threads.of(1), Attr { nice: 10, ..ORDINARY });
    assert!(ledger.is_empty());

    threads.attrs.borrow_mut().insert(1, ORDINARY);
    ledger.boost(1, -7).expect("boosted");
    threads.attrs.borrow_mut().insert(1, Attr { slice_ns: 5_000_000, ..BOOSTED });
    ledger.boost(1, -6).expect("changed");
    assert_eq!(threads.of(1), Attr { nice: -6, slice_ns: 5_000_000, ..BOOSTED });
}

#[test]
fn who_ended_is_forgotten() {
    let threads = Fake::with(1, ORDINARY);
    let mut ledger = ledger(&threads);
    ledger.boost(1, -7).expect("boosted");
    threads.attrs.borrow_mut().clear();
    assert!(matches!(ledger.boost(1, -6), Err(Refusal::Gone)));
    assert!(ledger.is_empty() && matches!(ledger.boost(1, -6), Err(Refusal::Gone)));
}

/// Without descriptors nobody can tell whether it is still the same thread: it has not ended.
#[test]
fn what_cannot_be_given_back_is_tried_again_and_stays_in_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("boost.saved");
    let threads = Fake::with(1, ORDINARY);
    let (mut file, _) = SavedFile::open(&path).expect("made");
    file.clear().expect("cleared");
    let mut ledger = Ledger::new(threads.clone(), Some(file), DEFAULT_NS);
    ledger.boost(1, -7).expect("boosted");
    threads.out_of_descriptors.set(true);
    assert!(matches!(ledger.release(1), Err(Refusal::Failed(_))));
    assert!(matches!(ledger.release_all()[..], [(1, Refusal::Failed(_))]));
    assert_eq!(SavedFile::open(&path).expect("opened").1.len(), 1, "for a repair");

    threads.out_of_descriptors.set(false);
    assert!(ledger.retry().is_empty());
    assert_eq!(threads.of(1), ORDINARY);
    assert_eq!(SavedFile::open(&path).expect("opened").1, []);
}

#[test]
fn after_a_kill_the_file_takes_it_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("boost.saved");
    let threads = Fake::with(1, ORDINARY);
    threads.attrs.borrow_mut().insert(2, ORDINARY);
    let (mut file, _) = SavedFile::open(&path).expect("made");
    file.clear().expect("cleared");
    let mut ledger = Ledger::new(threads.clone(), Some(file), DEFAULT_NS);
    ledger.boost(1, -7).expect("boosted");
    ledger.boost(1, -5).expect("changed");
    ledger.boost(2, -4).expect("boosted");
    ledger.release(2).expect("released");
    std::mem::forget(ledger); // kill -9

    let (_, left) = SavedFile::open(&path).expect("opened");
    assert_eq!(left.iter().map(|s| (s.tid, s.nice)).collect::<Vec<_>>(), [(1, -5)]);
    assert!(restore(&threads, &left[0]).expect("restored"));
    assert_eq!(threads.of(1), ORDINARY);
    let other = Saved { started: 1, ..left[0] };
    assert!(matches!(restore(&threads, &other), Err(Refusal::Gone)), "another thread's id");
}

/// What a thread can do to itself without privileges, by `sched(7)`.
#[derive(Clone, Debug)]
enum Act {
    Boost(i32),
    Release,
    /// To a nice value that is no better.
    Nicer(i32),
    /// Nice value, slice, and the flag that it cannot clear.
    Policy(u32, i32, u64),
    Fork,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (-20i32..0).prop_map(Act::Boost),
        Just(Act::Release),
        (0i32..40).prop_map(Act::Nicer),
        (prop::sample::select(vec![0, 1, 3, 5, 6, 7]), 0i32..40, 100_000u64..9_000_000)
            .prop_map(|(policy, by, slice)| Act::Policy(policy, by, slice)),
        Just(Act::Fork),
    ]
}

/// As `sched_fork()`: with the flag a child has neither a real-time policy nor a negative nice.
fn child_of(parent: Attr) -> Attr {
    match parent.flags & RESET_ON_FORK {
        0 => parent,
        _ if matches!(parent.policy, 1 | 2 | 6) => Attr { policy: 0, flags: 0, nice: 0, ..parent },
        _ => Attr { flags: 0, nice: parent.nice.max(0), ..parent },
    }
}

proptest! {
    /// Whatever the sequence of boosts: afterwards all is as before.
    #[test]
    fn release_undoes_everything(steps in prop::collection::vec((0u32..4, -20i32..0, any::<bool>()), 0..60)) {
        let threads = Fake::default();
        for tid in 0..4 {
            let nice = if tid == 3 { 4 } else { 0 };
            threads.attrs.borrow_mut().insert(tid, Attr { nice, ..ORDINARY });
        }
        let before = threads.attrs.borrow().clone();
        let mut ledger = ledger(&threads);
        for (tid, nice, release) in steps {
            let _ = if release { ledger.release(tid) } else { ledger.boost(tid, nice) };
        }
        prop_assert!(ledger.release_all().is_empty());
        prop_assert_eq!(&*threads.attrs.borrow(), &before);
    }

    /// Whatever a thread does to itself while it is boosted: no thread has a negative nice value
    /// after that, be the daemon's end its own or a kill.
    #[test]
    fn nobody_gains_by_what_they_set(acts in prop::collection::vec(act(), 0..40), killed: bool) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("boost.saved");
        let threads = Fake::with(0, ORDINARY);
        let (mut file, _) = SavedFile::open(&path).expect("made");
        file.clear().expect("cleared");
        let mut ledger = Ledger::new(threads.clone(), Some(file), DEFAULT_NS);
        for act in acts {
            let now = threads.of(0);
            let own = |attr| threads.attrs.borrow_mut().insert(0, attr);
            match act {
                Act::Boost(nice) => drop(ledger.boost(0, nice)),
                Act::Release => ledger.release(0).expect("alive"),
                Act::Nicer(by) => threads.nice(0, (now.nice + by).min(19)),
                Act::Policy(policy, by, slice_ns) => {
                    let next = Attr { policy, nice: (now.nice + by).min(19), slice_ns, ..now };
                    let nice = if next.takes_nice() { next.nice } else { now.nice };
                    let _ = own(Attr { nice, ..next });
                }
                Act::Fork => {
                    let tid = threads.attrs.borrow().len() as u32;
                    threads.attrs.borrow_mut().insert(tid, child_of(now));
                }
            }
        }
        if killed {
            std::mem::forget(ledger);
            let (_, left) = SavedFile::open(&path).expect("opened");
            left.iter().for_each(|saved| drop(restore(&threads, saved)));
        } else {
            prop_assert!(ledger.release_all().is_empty());
        }
        for (tid, attr) in threads.attrs.borrow().iter() {
            prop_assert!(attr.nice >= 0, "thread {} has {:?}", tid, attr);
        }
    }
}
