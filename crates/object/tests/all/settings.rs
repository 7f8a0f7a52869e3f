// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `load_settings.bpf.c`: listed, set, read back, refused.

use super::support::load;
use proptest::prelude::*;
use rota_object::image::{Image, OpsField};
use rota_object::settings::{render, Tunable};

fn image() -> Image {
    load("load_settings.bpf.c")
}

/// Sets and reads back.
fn set(image: &mut Image, name: &str, value: &str) -> String {
    image.set_variable(name, value).unwrap_or_else(|e| panic!("{e}"));
    image.variable_text(name).expect("can be read")
}

fn refusal(image: &mut Image, name: &str, value: &str) -> String {
    image.set_variable(name, value).expect_err("must be refused").to_string()
}

/// The bytes of a variable as an integer.
fn raw(image: &Image, name: &str) -> u64 {
    let v = image.variables.iter().find(|v| v.name == name).expect(name);
    let data = image.maps[v.map.0 as usize].initial.as_ref().expect("data");
    let bytes = data.get(v.offset as usize..(v.offset + v.size) as usize).expect("inside");
    bytes.iter().rev().fold(0, |value, b| value << 8 | u64::from(*b))
}

#[test]
fn tagged_globals_are_tunables_in_order() {
    let names: Vec<String> = image().tunables().into_iter().map(|t| t.name).collect();
    let fixed = ["quantum_ns", "alpha", "beta", "limit", "tie", "on", "bad_tag"];
    assert_eq!(names, [&fixed[..], &["live_ns", "live_table"]].concat());
}

#[test]
fn tunable_says_all_that_its_tags_say() {
    let tunables = image().tunables();
    assert_eq!(
        tunables[0],
        Tunable {
            name: "quantum_ns".into(),
            ctype: "u64".into(),
            default: "10000000".into(),
            min: Some("100us".into()),
            max: Some("1s".into()),
            help: "length of a turn".into(),
            unit: Some("ns".into()),
            scale: None,
            infinite: false,
            values: vec![],
            live: false,
        }
    );
    assert_eq!((tunables[1].default.as_str(), tunables[1].scale), ("0.5", Some(1024)));
    assert_eq!((tunables[2].default.as_str(), tunables[2].infinite), ("inf", true));
    assert_eq!((tunables[4].default.as_str(), tunables[4].values.len()), ("rr", 3));
    assert_eq!(tunables[5].default, "true");
}

#[test]
fn tagged_numbers_that_are_not_const_are_live() {
    let live: Vec<Tunable> = image().tunables().into_iter().filter(|t| t.live).collect();
    let names: Vec<&str> = live.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["live_ns", "live_table"]);
    assert_eq!(live[0].ctype, "u64");
    assert_eq!(live[0].default, "5000");
    assert_eq!(live[0].unit.as_deref(), Some("ns"));
    assert_eq!(live[1].ctype, "s8[3]");
}

#[test]
fn live_tunable_is_patched_where_it_lies() {
    let image = image();
    let v = image.variables.iter().find(|v| v.name == "live_ns").expect("live_ns");
    let patch = image.live_patch("live_ns", "2ms").expect("in range");
    assert_eq!((patch.map, patch.offset), (v.map, v.offset));
    assert_eq!(patch.bytes, 2_000_000u64.to_le_bytes());
    assert_eq!(image.text_in(v, &patch.bytes), "2000000");
    let table = image.variables.iter().find(|v| v.name == "live_table").expect("live_table");
    let element = image.live_patch("live_table[2]", "-3").expect("element");
    assert_eq!((element.offset, element.bytes), (table.offset + 2, vec![0xfd]));
    let all = image.live_patch("live_table", "1,2,3").expect("all");
    assert_eq!((all.offset, all.bytes), (table.offset, vec![1, 2, 3]));
}

#[test]
fn what_is_not_live_is_refused_with_a_reason() {
    let image = image();
    let refusal = |name, value| image.live_patch(name, value).expect_err(name).to_string();
    assert_eq!(
        refusal("quantum_ns", "5ms"),
        "quantum_ns: is fixed when the policy is loaded: restart with --set quantum_ns=5ms"
    );
    assert_eq!(
        refusal("live_ns", "2s"),
        "live_ns: 2s is out of range, expected 1us to 1s",
        "ranges hold for live tunables"
    );
    assert!(refusal("own_state", "1").contains("not a tunable"));
    assert!(refusal("limits.low", "1").contains("not a tunable"));
    assert!(refusal("live_limits.low", "1").contains("not a tunable"));
    assert_eq!(refusal("live_n", "1"), "there is no tunable 'live_n'; did you mean 'live_ns'?");
    assert!(refusal("live_table[3]", "1").contains("the array has 3 elements"));
}

#[test]
fn options_are_all_const_volatile_globals_but_those_for_loaders() {
    let options = image().options();
    let names: Vec<&str> = options.iter().map(|t| t.name.as_str()).collect();
    for name in ["untagged", "mode", "tiny", "table", "tie"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    for name in ["__SCX_SOMETHING", "uei_dump_len", "plain_const", "limits", "text"] {
        assert!(!names.contains(&name), "{name} in {names:?}");
    }
}

#[test]
fn integers_are_read_in_the_usual_notations() {
    let mut image = image();
    for (text, value) in [("7", "7"), ("0x1F", "31"), ("0b101", "5"), ("1_000", "1000")] {
        assert_eq!(set(&mut image, "untagged", text), value);
    }
    assert_eq!(set(&mut image, "tiny", "-128"), "-128");
    assert_eq!(raw(&image, "tiny"), 0x80);
}

#[test]
fn switches_take_the_usual_words() {
    let mut image = image();
    for (text, value) in [("off", "false"), ("1", "true"), ("no", "false"), ("TRUE", "true")] {
        assert_eq!(set(&mut image, "on", text), value);
    }
    let error = refusal(&mut image, "on", "maybe");
    assert_eq!(error, "on: 'maybe' is not valid, expected true or false");
}

#[test]
fn times_take_a_unit() {
    let mut image = image();
    for (text, ns) in
        [("5ms", 5_000_000), ("1.5ms", 1_500_000), ("300us", 300_000), ("1s", 1e9 as u64)]
    {
        image.set_variable("quantum_ns", text).expect(text);
        assert_eq!(raw(&image, "quantum_ns"), ns);
    }
    // An untagged name that ends in _ns is a time as well.
    assert_eq!(set(&mut image, "limits.deep_ns", "2us"), "2000");
    assert!(refusal(&mut image, "quantum_ns", "10 parsecs").contains("a time such as 10ms"));
    assert!(refusal(&mut image, "quantum_ns", "0.5ns").contains("a whole number of ns"));
}

#[test]
fn range_is_in_the_user_s_terms() {
    let mut image = image();
    let error = refusal(&mut image, "quantum_ns", "99us");
    assert_eq!(error, "quantum_ns: 99us is out of range, expected 100us to 1s");
    assert!(refusal(&mut image, "alpha", "2.001").ends_with("expected 0 to 2"));
    assert!(refusal(&mut image, "tiny", "128").ends_with("expected -128 to 127"));
    assert!(refusal(&mut image, "untagged", "-1").ends_with("expected 0 to 4294967295"));
    assert!(refusal(&mut image, "bad_tag", "1").contains("'min:lots' is not a number"));
    assert_eq!(raw(&image, "quantum_ns"), 10_000_000, "a refused value changes nothing");
}

#[test]
fn scaled_decimals_become_fixed_point() {
    let mut image = image();
    for (text, integer) in [("0.25", 256), ("1", 1024), ("0.3333", 341), ("1.9995", 2047)] {
        image.set_variable("alpha", text).expect(text);
        assert_eq!(raw(&image, "alpha"), integer, "{text}");
    }
}

#[test]
fn infinities_are_the_ends_of_the_type_where_they_are_values() {
    let mut image = image();
    for (text, shown, integer) in [
        ("+inf", "inf", i64::MAX),
        ("-inf", "-inf", i64::MIN),
        ("-3", "-3", -30_000),
        ("+0.5", "0.5", 5_000),
        ("-0", "0", 0),
    ] {
        assert_eq!(set(&mut image, "beta", text), shown);
        assert_eq!(raw(&image, "beta") as i64, integer, "{text}");
    }
    assert_eq!(set(&mut image, "limit", "inf"), "inf");
    assert_eq!(raw(&image, "limit"), 0xffff);
    assert!(refusal(&mut image, "beta", "101").ends_with("expected -100 to 100, inf or -inf"));
    assert!(refusal(&mut image, "beta", "infinite").ends_with("such as 0.5, inf or -inf"));
    assert!(refusal(&mut image, "limit", "10").ends_with("expected at most 9 or inf"));
    assert!(refusal(&mut image, "limit", "-inf").contains("not valid"));
    assert!(refusal(&mut image, "alpha", "inf").contains("not valid"), "only where it is said");
}

#[test]
fn names_stand_for_numbers() {
    let mut image = image();
    assert_eq!(set(&mut image, "tie", "random"), "random");
    assert_eq!(raw(&image, "tie"), 2);
    assert!(refusal(&mut image, "tie", "coin").contains("one of id, rr, random"));
    assert_eq!(set(&mut image, "mode", "MODE_ODD"), "MODE_ODD");
    assert_eq!(raw(&image, "mode"), 0xffff_fffd);
    assert!(refusal(&mut image, "mode", "MODE_EVEN").contains("MODE_FAST, MODE_SMALL, MODE_ODD"));
    assert_eq!(set(&mut image, "untagged", "MODE_SMALL|0x10"), "20", "flags");
}

#[test]
fn elements_and_members_are_set_by_path() {
    let mut image = image();
    image.set_variable("table[2]", "30").expect("element");
    assert_eq!(image.variable_text("table").expect("text"), "1, 2, 30, 4");
    assert_eq!(set(&mut image, "table", "5,6,7,8"), "5, 6, 7, 8");
    set(&mut image, "limits.low", "9");
    set(&mut image, "limits.high", "-2");
    set(&mut image, "limits.five", "17");
    assert_eq!(set(&mut image, "limits.six", "-32"), "-32");
    set(&mut image, "limits.rows[1].cells[2]", "200");
    let all = image.variable_text("limits").expect("text");
    assert_eq!(
        all,
        "{low: 9, high: -2, five: 17, six: -32, {deep_ns: 0}, \
         rows: [{cells: [0, 0, 0]}, {cells: [0, 0, 200]}]}"
    );
    assert!(refusal(&mut image, "limits.five", "32").ends_with("expected 0 to 31"));
    assert!(refusal(&mut image, "table[4]", "1").contains("the array has 4 elements"));
    assert!(refusal(&mut image, "table", "1,2").contains("4 values separated by commas"));
}

#[test]
fn cpus_in_braces_are_bits_of_a_number_or_of_an_array() {
    let mut image = image();
    // 1 + 2 + 4 + 8 + 256
    assert_eq!(set(&mut image, "untagged", "{0-3,8}"), "271");
    // 32 CPUs in each of four numbers
    assert_eq!(set(&mut image, "table", "{0, 33, 64-65, 127}"), "1, 2, 3, 2147483648");
    assert_eq!(set(&mut image, "table", "{}"), "0, 0, 0, 0", "what was there is gone");
    assert_eq!(set(&mut image, "limits.rows[1].cells", "{23}"), "0, 0, 128");
    assert!(refusal(&mut image, "table", "{128}").contains("CPU 128 is out of range"));
    assert!(refusal(&mut image, "untagged", "{3-1}").contains("not valid"));
}

#[test]
fn programs_are_loaded_or_not_as_asked_for() {
    let mut image = image();
    let section = |image: &Image| {
        let prepare = image.function_named("prepare").expect("is there");
        image.functions[prepare.0 as usize].section.clone()
    };
    image.load_program("prepare", false).expect("is there");
    assert_eq!(section(&image), "?syscall");
    image.load_program("prepare", false).expect("is there");
    image.load_program("prepare", true).expect("is there");
    assert_eq!(section(&image), "syscall");
    let error = image.load_program("prepair", true).expect_err("is not there").to_string();
    assert!(error.contains("did you mean 'prepare'?"), "{error}");
}

#[test]
fn text_fits_with_its_end() {
    let mut image = image();
    assert_eq!(set(&mut image, "text", "seven77"), "seven77");
    assert_eq!(set(&mut image, "text", "x"), "x", "the rest is cleared");
    assert!(refusal(&mut image, "text", "eight888").contains("at most 7 bytes"));
}

#[test]
fn typo_gets_a_suggestion() {
    let mut image = image();
    let error = refusal(&mut image, "qantum_ns", "1");
    assert_eq!(error, "there is no variable 'qantum_ns'; did you mean 'quantum_ns'?");
    let error = refusal(&mut image, "limits.lwo", "1");
    assert_eq!(error, "limits.lwo: struct limits has no member 'lwo'; did you mean 'low'?");
    assert_eq!(refusal(&mut image, "entirely_else", "1"), "there is no variable 'entirely_else'");
}

#[test]
fn what_has_no_value_is_refused() {
    let mut image = image();
    assert!(refusal(&mut image, "pointer", "1").contains("cannot be set"));
    assert!(refusal(&mut image, "limits", "1").contains("limits.low=…"));
}

#[test]
fn arrays_are_resized_at_the_end_of_their_section() {
    let mut image = image();
    image.resize_array("growing", 5).expect("grows");
    set(&mut image, "growing[4]", "44");
    assert_eq!(image.variable_text("growing").expect("text"), "0, 0, 0, 0, 44");
    let map = image.map_named(".data.growing").expect("section");
    assert_eq!(image.maps[map.0 as usize].value_size, 40);
    assert!(refusal(&mut image, "growing[5]", "1").contains("out of range"));
    assert!(image.resize_array("table", 9).is_err(), "not the last of .rodata");
}

#[test]
fn inner_maps_are_made_for_every_slot() {
    let mut image = image();
    image.fill_inner_maps("queues").expect("map of maps");
    let queues = image.map_named("queues").expect("queues");
    let slots = image.maps[queues.0 as usize].slots.clone();
    assert_eq!(slots.iter().map(|s| s.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(slots.iter().all(|s| image.maps[s.1 .0 as usize].max_entries == 10));
    assert!(image.fill_inner_maps("settings").is_err());
    image.set_max_entries("settings", 12).expect("a map");
    assert!(image.set_max_entries(".rodata", 2).is_err());
    assert!(image.map_named("quees").expect_err("typo").to_string().contains("'queues'"));
}

#[test]
fn entries_and_contexts_are_encoded_by_type() {
    let image = image();
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    let value = [pair("low", "3"), pair("rows[0].cells[1]", "9")];
    let (_, key, value) =
        image.map_entry("settings", &[pair("", "2")], &value).expect("typed entry");
    assert_eq!(key, [2, 0, 0, 0]);
    let ty = image.btf.find_struct("limits").expect("limits");
    assert!(render(&image.btf, ty, &value).contains("low: 3"));
    let prepare = image.function_named("prepare").expect("prepare");
    let arg = image.context_type(prepare).expect("struct arg");
    let bytes = image.encode(arg, [("cpu", "3"), ("time_ns", "1us")]).expect("typed");
    assert_eq!(bytes, [3, 0, 0, 0, 0, 0, 0, 0, 0xe8, 3, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn members_of_the_ops_table_are_set() {
    let mut image = load("load_object.bpf.c");
    image.set_ops("timeout_ms", "250").expect("u32");
    image.set_ops("name", "other").expect("text");
    image.set_ops("tick", "").expect("removed");
    image.set_ops("flags", "0").expect("zero");
    let fields = &image.struct_ops[0].fields;
    assert_eq!(fields.get("timeout_ms"), Some(&OpsField::Int(250)));
    assert_eq!(fields.get("name"), Some(&OpsField::Str("other".into())));
    assert!(!fields.contains_key("tick") && !fields.contains_key("flags"));
    assert!(image.set_ops("timeout", "1").expect_err("typo").to_string().contains("timeout_ms"));
    assert!(image.set_ops("enqueue", "nothing").is_err());
}

proptest! {
    #[test]
    fn any_text_is_taken_or_refused(name in "[a-z_.\\[\\]0-9]{0,20}", value in "\\PC{0,30}") {
        thread_local!(static IMAGE: Image = image());
        let mut image = IMAGE.with(Image::clone);
        for name in [name.as_str(), "quantum_ns", "alpha", "table", "limits.six", "text", "mode", "live_ns"] {
            if image.set_variable(name, &value).is_ok() {
                // What can be read back can be set again, to the same.
                let text = image.variable_text(name).expect("was set");
                image.set_variable(name, &text).expect("reads back");
                prop_assert_eq!(image.variable_text(name).expect("was set"), text);
            }
            if let Ok(patch) = image.live_patch(name, &value) {
                prop_assert!(name.starts_with("live"), "{} is not live", name);
                let section = image.maps[patch.map.0 as usize].initial.as_ref().expect("data");
                prop_assert!(patch.offset as usize + patch.bytes.len() <= section.len());
            }
        }
    }

    #[test]
    fn scaled_values_survive_the_round_trip(raw in 0u64..=2048) {
        thread_local!(static IMAGE: Image = image());
        let mut image = IMAGE.with(Image::clone);
        image.set_variable("alpha", &format!("{:.9}", raw as f64 / 1024.0)).expect("in range");
        let text = image.variable_text("alpha").expect("text");
        image.set_variable("alpha", &text).expect("in range");
        prop_assert_eq!(self::raw(&image, "alpha"), raw);
    }
}
