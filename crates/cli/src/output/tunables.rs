// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object says about itself.

use super::table;
use rota_object::image::Image;
use rota_object::settings::Tunable;

/// `help:` and `paper:` of a policy's ops variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct About<'a> {
    pub(crate) help: Option<&'a str>,
    pub(crate) paper: Option<&'a str>,
}

/// Reads the tags of the first scheduler in the object.
pub(crate) fn about(image: &Image) -> About<'_> {
    let ops = image.struct_ops.iter().find(|ops| ops.type_name.starts_with("sched_ext_ops"));
    let tag = |key: &str| ops?.tags.iter().find_map(|tag| tag.strip_prefix(key));
    About { help: tag("help:"), paper: tag("paper:") }
}

/// The documented tunables; of an object without any, all its options.
pub(crate) fn options(image: &Image) -> Vec<Tunable> {
    let documented = image.tunables();
    if documented.is_empty() {
        return image.options();
    }
    documented
}

/// One line per tunable: name and value, type, range, help.
pub(crate) fn table(tunables: &[Tunable]) -> Vec<String> {
    let row = |t: &Tunable| {
        let live = if t.live { " (live)" } else { "" };
        let help = format!("{}{live}", t.help);
        vec![format!("{}={}", t.name, t.default), t.ctype.clone(), range(t), help]
    };
    if tunables.is_empty() {
        return Vec::new();
    }
    table::lines(&[], 4, tunables.iter().map(row).collect())
}

/// What values are allowed: `100000..1000000000 ns`, `id|rr`.
fn range(tunable: &Tunable) -> String {
    let mut text = match (&tunable.min, &tunable.max) {
        _ if !tunable.values.is_empty() => tunable.values.join("|"),
        (Some(min), Some(max)) => format!("{min}..{max}"),
        (Some(min), None) => format!("{min} or more"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => String::new(),
    };
    if tunable.infinite {
        text.push_str("|inf");
    }
    if let Some(unit) = &tunable.unit {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(unit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tunable() -> Tunable {
        Tunable {
            name: "t".into(),
            ctype: "u64".into(),
            default: "5".into(),
            min: None,
            max: None,
            help: "a help".into(),
            unit: None,
            scale: None,
            infinite: false,
            values: Vec::new(),
            live: false,
        }
    }

    #[test]
    fn tunable_that_can_change_later_is_marked() {
        let lines = table(&[tunable(), Tunable { live: true, ..tunable() }]);
        assert!(lines[0].ends_with("a help") && lines[1].ends_with("a help (live)"), "{lines:?}");
    }

    #[test]
    fn ranges_read_like_sentences() {
        let (min, max) = (Some("1".to_string()), Some("9".to_string()));
        let with = |min: &Option<String>, max: &Option<String>| Tunable {
            min: min.clone(),
            max: max.clone(),
            ..tunable()
        };
        assert_eq!(range(&with(&min, &max)), "1..9");
        assert_eq!(range(&Tunable { infinite: true, ..with(&min, &max) }), "1..9|inf");
        assert_eq!(range(&with(&min, &None)), "1 or more");
        assert_eq!(range(&with(&None, &max)), "at most 9");
        assert_eq!(range(&Tunable { unit: Some("ns".into()), ..with(&min, &max) }), "1..9 ns");
        assert_eq!(
            range(&Tunable { values: vec!["id".into(), "rr".into()], ..tunable() }),
            "id|rr"
        );
    }
}
