// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headers of all bundled kernels compile, and every struct has the kernel's layout: sizes and
//! offsets are asserted by the compiler.

use rota_headers::vmlinux;
use rota_object::btf::{Btf, Bundled, Type};
use std::collections::HashSet;
use std::fmt::Write as _;

#[test]
fn structs_are_laid_out_as_in_the_kernel() {
    for kernel in Bundled::all() {
        let btf = kernel.btf();
        let (mut text, mut seen, mut count) = (String::new(), HashSet::new(), 0);
        let _ = writeln!(text, "#define BPF_NO_PRESERVE_ACCESS_INDEX\n#include \"vmlinux.h\"");
        for id in btf.ids() {
            let (keyword, composite) = match btf.get(id) {
                Type::Struct(c) => ("struct", c),
                Type::Union(c) => ("union", c),
                _ => continue,
            };
            let name = composite.name;
            if name.is_empty() || !seen.insert(name) {
                continue;
            }
            count += 1;
            let _ = writeln!(
                text,
                "_Static_assert(sizeof({keyword} {name}) == {}, \"size of {name}\");",
                composite.size
            );
            for member in composite.members().filter(|m| m.bits == 0 && !m.name.is_empty()) {
                let _ = writeln!(
                    text,
                    "_Static_assert(__builtin_offsetof({keyword} {name}, {}) == {}, \"{name}.{}\");",
                    member.name,
                    member.bit_offset / 8,
                    member.name
                );
            }
        }
        assert!(count > 200, "{}: {count} structs", kernel.release);
        compile(kernel, &text);
    }
}

#[test]
fn functions_and_enumerators_of_each_kernel_are_declared() {
    for (release, insert, old) in
        [("6.12", "scx_bpf_dispatch", true), ("7.2", "scx_bpf_dsq_insert", false)]
    {
        let kernel = Bundled::find(release).expect("bundled");
        let text = format!(
            "#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n\
             SEC(\"struct_ops/e\") void f(u64 *ctx) {{ struct task_struct *p = (void *)ctx[0];\n\
             {insert}(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ctx[1]);\n\
             bpf_printk(\"%d %d\", p->pid, BPF_MAP_TYPE_TASK_STORAGE); }}\n"
        );
        compile(kernel, &text);
        let header = vmlinux(&kernel.btf(), &|name| name.starts_with("scx_bpf_"));
        assert_eq!(header.contains(" scx_bpf_dispatch("), old, "{release}");
        // the verifier passes it, programs do not
        assert!(!header.contains("struct bpf_prog_aux *aux) __weak"), "{release}");
    }
}

/// An int, a struct of it, a struct of that one, and so on.
fn nested(levels: u32) -> Btf {
    let strings = b"\0int\0inside\0";
    let mut types: Vec<u32> = vec![1, 1 << 24, 4, 32]; // BTF_KIND_INT of 4 bytes and 32 bits
    for level in 0..levels {
        // BTF_KIND_STRUCT with one member, of the type before
        types.extend([0, 4 << 24 | 1, 4, 5, level + 1, 0]);
    }
    let length = types.len() as u32 * 4;
    let header = [0x0001_eb9f, 24, 0, length, length, strings.len() as u32];
    let words = header.iter().chain(&types).flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = words.chain(strings.iter().copied()).collect();
    Btf::parse(&bytes).expect("legal")
}

#[test]
fn deep_structs_take_no_longer_for_each_level() {
    // three times as long for each level would not end
    let header = vmlinux(&nested(60), &|_| false);
    assert!(!header.is_empty());
}

fn compile(kernel: &Bundled, text: &str) {
    let scratch = tempfile::tempdir().expect("temporary folder");
    let at = |name: &str| scratch.path().join(name);
    let header = vmlinux(&kernel.btf(), &|name| name.starts_with("scx_bpf_"));
    std::fs::write(at("vmlinux.h"), header).expect("header");
    std::fs::create_dir(at("bpf")).expect("folder");
    for (name, text) in rota_headers::libbpf() {
        std::fs::write(at("bpf").join(name), text).expect("header");
    }
    std::fs::write(at("test.bpf.c"), text).expect("source");
    let clang = rota_clang::find().expect("a compiler");
    let mut args: Vec<std::ffi::OsString> = vec!["-D__TARGET_ARCH_x86".into()];
    args.extend(
        ["-I.", "-Werror=implicit-function-declaration", "-c", "test.bpf.c"].map(Into::into),
    );
    args.extend(["-o", "test.bpf.o"].map(Into::into));
    let run = rota_clang::run(&clang, scratch.path(), &args).expect("clang runs");
    let messages = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}: {messages}", kernel.release);
}
