// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what was loaded to a machine that runs it, and commands on its maps.

use crate::caller::{NewMap, Program, Words};
use crate::object::{in_machine, Loaded};
use rota_object::image::{map_type, OpsField};
use rota_program::bpf::Reply;
use rota_program::Errno;

#[test]
fn a_program_that_runs_before_the_scheduler_is_attached_needs_a_machine() {
    let mut loaded = Loaded::new();
    assert_eq!(loaded.run(41, None), None);
    // the table is not registered: callbacks say themselves where they belong
    let image = loaded.image();
    let table = &image.struct_ops[0];
    assert_eq!(table.type_name, "sched_ext_ops");
    let [(member, OpsField::Func(func))] = table.fields.iter().collect::<Vec<_>>()[..] else {
        panic!("{table:?}")
    };
    assert_eq!(member, "dispatch");
    assert_eq!(image.functions[func.0 as usize].name, "tiny_dispatch");
    assert_eq!(image.functions[func.0 as usize].section, "struct_ops/dispatch");

    loaded.p.update(loaded.queue, &[], &7u64.to_le_bytes()).expect("room");
    in_machine(image, |live| {
        loaded.p.played.fill(live, &mut loaded.p.memory).expect("fills");
        assert_eq!(loaded.run(41, Some(live)), Some((42, 5)));
        // what it stored in .bss is in the file that the program maps, at once
        assert_eq!(loaded.p.lookup(loaded.bss, &[0; 4], 16).expect("mapped")[4], 42);
        // the queue has what was there before, and what the program pushed
        for expected in [7u64, 42] {
            let popped = loaded.p.element(21, loaded.queue, &[], &[0; 8], 0, Some(live));
            assert_eq!(popped.expect("a value").0, expected.to_le_bytes());
        }
        let empty = loaded.p.element(21, loaded.queue, &[], &[0; 8], 0, Some(live));
        assert_eq!(empty.err(), Some(Errno::ENOENT));
    });
}

#[test]
fn an_attached_table_is_told_with_its_callbacks_and_numbers() {
    let mut loaded = Loaded::new();
    let value = loaded.table_value();
    let link = Words::new(64).fd(0, loaded.table).u32(8, 44);
    // without a value there is nothing to attach
    assert_eq!(loaded.p.call(28, link).err(), Some(Errno::EINVAL));
    loaded.p.update(loaded.table, &[0; 4], &value).expect("a sound table");
    assert_eq!(loaded.p.update(loaded.table, &[0; 4], &value), Err(Errno::EBUSY));
    let table_fd = loaded.table;
    let link = || Words::new(64).fd(0, table_fd).u32(8, 44);
    let reply = loaded.p.call(28, link());
    assert!(matches!(reply, Ok(Reply::NeedsMachine)));
    let image = loaded.image();
    assert_eq!(image.struct_ops[0].name, "tiny_ops");
    assert_eq!(image.struct_ops[0].fields["timeout_ms"], OpsField::Int(5000));
    let before = image.struct_ops[0].fields.clone();
    in_machine(image, |live| {
        loaded.p.played.fill(live, &mut loaded.p.memory).expect("fills");
        let reply = loaded.p.call_with(28, link(), Some(live)).1.expect("attaches");
        let Reply::Attached { id: Some(id), table } = reply else { panic!("{reply:?}") };
        assert_eq!(table.fields, before);
        assert_eq!(table.fields["name"], OpsField::Str("tiny".into()));
        // one scheduler at a time
        assert_eq!(loaded.p.call_with(28, link(), Some(live)).1.err(), Some(Errno::EBUSY));
        assert!(loaded.p.played.closed(id));
        assert!(!loaded.p.played.closed(id));
    });
}

#[test]
fn tables_that_the_kernel_refuses_are_refused() {
    let loaded = Loaded::new();
    let value = loaded.table_value();
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut loaded = Loaded::new();
        let mut value = value.clone();
        change(&mut value);
        loaded.p.update(loaded.table, &[0; 4], &value)
    };
    assert_eq!(refused(&|_| ()), Ok(()));
    let kernel = crate::object::kernel_types(&loaded.p);
    let at = |name| 64 + crate::object::member(&kernel, name).1 as usize;
    // refcnt and state are the kernel's
    assert_eq!(refused(&|value| value[0] = 1), Err(Errno::EINVAL));
    // no name
    assert_eq!(refused(&|value| value[at("name")..][..4].fill(0)), Err(Errno::EINVAL));
    // the callback of another member
    let (dispatch, enqueue) = (at("dispatch"), at("enqueue"));
    assert_eq!(refused(&|value| value[enqueue] = value[dispatch]), Err(Errno::EINVAL));
    // no descriptor
    assert_eq!(refused(&|value| value[dispatch] = 99), Err(Errno::EBADF));
    // longer than the watchdog ever waits
    assert_eq!(refused(&|value| value[at("timeout_ms") + 3] = 1), Err(Errno::E2BIG));
}

#[test]
fn the_image_names_maps_and_variables_as_the_object_does() {
    let mut loaded = Loaded::new();
    let at = loaded.p.lookup(loaded.bss, &[0; 4], 16).expect("mapped");
    assert_eq!(at, [0; 16]);
    loaded.p.update(loaded.bss, &[0; 4], &[9; 16]).expect("mapped");
    let image = loaded.image();
    let names: Vec<&str> = image.maps.iter().map(|map| map.name.as_str()).collect();
    // the table's map is no map that code uses
    assert_eq!(names, [".bss", "asks"]);
    assert_eq!(image.maps[0].initial, Some(vec![9; 16].into()));
    let [variable] = &image.variables[..] else { panic!("{:?}", image.variables) };
    assert_eq!((variable.name.as_str(), variable.offset, variable.size), ("counter", 4, 4));
    assert_eq!(image.license, "GPL");
}

#[test]
fn entries_that_were_kept_are_in_the_machine_and_change_there() {
    let mut loaded = Loaded::new();
    // a map that no program of the scheduler uses stays outside of the machine
    let own = NewMap { kind: map_type::HASH, key: 4, value: 4, max: 8, ..NewMap::default() };
    let own = loaded.p.map(own).expect("a map");
    loaded.p.update(own, &[1; 4], &[2; 4]).expect("room");
    let image = loaded.image();
    in_machine(image, |live| {
        loaded.p.played.fill(live, &mut loaded.p.memory).expect("fills");
        let value = loaded.p.element(1, own, &[1; 4], &[0; 4], 0, Some(live));
        assert_eq!(value.expect("is there").0, [2; 4]);
        loaded.p.element(2, own, &[3; 4], &[4; 4], 0, Some(live)).expect("room");
        let value = loaded.p.element(1, own, &[3; 4], &[0; 4], 0, Some(live));
        assert_eq!(value.expect("is there").0, [4; 4]);
    });
}

#[test]
fn without_callbacks_there_is_no_image() {
    let mut p = Program::new();
    let error = p.played.image(&p.memory).expect_err("nothing was loaded");
    assert_eq!(error.to_string(), "the program has loaded no callbacks of sched_ext");
}
