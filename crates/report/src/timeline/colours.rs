// SPDX-License-Identifier: MIT OR Apache-2.0
//! A colour for every task, the same in every picture of the same tasks.

use std::collections::{BTreeMap, BTreeSet};

/// A fill and the colour of words on it.
pub(crate) struct Paint {
    pub(crate) fill: &'static str,
    pub(crate) ink: &'static str,
}

/// The colours of M. Okabe and K. Ito's palette that show on white and on black, wine and
/// violet. With every kind of colour vision each differs from each other (see the tests).
pub(crate) const PAINTS: [Paint; 8] = [
    Paint { fill: "#0072b2", ink: "#fff" },
    Paint { fill: "#e69f00", ink: "#111" },
    Paint { fill: "#009e73", ink: "#111" },
    Paint { fill: "#cc79a7", ink: "#111" },
    Paint { fill: "#56b4e9", ink: "#111" },
    Paint { fill: "#d55e00", ink: "#111" },
    Paint { fill: "#93315f", ink: "#fff" },
    Paint { fill: "#7a5cff", ink: "#fff" },
];

/// Colours of policies, on white and on black: none is like one of a task, for policies and tasks
/// are in the same figures. Each differs from each other with every kind of colour vision.
pub(crate) const POLICY_PAINTS: [[&str; 2]; 8] = [
    ["#4c92fa", "#f9ca10"],
    ["#f93f10", "#27b953"],
    ["#6a0e81", "#c291f3"],
    ["#35636e", "#f91010"],
    ["#770f03", "#db069b"],
    ["#b083c3", "#a3f5ab"],
    ["#6d10f9", "#bd757c"],
    ["#c76257", "#c006ef"],
];

/// A style sheet for pictures of a class: rules for words and lines on a light ground, and what differs
/// on a dark one; `.f0` fills with the first of [`PAINTS`], `.t0` is for words on it, and so on.
pub(crate) fn style(class: &str, light: &[(&str, &str)], dark: &[(&str, &str)]) -> String {
    let rule = |(selector, what): (&str, &str)| format!(".{class} {selector}{{{what}}}\n");
    let rules = |list: &[(&str, &str)]| list.iter().copied().map(rule).collect::<String>();
    let paints = PAINTS.iter().enumerate().map(|(index, paint)| {
        rule((&format!(".f{index}"), &format!("fill:{}", paint.fill)))
            + &rule((&format!(".t{index}"), &format!("fill:{}", paint.ink)))
    });
    let dark = format!("@media (prefers-color-scheme:dark){{\n{}}}\n", rules(dark));
    rules(light) + &dark + &paints.collect::<String>()
}

/// Which paint each task has.
pub(crate) struct Colours {
    /// By name, or by kind of task.
    paint_of: BTreeMap<String, usize>,
    /// Instances of a task share its colour.
    pub(crate) by_kind: bool,
}

impl Colours {
    /// A colour for each task or, where there are too many tasks, for each kind of task. Tasks come
    /// with their names and those of the tasks that they are instances of.
    pub(crate) fn of<'a>(tasks: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (names, kinds): (BTreeSet<&str>, BTreeSet<&str>) = tasks.into_iter().unzip();
        let by_kind = names.len() > PAINTS.len() && kinds.len() > 1;
        let keys = if by_kind { kinds } else { names };
        let mut users = [0u32; PAINTS.len()];
        let mut paint_of = BTreeMap::new();
        for key in keys {
            // The name's own colour or the next one that is less used.
            let own = hash(key) % PAINTS.len();
            let least = users.iter().min().copied().unwrap_or(0);
            let next = (0..PAINTS.len()).map(|step| (own + step) % PAINTS.len());
            let paint = next.into_iter().find(|p| users[*p] == least).unwrap_or(own);
            users[paint] += 1;
            paint_of.insert(key.to_owned(), paint);
        }
        Colours { paint_of, by_kind }
    }

    /// Index of a task's paint.
    pub(crate) fn paint(&self, name: &str, instance_of: &str) -> usize {
        let key = if self.by_kind { instance_of } else { name };
        self.paint_of.get(key).copied().unwrap_or(0)
    }
}

/// FNV-1a, which gives `A-0`, `B-1`, `C-2` and the like different colours.
fn hash(name: &str) -> usize {
    let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = name.bytes().fold(0x811c_9dc5, step);
    (hash ^ hash >> 16) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An instance of `a` is called `a-` and something.
    fn of(name: &str) -> (&str, &str) {
        (name, name.split('-').next().unwrap_or(name))
    }

    fn paint(colours: &Colours, name: &str) -> usize {
        let (name, instance_of) = of(name);
        colours.paint(name, instance_of)
    }

    #[test]
    fn few_tasks_have_a_colour_each() {
        let names = ["a-0", "a-1", "a-2", "b-3", "b-4", "c-5", "c-6", "c-7"];
        let colours = Colours::of(names.map(of));
        let paints: BTreeSet<usize> = names.iter().map(|name| paint(&colours, name)).collect();
        assert_eq!(paints.len(), 8);
        assert!(!colours.by_kind);
    }

    #[test]
    fn of_many_tasks_instances_share_a_colour() {
        let names: Vec<String> = (0..12).map(|i| format!("{}-{i}", ["a", "b"][i % 2])).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let colours = Colours::of(names.iter().copied().map(of));
        assert_eq!(paint(&colours, "a-0"), paint(&colours, "a-2"));
        assert_ne!(paint(&colours, "a-0"), paint(&colours, "b-1"));
        assert!(colours.by_kind);
    }

    #[test]
    fn many_instances_of_one_task_use_all_colours_evenly() {
        let names: Vec<String> = (0..16).map(|i| format!("hog-{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let colours = Colours::of(names.iter().copied().map(of));
        let mut users = [0; PAINTS.len()];
        names.iter().for_each(|name| users[paint(&colours, name)] += 1);
        assert_eq!(users, [2; 8]);
    }

    #[test]
    fn the_order_in_which_tasks_come_does_not_matter() {
        let (one, other) = (["x", "y", "z"], ["z", "x", "y"]);
        for name in ["x", "y", "z"] {
            assert_eq!(
                paint(&Colours::of(one.map(of)), name),
                paint(&Colours::of(other.map(of)), name)
            );
        }
    }

    /// How colours look without red, green or blue cones, as linear RGB (G. Machado, M.
    /// Oliveira, L. Fernandes: A Physiologically-based Model for Simulation of Color Vision
    /// Deficiency, 2009, severity 1), and with all of them.
    const VISIONS: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
        [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    ];

    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let level = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if level <= 0.04045 {
                level / 12.92
            } else {
                ((level + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    /// Of WCAG, with the light of the surroundings.
    fn luminance(colour: &str) -> f64 {
        let [red, green, blue] = linear(colour);
        0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
    }

    fn product(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0))
    }

    /// CIE L*a*b*, in which equal distances look about equal.
    fn lab(rgb: [f64; 3]) -> [f64; 3] {
        let to_xyz = [
            [0.4124 / 0.9505, 0.3576 / 0.9505, 0.1805 / 0.9505],
            [0.2126, 0.7152, 0.0722],
            [0.0193 / 1.0888, 0.1192 / 1.0888, 0.9505 / 1.0888],
        ];
        let root = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let [x, y, z] = product(&to_xyz, rgb).map(root);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn distance(vision: &[[f64; 3]; 3], one: &str, other: &str) -> f64 {
        let [one, other] = [one, other].map(|colour| lab(product(vision, linear(colour))));
        one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn colours_differ_for_every_kind_of_colour_vision() {
        // A baseline has the colour of words.
        let policies = |at: usize, words| {
            POLICY_PAINTS.map(|paints| paints[at]).into_iter().chain([words]).collect()
        };
        let palettes: [Vec<&str>; 3] =
            [PAINTS.map(|paint| paint.fill).into(), policies(0, "#1f2328"), policies(1, "#e6edf3")];
        for vision in VISIONS {
            for palette in &palettes {
                for (index, one) in palette.iter().enumerate() {
                    for other in &palette[..index] {
                        // About 2.3 is just noticeable side by side.
                        let distance = distance(&vision, one, other);
                        assert!(distance > 15.0, "{one} and {other} are {distance}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_policy_does_not_look_like_a_task() {
        for policy in POLICY_PAINTS.iter().flatten() {
            for Paint { fill, .. } in PAINTS {
                let distance = distance(&VISIONS[0], policy, fill);
                assert!(distance > 15.0, "{policy} and {fill} are {distance}");
            }
        }
    }

    #[test]
    fn lines_of_policies_are_seen_on_their_page() {
        for (at, page) in ["#ffffff", "#0d1117"].into_iter().enumerate() {
            for paints in POLICY_PAINTS {
                let (a, b) = (luminance(paints[at]), luminance(page));
                // WCAG 2.1, success criterion 1.4.11.
                assert!(a.max(b) / a.min(b) >= 3.0, "{} on {page}", paints[at]);
            }
        }
    }

    #[test]
    fn words_can_be_read_on_their_colours() {
        for Paint { fill, ink } in PAINTS {
            let ink = if ink == "#fff" { "#ffffff" } else { "#111111" };
            let (a, b) = (luminance(fill), luminance(ink));
            assert!(a.max(b) / a.min(b) > 4.0, "{fill} {ink}: {}", a.max(b) / a.min(b));
        }
    }
}
