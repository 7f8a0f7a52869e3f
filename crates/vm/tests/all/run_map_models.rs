// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hash maps under random operations, against collections of the standard library.

use crate::run_support::map;
use crate::run_support::operated::operated;
use proptest::prelude::*;
use rota_object::image::{map_type, MapId};
use std::collections::{BTreeMap, VecDeque};

const E2BIG: i64 = -7;
const ENOENT: i64 = -2;
const EEXIST: i64 = -17;

#[derive(Clone, Debug)]
enum Action {
    Lookup(u64),
    Update(u64, u64, u64),
    Delete(u64),
}

fn action() -> impl Strategy<Value = Action> {
    let key = 0u64..12;
    prop_oneof![
        key.clone().prop_map(Action::Lookup),
        (key.clone(), 0u64..1000, 0u64..3).prop_map(|(k, v, f)| Action::Update(k, v, f)),
        key.prop_map(Action::Delete),
    ]
}

/// An LRU map by the book: keys from least to most recently used.
#[derive(Default)]
struct LruModel(VecDeque<(u64, u64)>);

impl LruModel {
    fn take(&mut self, key: u64) -> Option<u64> {
        let at = self.0.iter().position(|entry| entry.0 == key)?;
        self.0.remove(at).map(|entry| entry.1)
    }
}

proptest! {
    #[test]
    fn hash_behaves_like_a_map_with_a_limit(actions in prop::collection::vec(action(), 1..120)) {
        let mut m = operated(map("h", map_type::HASH, 8, 8, 6));
        let mut model = BTreeMap::new();
        for action in actions {
            match action {
                Action::Lookup(key) => {
                    prop_assert_eq!(m.lookup(key), model.get(&key).map_or(-1, |&value: &u64| value as i64));
                }
                Action::Update(key, value, flags) => {
                    let expected = match (model.contains_key(&key), flags) {
                        (true, 1) => EEXIST,
                        (false, 2) => ENOENT,
                        (false, _) if model.len() == 6 => E2BIG,
                        _ => {
                            model.insert(key, value);
                            0
                        }
                    };
                    prop_assert_eq!(m.update(key, value, flags), expected);
                }
                Action::Delete(key) => {
                    let expected = if model.remove(&key).is_some() { 0 } else { ENOENT };
                    prop_assert_eq!(m.delete(key), expected);
                }
            }
            let mut keys: Vec<u64> = m.runtime.map_keys(&mut m.host, MapId(0)).iter()
                .map(|key| u64::from_le_bytes(key[..].try_into().unwrap())).collect();
            keys.sort_unstable();
            prop_assert!(keys.iter().eq(model.keys()));
        }
    }

    #[test]
    fn lru_hash_drops_the_least_recently_used(actions in prop::collection::vec(action(), 1..120)) {
        let mut m = operated(map("l", map_type::LRU_HASH, 8, 8, 4));
        let mut model = LruModel::default();
        for action in actions {
            match action {
                Action::Lookup(key) => {
                    let found = model.take(key);
                    model.0.extend(found.map(|value| (key, value)));
                    prop_assert_eq!(m.lookup(key), found.map_or(-1, |value| value as i64));
                }
                Action::Update(key, value, _) => {
                    if model.take(key).is_none() && model.0.len() == 4 {
                        model.0.pop_front();
                    }
                    model.0.push_back((key, value));
                    prop_assert_eq!(m.update(key, value, 0), 0);
                }
                Action::Delete(key) => {
                    let expected = if model.take(key).is_some() { 0 } else { ENOENT };
                    prop_assert_eq!(m.delete(key), expected);
                }
            }
            let mut keys: Vec<u64> = m.runtime.map_keys(&mut m.host, MapId(0)).iter()
                .map(|key| u64::from_le_bytes(key[..].try_into().unwrap())).collect();
            keys.sort_unstable();
            let mut expected: Vec<u64> = model.0.iter().map(|entry| entry.0).collect();
            expected.sort_unstable();
            prop_assert_eq!(keys, expected);
        }
    }
}
