// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of policies whose instructions take no time.

use rota_machine::config::Config;
use rota_object::image::Image;

/// `instructions take no time: eevdf stands for Linux's fair class`. `None`: none of these policies
/// stands for a kernel's own class, or nothing is charged on this machine anyway.
pub(crate) fn note<'a>(
    policies: impl IntoIterator<Item = (&'a str, &'a Image)>,
    config: &Config,
) -> Option<String> {
    if config.costs.insn_ps == 0 {
        return None;
    }
    let of = |(name, image)| Some(format!("{name} stands for {}", rota_sim::stands_for(image)?));
    let told: Vec<String> = policies.into_iter().filter_map(of).collect();
    (!told.is_empty()).then(|| format!("instructions take no time: {}", told.join(", ")))
}
