// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types whose structs begin with some of their members: who keeps these alone needs no bytes for
//! the others.

use super::types::HEADER;
use super::{Btf, Composite, Kind, Member, Type, TypeId, MAX_DEPTH};
use std::cell::Cell;

/// Members that a struct is to begin with.
#[derive(Clone, Debug, Default)]
pub struct Front<'a> {
    /// The struct.
    pub structure: &'a str,
    /// Paths of members, as [`Btf::member_at`] takes them: what they begin with is moved as a whole.
    pub paths: Vec<&'a str>,
    /// The one of these that comes last, as a part of it may be enough.
    pub last: Option<&'a str>,
}

/// What other types have to do with each, by id.
struct Others {
    /// How many hold it by value.
    holders: Vec<u32>,
    /// A member of it has a tag.
    tagged: Vec<bool>,
    /// Members that may still be looked at inside nameless ones: hostile types nest those endlessly.
    budget: Cell<u32>,
}

const SEARCH_BUDGET: u32 = 1_000_000;

/// Where what follows the front begins, a multiple of this.
const LINE_BYTES: u32 = 64;

/// Bytes of a member in an encoded struct: name, type, place.
const MEMBER: usize = 12;

/// A member to be placed.
struct Placed {
    bytes: [u8; MEMBER],
    bit_offset: u32,
}

impl Btf {
    /// The same types by the same ids; some structs begin with some of their members, in their order,
    /// and have all others behind them, as far from each other as before. So these structs grow.
    /// A struct that another one holds by value stays as it is, and so does one whose members have
    /// tags. Several of one name are all changed.
    #[must_use]
    pub fn with_front(&self, fronts: &[Front<'_>]) -> Btf {
        let (types, starts, strings) =
            (self.types.clone(), self.starts.clone(), self.strings.clone());
        let mut btf = Btf { reduced: self.reduced, ..Btf::new(types, starts, strings) };
        let others = self.others();
        for id in self.ids().filter(|id| self.kind(*id) == Kind::Struct) {
            let name = self.name(id);
            let front = fronts.iter().find(|front| front.structure == name);
            if let Some(front) = front.filter(|_| others.holders[id.0 as usize] == 0) {
                btf.bring_forward(id, front, &others, 0);
            }
        }
        btf
    }

    fn others(&self) -> Others {
        let mut others = Others {
            holders: vec![0; self.len()],
            tagged: vec![false; self.len()],
            budget: Cell::new(SEARCH_BUDGET),
        };
        for id in self.ids() {
            let mut hold = |ty: TypeId| others.holders[self.resolve(ty).0 as usize] += 1;
            match self.get(id) {
                Type::Struct(c) | Type::Union(c) => c.members().for_each(|m| hold(m.ty)),
                Type::Array(array) => hold(array.elem),
                Type::DeclTag(tag) if tag.component >= 0 => {
                    others.tagged[tag.target.0 as usize] = true;
                }
                _ => {}
            }
        }
        others
    }

    fn bring_forward(&mut self, id: TypeId, front: &Front<'_>, others: &Others, depth: u32) {
        let Type::Struct(c) = self.get(id) else { return };
        if depth == MAX_DEPTH || others.tagged[id.0 as usize] {
            return;
        }
        // A struct without a name belongs to the one around it.
        let inner: Vec<TypeId> = (c.members())
            .filter(|m| m.name.is_empty() && self.leads_to(m.ty, front, (others, 0)))
            .map(|m| self.resolve(m.ty))
            .filter(|ty| others.holders[ty.0 as usize] == 1)
            .collect();
        for ty in inner {
            self.bring_forward(ty, front, others, depth + 1);
        }
        if let Some((placed, size)) = self.placed(id, front, others) {
            self.put(id, &placed, size);
        }
    }

    /// The members in their new order, and the new size; `None` if there is nothing to move.
    fn placed(&self, id: TypeId, front: &Front<'_>, others: &Others) -> Option<(Vec<Placed>, u32)> {
        let Type::Struct(c) = self.get(id) else { return None };
        let is_last = |name: &str| front.last.is_some_and(|last| first_step(last) == name);
        let is_wanted = |m: Member<'_>| {
            let leads = match m.name {
                "" => self.leads_to(m.ty, front, (others, 0)),
                name => front.paths.iter().any(|path| first_step(path) == name),
            };
            (leads && m.bits == 0 && m.bit_offset % 8 == 0).then_some(())?;
            self.size_of(m.ty).filter(|size| *size > 0)
        };
        let mut wanted: Vec<(usize, u32)> =
            c.members().enumerate().filter_map(|(n, m)| Some((n, is_wanted(m)?))).collect();
        wanted.sort_by_key(|(n, _)| c.member(*n).is_some_and(|m| is_last(m.name)));
        let mut placed = Vec::with_capacity(c.len());
        let mut end: u32 = 0;
        for (n, size) in &wanted {
            let m = c.member(*n)?;
            let align = match m.bit_offset / 8 {
                0 => 8,
                offset => 1 << offset.trailing_zeros().min(3),
            };
            let at = end.checked_next_multiple_of(align)?;
            placed.push(Placed { bytes: c.encoded(*n)?, bit_offset: at.checked_mul(8)? });
            end = at.checked_add(*size)?;
        }
        let end = end.checked_next_multiple_of(LINE_BYTES)?;
        for (n, m) in c.members().enumerate() {
            if wanted.iter().all(|(of, _)| *of != n) {
                let bit_offset = m.bit_offset.checked_add(end.checked_mul(8)?)?;
                placed.push(Placed { bytes: c.encoded(n)?, bit_offset });
            }
        }
        // Where members have bits, places have less of them.
        let most = if c.bitfields { 1 << 24 } else { u32::MAX };
        let fits = placed.iter().all(|member| member.bit_offset < most);
        (fits && !wanted.is_empty()).then_some((placed, end.checked_add(c.size)?))
    }

    /// Whether a struct or union without a name has what begins one of the paths.
    fn leads_to(&self, ty: TypeId, front: &Front<'_>, (others, depth): (&Others, u32)) -> bool {
        let (Type::Struct(c) | Type::Union(c)) = self.resolved(ty) else { return false };
        let may_look = || {
            let left = others.budget.get();
            others.budget.set(left.saturating_sub(1));
            left > 0
        };
        depth < MAX_DEPTH
            && c.members().take_while(|_| may_look()).any(|m| match m.name {
                "" => self.leads_to(m.ty, front, (others, depth + 1)),
                name => front.paths.iter().any(|path| first_step(path) == name),
            })
    }

    fn put(&mut self, id: TypeId, placed: &[Placed], size: u32) {
        let Some(start) = self.starts.get(id.0 as usize).map(|start| *start as usize) else {
            return;
        };
        let keeps_bits = matches!(self.get(id), Type::Struct(c) if c.bitfields);
        let body = &mut self.types[start..];
        body[8..HEADER].copy_from_slice(&size.to_le_bytes());
        for (member, place) in placed.iter().zip(body[HEADER..].chunks_exact_mut(MEMBER)) {
            place.copy_from_slice(&member.bytes);
            place[8..11].copy_from_slice(&member.bit_offset.to_le_bytes()[..3]);
            if !keeps_bits {
                place[11] = member.bit_offset.to_le_bytes()[3];
            }
        }
    }
}

impl Composite<'_> {
    fn encoded(&self, n: usize) -> Option<[u8; MEMBER]> {
        self.data.get(n * MEMBER..)?.first_chunk().copied()
    }
}

fn first_step(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct s { int a; int b : 3; int c : 5; struct { long d; int e; }; char f; }`, `long`s being
    /// ints of 8 bytes here, and `struct t { struct s s; }` if it is to be there.
    fn types(embedded: bool) -> Btf {
        let names = "\0int\0long\0char\0s\0a\0b\0c\0d\0e\0f\0t\0";
        let at = |name: &str| names.find(&format!("\0{name}\0")).expect("a name") as u32 + 1;
        let int = |name: &str, size: u32| [at(name), 1 << 24, size, size * 8];
        let mut words: Vec<u32> = [int("int", 4), int("long", 8), int("char", 1)].concat();
        // 4: the struct without a name, 5: s
        words.extend([0, 4 << 24 | 2, 16, at("d"), 2, 0, at("e"), 1, 64]);
        words.extend([at("s"), 1 << 31 | 4 << 24 | 5, 32]);
        words.extend([at("a"), 1, 0, at("b"), 1, 3 << 24 | 32, at("c"), 1, 5 << 24 | 35]);
        words.extend([0, 4, 64, at("f"), 3, 192]);
        if embedded {
            words.extend([at("t"), 4 << 24 | 1, 32, at("s"), 5, 0]);
        }
        parsed(&words, names)
    }

    fn parsed(words: &[u32], names: &str) -> Btf {
        let (types, strings) = (words.len() as u32 * 4, names.len() as u32);
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types, types, strings].iter().chain(words) {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(names.as_bytes());
        Btf::parse(&bytes).expect("types")
    }

    fn places(btf: &Btf, names: &[&str]) -> Vec<(u32, u32)> {
        let place = |name: &&str| {
            let field = btf.member_at("s", name).expect("a member");
            (field.offset_bits, field.bits)
        };
        names.iter().map(place).collect()
    }

    #[test]
    fn wanted_members_come_first_and_others_keep_their_distances() {
        let btf = types(false);
        let front = Front { structure: "s", paths: vec!["e", "f"], ..Front::default() };
        let found = btf.with_front(&[front]);
        // Of the inner struct `e` is first, and `d` a line behind it: 64 + 16 bytes; then `f`, and
        // behind that line the others, where they were from each other.
        assert_eq!(places(&found, &["e", "d"]), [(0, 0), (64 * 8, 0)]);
        assert_eq!(places(&found, &["f"]), [(80 * 8, 0)]);
        let behind = 128 * 8;
        assert_eq!(
            places(&found, &["a", "b", "c"]),
            [(behind, 0), (behind + 32, 3), (behind + 35, 5)]
        );
        assert_eq!(found.find_struct("s").and_then(|s| found.size_of(s)), Some(128 + 32));
        let bytes = found.to_bytes();
        let read = Btf::parse(&bytes).expect("sound");
        assert_eq!(places(&read, &["e", "f", "c"]), places(&found, &["e", "f", "c"]));
    }

    #[test]
    fn the_last_comes_behind_those_that_are_wanted() {
        let front = Front { structure: "s", paths: vec!["a", "f"], last: Some("a") };
        let found = types(false).with_front(&[front]);
        assert_eq!(places(&found, &["f", "a"]), [(0, 0), (64, 0)]);
    }

    #[test]
    fn members_with_bits_stay_and_so_does_a_struct_that_another_one_holds() {
        let bits = Front { structure: "s", paths: vec!["b"], ..Front::default() };
        let same = ["a", "b", "c", "d", "e", "f"];
        let btf = types(false);
        assert_eq!(places(&btf.with_front(&[bits]), &same), places(&btf, &same));
        let held = Front { structure: "s", paths: vec!["f"], ..Front::default() };
        let btf = types(true);
        assert_eq!(places(&btf.with_front(&[held]), &same), places(&btf, &same));
    }

    #[test]
    fn types_that_nest_endlessly_end() {
        // A struct with two nameless members of its own type, and one that has two of that.
        let mut words: Vec<u32> = Vec::new();
        words.extend([0, 4 << 24 | 2, 8, 0, 1, 0, 0, 1, 0]);
        words.extend([1, 4 << 24 | 2, 8, 0, 1, 0, 0, 1, 0]);
        let btf = parsed(&words, "\0s\0");
        let front = Front { structure: "s", paths: vec!["a"], last: None };
        assert_eq!(btf.with_front(&[front]).to_bytes(), btf.to_bytes());
    }

    #[test]
    fn no_two_members_of_a_bundled_task_share_bytes() {
        for kernel in crate::btf::Bundled::all() {
            let btf = kernel.btf();
            let paths = vec!["pid", "comm", "scx.slice", "se.slice", "cpus_mask", "signal"];
            let front = Front { structure: "task_struct", paths, last: Some("cpus_mask") };
            let found = btf.with_front(&[front]);
            let task = found.find_struct("task_struct").expect("there");
            let Type::Struct(c) = found.get(task) else { panic!("a struct") };
            let mut end = 0;
            for m in c.members() {
                assert!(m.bit_offset >= end, "{}: {}", kernel.release, m.name);
                let size = found.size_of(m.ty).unwrap_or(0) * 8;
                end = m.bit_offset + if m.bits > 0 { m.bits } else { size };
            }
            assert!(end <= c.size * 8);
            assert_eq!(Btf::parse(&found.to_bytes()).expect("sound").len(), btf.len());
        }
    }
}
