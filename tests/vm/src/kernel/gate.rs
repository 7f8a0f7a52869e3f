// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that look as if they had sched_ext but refuse every scheduler.

use rota_bpf::btf::{Btf, Kind, Type};

/// The first `scx_bpf_*` function that shows its implicit `bpf_prog_aux` argument although there
/// is no `_impl` twin to take it: calls of it do not fit its prototype, for any program.
pub(crate) fn malformed_kfunc(btf: &Btf) -> Option<&str> {
    btf.ids().filter(|id| btf.kind(*id) == Kind::Func).find_map(|id| {
        let Type::Func(name, prototype, _) = btf.get(id) else { return None };
        let Type::FuncProto(prototype) = btf.get(prototype) else { return None };
        let shows_aux = name.starts_with("scx_bpf_")
            && !name.ends_with("_impl")
            && prototype.params().any(|param| param.name == "aux");
        let has_twin = || btf.find(Kind::Func, &format!("{name}_impl")).is_some();
        (shows_aux && !has_twin()).then_some(name)
    })
}
