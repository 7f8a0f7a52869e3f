// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to do about a source that does not compile, from the compiler's messages.

use rota_object::btf::{Btf, Bundled, Kind};
use std::path::PathBuf;

/// Hints to show, one line each.
const MOST: usize = 4;
const SCX_HEADERS: &str = "it is one of sched_ext's headers: name their folder with --include \
     (tools/sched_ext/include of the kernel's source, scheds/include of github.com/sched-ext/scx), or \
     run `cargo vendor` on a crate that depends on scx_cargo and name its bpf_h";

/// The header that the compiler did not find.
pub fn missing_header(messages: &str) -> Option<&str> {
    messages.lines().find_map(|line| {
        let (_, rest) = line.split_once("fatal error: '")?;
        let (name, rest) = rest.split_once('\'')?;
        rest.starts_with(" file not found").then_some(name)
    })
}

const OTHER_HEADERS: &str = "sched_ext's headers are of another version than the source: name the \
     folder of those that it was written for with --include";

/// What the user can do about each of the compiler's messages that is understood. `release` is the
/// kernel that was compiled for, `found` a folder of headers that the user did not name.
pub fn of(messages: &str, release: &str, found: Option<&PathBuf>) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    if let Some(header) = missing_header(messages) {
        let scx = header.starts_with("scx/") || header.starts_with("lib/");
        let how = if scx { SCX_HEADERS } else { "name its folder with --include DIR" };
        hints.push(format!("{header}: {how}"));
    }
    for line in messages.lines() {
        let Some(hint) = of_line(line, release) else { continue };
        if !hints.contains(&hint) && hints.len() < MOST {
            hints.push(hint);
        }
    }
    let is_other = ["few", "many"].iter().any(|much| {
        messages.contains(&format!("too {much} arguments provided to function-like macro"))
    });
    let is_newer =
        messages.lines().any(|line| line.contains("/scx/") && line.contains("incomplete"));
    match found {
        Some(folder) if is_other || is_newer || !hints.is_empty() => hints.push(format!(
            "sched_ext's headers are those of {}: if the source is for others, name them with --include",
            folder.display()
        )),
        None if is_other || is_newer => hints.push(OTHER_HEADERS.to_owned()),
        _ => {}
    }
    hints
}

fn of_line(line: &str, release: &str) -> Option<String> {
    let quoted = |before: &str| line.split_once(before)?.1.split('\'').next();
    let name = quoted("call to undeclared function '").or(quoted("use of undeclared identifier '"));
    let (what, having) = match (name, quoted("no member named '"), quoted("' in '")) {
        (Some(name), ..) => {
            let has =
                |btf: &Btf| btf.find(Kind::Func, name).is_some() || btf.enum_value(name).is_some();
            (name.to_owned(), releases(has))
        }
        (_, Some(member), Some(tag)) => {
            let tag = tag.trim_start_matches("struct ");
            let has = |btf: &Btf| btf.member_at(tag, member).is_some();
            (format!("{tag}.{member}"), releases(has))
        }
        _ => return None,
    };
    match having.as_slice() {
        _ if having.contains(&release) => None,
        [] => None,
        [only] => Some(format!("Linux {release} has no {what}, but {only}: --kernel {only}")),
        [first, ..] => {
            let all = having.join(", ");
            Some(format!("Linux {release} has no {what}, but {all}: --kernel {first}"))
        }
    }
}

fn releases(has: impl Fn(&Btf) -> bool) -> Vec<&'static str> {
    let having = |kernel: &&Bundled| has(&kernel.btf());
    Bundled::all().iter().filter(having).map(|kernel| kernel.release).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_another_kernel_is_told_with_that_kernel() {
        let message = "a.bpf.c:7:2: error: call to undeclared function 'scx_bpf_dispatch'; ISO C99";
        let hints = of(message, "7.2", None);
        // 6.13 renamed it, and 6.16 is the last of ours that has the old name, too
        assert_eq!(
            hints,
            ["Linux 7.2 has no scx_bpf_dispatch, but 6.12, 6.16: --kernel 6.12".to_owned()]
        );
        assert!(of(message, "6.12", None).is_empty());
        let message = "a.c:1:1: error: no member named 'sub_attach' in 'struct sched_ext_ops'";
        assert!(of(message, "6.12", None)[0].contains("has no sched_ext_ops.sub_attach, but"));
        assert!(of("a.c:1:1: error: use of undeclared identifier 'foo'", "7.2", None).is_empty());
    }

    #[test]
    fn headers_that_were_found_are_named_where_they_may_be_others() {
        let message =
            "a.bpf.c:2:9: error: too few arguments provided to function-like macro invocation";
        let found = PathBuf::from("/usr/include");
        let hints = of(message, "7.2", Some(&found));
        assert!(hints[0].contains("those of /usr/include") && hints[0].contains("--include"));
        assert_eq!(of(message, "7.2", None), [OTHER_HEADERS]);
    }

    #[test]
    fn a_missing_header_is_told_with_where_it_is_from() {
        let message = "a.bpf.c:1:10: fatal error: 'scx/common.bpf.h' file not found";
        assert_eq!(missing_header(message), Some("scx/common.bpf.h"));
        assert!(of(message, "7.2", None)[0].contains("--include"));
        assert!(
            of("a.c:1:10: fatal error: 'mine.h' file not found", "7.2", None)[0].contains("mine.h")
        );
    }
}
