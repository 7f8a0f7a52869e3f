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
    let (inner, width, height) = flow(nodes.collect(), most, 0, most);
    Boxed { what: What::Machine, width, height, inner }
}

fn core(core: &Core, with_kind: bool) -> Boxed<'_> {
    let width = (core.cpus.len() as u32).max(1) * CPU.0 + 2 * CORE_EDGE;
    let height = CPU.1 + 2 * CORE_EDGE + if with_kind { KIND } else { 0 };
    Boxed { what: What::Core(core), width, height, inner: Vec::new() }
}

/// A box with a name around others, wider than high.
fn group<'a>(class: &'static str, name: &'a str, inner: Vec<Boxed<'a>>, most: u32) -> Boxed<'a> {
    let area: u64 =
        inner.iter().map(|of| u64::from(of.width + GAP) * u64::from(of.height + GAP)).sum();
    let wide = u32::try_from((area * 3).isqrt()).unwrap_or(most);
    // A name needs some room, too.
    let named = name.chars().count() as u32 * 6 + 2 * GAP;
    let top = if name.is_empty() { 0 } else { NAME };
    let (mut inner, width, height) = flow(inner, wide, GAP, most);
    inner.iter_mut().for_each(|((_, y), _)| *y += top);
    let width = width.max(named);
    Boxed { what: What::Group { class, name }, width, height: height + top, inner }
}

type Placed<'a> = Vec<((u32, u32), Boxed<'a>)>;

/// Puts boxes in lines of about this width, and says how much room they take with an edge around.
fn flow(boxes: Vec<Boxed<'_>>, wide: u32, edge: u32, most: u32) -> (Placed<'_>, u32, u32) {
    let widest = boxes.iter().map(|of| of.width).max().unwrap_or(0);
    let limit = wide.min(most).max(widest);
    let (mut x, mut y, mut line, mut width) = (0, 0, 0, 0);
    let mut placed = Vec::new();
    for of in boxes {
        if x > 0 && x + of.width > limit {
            (x, y, line) = (0, y + line + GAP, 0);
        }
        (line, width) = (line.max(of.height), width.max(x + of.width));
        let next = x + of.width + GAP;
        placed.push(((x + edge, y + edge), of));
        x = next;
    }
    (placed, width + 2 * edge, y + line + 2 * edge)
}
