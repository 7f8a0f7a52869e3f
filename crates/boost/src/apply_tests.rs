// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger against threads that only exist here.

use super::*;
use proptest::prelude::*;
use std::rc::Rc;

const DEFAULT_NS: u64 = 2_800_000;
const ORDINARY: Attr = Attr { policy: 0, flags: 0, nice: 0, slice_ns: DEFAULT_NS };

/// Threads by id, as a kernel keeps them: a slice of 0 becomes the default.
#[derive(Clone, Debug, Default)]
struct Fake(Rc<RefCell<HashMap<u32, Attr>>>);

impl Fake {
    fn with(tid: u32, attr: Attr) -> Self {
        let fake = Self::default();
        fake.0.borrow_mut().insert(tid, attr);
        fake
    }

    fn of(&self, tid: u32) -> Attr {
        self.0.borrow()[&tid]
    }

    fn nice(&self, tid: u32, nice: i32) {
        self.0.borrow_mut().get_mut(&tid).expect("a thread").nice = nice;
    }
}

impl Threads for Fake {
    fn attr(&self, tid: u32) -> io::Result<Attr> {
        let gone = || io::Error::from_raw_os_error(libc::ESRCH);
        self.0.borrow().get(&tid).copied().ok_or_else(gone)
    }

    fn set(&self, tid: u32, attr: &Attr) -> io::Result<()> {
        self.attr(tid)?;
        let slice_ns = if attr.slice_ns == 0 { DEFAULT_NS } else { attr.slice_ns };
        self.0.borrow_mut().insert(tid, Attr { slice_ns, ..*attr });
        Ok(())
    }

    fn started(&self, tid: u32) -> Option<u64> {
        self.attr(tid).is_ok().then_some(u64::from(tid) + 7)
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

#[test]
fn what_a_person_changes_meanwhile_stays() {
    let threads = Fake::with(1, ORDINARY);
    let mut ledger = ledger(&threads);
    ledger.boost(1, -7).expect("boosted");
    threads.nice(1, 10);
    assert!(matches!(ledger.boost(1, -6), Err(Refusal::SetByPerson(_))));
    assert_eq!(threads.of(1), Attr { nice: 10, ..ORDINARY }, "slice and flag are taken back");
    assert!(ledger.is_empty());

    let threads = Fake::with(2, ORDINARY);
    let mut ledger = self::ledger(&threads);
    ledger.boost(2, -7).expect("boosted");
    let batch = Attr { policy: 3, ..threads.of(2) };
    threads.0.borrow_mut().insert(2, batch);
    ledger.release(2).expect("left alone");
    assert_eq!(threads.of(2), batch);
}

#[test]
fn who_ended_is_forgotten() {
    let threads = Fake::with(1, ORDINARY);
    let mut ledger = ledger(&threads);
    ledger.boost(1, -7).expect("boosted");
    threads.0.borrow_mut().clear();
    assert!(matches!(ledger.boost(1, -6), Err(Refusal::Gone)));
    assert!(ledger.is_empty() && matches!(ledger.boost(1, -6), Err(Refusal::Gone)));
}

#[test]
fn after_a_kill_the_file_takes_it_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("boost.saved");
    let threads = Fake::with(1, ORDINARY);
    threads.0.borrow_mut().insert(2, ORDINARY);
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

proptest! {
    /// Whatever the sequence of boosts: afterwards all is as before.
    #[test]
    fn release_undoes_everything(steps in prop::collection::vec((0u32..4, -20i32..0, any::<bool>()), 0..60)) {
        let threads = Fake::default();
        for tid in 0..4 {
            let nice = if tid == 3 { 4 } else { 0 };
            threads.0.borrow_mut().insert(tid, Attr { nice, ..ORDINARY });
        }
        let before = threads.0.borrow().clone();
        let mut ledger = ledger(&threads);
        for (tid, nice, release) in steps {
            let _ = if release { ledger.release(tid) } else { ledger.boost(tid, nice) };
        }
        prop_assert!(ledger.release_all().is_empty());
        prop_assert_eq!(&*threads.0.borrow(), &before);
    }
}
