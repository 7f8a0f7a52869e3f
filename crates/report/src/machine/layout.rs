// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boxes in boxes: where each one is, and how large. All lengths are pixels.

use super::{Core, Machine};

/// Width and height of a CPU in its core.
pub(super) const CPU: (u32, u32) = (30, 18);
/// Between a core's edge and its CPUs.
pub(super) const CORE_EDGE: u32 = 3;
/// Room for the name of a core's kind.
const KIND: u32 = 10;
/// Between boxes, and to the edge of the one around.
const GAP: u32 = 6;
/// Room for a box's name.
const NAME: u32 = 18;

/// What a box stands for.
pub(super) enum What<'a> {
    Machine,
    Group { class: &'static str, name: &'a str },
    Core(&'a Core),
}

/// A box, and what is in it from its upper left corner.
pub(super) struct Boxed<'a> {
    pub(super) what: What<'a>,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) inner: Vec<((u32, u32), Boxed<'a>)>,
}

/// The whole machine, no wider than this unless a core is.
pub(super) fn boxed(machine: &Machine, most: u32) -> Boxed<'_> {
    let kinds = machine.kinds.len() > 1;
    let inside = |most: u32| most.saturating_sub(2 * GAP);
    let nodes = machine.nodes.iter().map(|node| {
        let caches = node.caches.iter().map(|cache| {
            let clusters = cache.clusters.iter().flat_map(|cores| {
                let own: Vec<_> = cores.iter().map(|one| core(one, kinds)).collect();
                match own.len() {
                    0 | 1 => own,
                    _ => vec![group("g", "", own, inside(inside(inside(most))))],
                }
            });
            group("a", &cache.name, clusters.collect(), inside(inside(most)))
        });
        let caches: Vec<_> = caches.collect();
        group("n", &node.name, caches, inside(most))
    });
    let (inner, width, height) = flow(nodes.collect(), most, 0);
    Boxed { what: What::Machine, width, height, inner }
}

fn core(core: &Core, with_kind: bool) -> Boxed<'_> {
    let width = (core.cpus.len() as u32).max(1) * CPU.0 + 2 * CORE_EDGE;
    let height = CPU.1 + 2 * CORE_EDGE + if with_kind { KIND } else { 0 };
    Boxed { what: What::Core(core), width, height, inner: Vec::new() }
}

/// A box with a name around others, in lines that leave little empty.
fn group<'a>(class: &'static str, name: &'a str, inner: Vec<Boxed<'a>>, most: u32) -> Boxed<'a> {
    let wide = neat(&inner, most);
    // A name needs some room, too.
    let named = name.chars().count() as u32 * 6 + 2 * GAP;
    let top = if name.is_empty() { 0 } else { NAME };
    let (mut inner, width, height) = flow(inner, wide, GAP);
    inner.iter_mut().for_each(|((_, y), _)| *y += top);
    let width = width.max(named);
    Boxed { what: What::Group { class, name }, width, height: height + top, inner }
}

/// Width for the lines of some boxes: of all that are two to six times as wide as high, if there are
/// any, the one that leaves the least empty: eight are 4 + 4, not 3 + 3 + 2.
fn neat(boxes: &[Boxed<'_>], most: u32) -> u32 {
    let full: u64 = boxes.iter().map(|of| u64::from(of.width) * u64::from(of.height)).sum();
    let candidates = (1..=boxes.len()).map(|count| even(boxes, count));
    let widest = boxes.iter().map(|of| of.width).max().unwrap_or(0);
    let fits = candidates.filter(|wide| *wide <= most.max(widest));
    let cost = |wide: &u32| {
        let (_, height) = lines(boxes, *wide);
        let (wide, height) = (u64::from(*wide), u64::from(height.max(1)));
        let is_odd = wide < 2 * height || wide > 6 * height;
        // Of the odd ones, the one that comes nearest to four times.
        let far =
            if is_odd { (wide.max(4 * height)) * 100 / wide.min(4 * height).max(1) } else { 0 };
        (is_odd, far, (wide * height).saturating_sub(full))
    };
    fits.min_by_key(cost).unwrap_or(widest)
}

/// The least width in which boxes take no more than so many lines.
fn even(boxes: &[Boxed<'_>], count: usize) -> u32 {
    let mut least = boxes.iter().map(|of| of.width).max().unwrap_or(0);
    let mut enough = boxes.iter().map(|of| of.width + GAP).sum::<u32>().max(least);
    while least < enough {
        let middle = least.midpoint(enough);
        if lines(boxes, middle).0 <= count {
            enough = middle;
        } else {
            least = middle + 1;
        }
    }
    enough
}

/// How many lines boxes take of this width, and how high they are together.
fn lines(boxes: &[Boxed<'_>], wide: u32) -> (usize, u32) {
    let (mut count, mut x, mut height, mut line) = (0, 0, 0, 0);
    for of in boxes {
        if count == 0 || x + of.width > wide {
            height += line + if count == 0 { 0 } else { GAP };
            (count, x, line) = (count + 1, 0, 0);
        }
        (x, line) = (x + of.width + GAP, line.max(of.height));
    }
    (count, height + line)
}

type Placed<'a> = Vec<((u32, u32), Boxed<'a>)>;

/// Puts boxes in lines of this width, or of the widest one's, and says how much room they take with an
/// edge around.
fn flow(boxes: Vec<Boxed<'_>>, wide: u32, edge: u32) -> (Placed<'_>, u32, u32) {
    let (mut x, mut y, mut line, mut width) = (0, 0, 0, 0);
    let mut placed = Vec::new();
    for of in boxes {
        if x > 0 && x + of.width > wide {
            (x, y, line) = (0, y + line + GAP, 0);
        }
        (line, width) = (line.max(of.height), width.max(x + of.width));
        let next = x + of.width + GAP;
        placed.push(((x + edge, y + edge), of));
        x = next;
    }
    (placed, width + 2 * edge, y + line + 2 * edge)
}
