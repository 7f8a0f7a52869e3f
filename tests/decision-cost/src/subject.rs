// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is timed: a policy's object, with its tunables set.

use crate::elf;
use crate::failure::Failure;
use crate::link::join;
use rota_machine::kernel::Kernel;
use rota_object::btf::reference;
use rota_object::image::Image;
use rota_object::link::{link, Object};
use std::path::Path;

/// A policy to time.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Name, for the table.
    pub name: String,
    /// Its object.
    pub object: Vec<u8>,
}

impl Subject {
    /// A policy that ships, or a file (`.bpf.c`, `.bpf.o`), with what to set:
    /// `wfq:queue=list:quantum_ns=2ms`. What has another value in a kernel has it here, too, as
    /// `rota run` loads it: eevdf has no groups unless told.
    pub fn named(text: &str) -> Result<Self, Failure> {
        let mut parts = text.split(':');
        let policy = parts.next().unwrap_or_default();
        let mut set: Vec<String> = parts.map(str::to_owned).collect();
        let subject = if policy.ends_with(".c") || policy.ends_with(".o") {
            Self::file(Path::new(policy))?
        } else {
            let shipped = rota_catalog::find(policy).map_err(|e| Failure::object(policy, e))?;
            Self { name: policy.into(), object: shipped.object.to_vec() }
        };
        for (name, value) in subject.link(&subject.object)?.values_in_kernel() {
            if !set.iter().any(|set| set.split('=').next() == Some(&name)) {
                set.push(format!("{name}={value}"));
            }
        }
        subject.with(set.iter().map(String::as_str))
    }

    fn link(&self, object: &[u8]) -> Result<Image, Failure> {
        let parsed =
            Object::parse(&self.name, object).map_err(|e| Failure::object(&self.name, e))?;
        link(&parsed, &reference(), &Kernel::default()).map_err(|e| Failure::object(&self.name, e))
    }

    /// From a file: source is compiled.
    pub fn file(path: &Path) -> Result<Self, Failure> {
        let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = shown.split('.').next().unwrap_or_default().to_owned();
        let error = |reason: String| Failure::Object { policy: shown.clone(), reason };
        let object = if shown.ends_with(".c") {
            rota_catalog::compile(path, &[], &[]).map_err(|e| error(e.to_string()))?
        } else {
            std::fs::read(path).map_err(|e| error(e.to_string()))?
        };
        Ok(Self { name, object })
    }

    /// The same with tunables set, `NAME=VALUE`; that becomes part of its name. The values
    /// are written into the object, as neither the kernel nor the simulator then needs to
    /// know of them.
    pub fn with<'a>(self, set: impl IntoIterator<Item = &'a str>) -> Result<Self, Failure> {
        let set: Vec<&str> = set.into_iter().collect();
        if set.is_empty() {
            return Ok(self);
        }
        let failure = |reason: String| Failure::object(&self.name, reason);
        // a linker leaves out DWARF, which the writer of ELF files does not take
        let object = join(&[&self.object]).map_err(failure)?;
        let mut image = self.link(&object)?;
        let mut elf = elf::read(&object).map_err(failure)?;
        for setting in &set {
            let (name, value) = setting
                .split_once('=')
                .ok_or_else(|| failure(format!("\"{setting}\": expected NAME=VALUE")))?;
            image.set_variable(name, value).map_err(|e| failure(e.to_string()))?;
            let variable = image.variables.iter().find(|v| v.name == name);
            let bytes = variable.and_then(|v| {
                let section = image.maps.get(v.map.0 as usize)?.initial.as_ref()?;
                Some(section.get(v.offset as usize..(v.offset + v.size) as usize)?.into_owned())
            });
            let bytes = bytes.ok_or_else(|| failure(format!("{name} is no whole variable")))?;
            elf::set_variable(&mut elf, name, &bytes).map_err(failure)?;
        }
        let object = elf::write(elf).map_err(failure)?;
        Ok(Self { name: format!("{}:{}", self.name, set.join(":")), object })
    }
}

#[cfg(test)]
mod tests {
    use super::Subject;
    use crate::measure::load;
    use crate::simulate::simulate;

    #[test]
    fn a_setting_is_part_of_the_object_and_of_its_name() {
        let instructions = |text: &str| {
            let subject = Subject::named(text).unwrap();
            assert_eq!(subject.name, text);
            simulate(&subject.name, &subject.object, &load(100), 500).unwrap().instructions
        };
        // a walk of 100 clients takes more than two instructions each
        assert!(instructions("wfq:queue=list") > instructions("wfq") + 200.0);
        assert_eq!(instructions("wfq:queue=heap"), instructions("wfq"));
    }

    #[test]
    fn a_policy_is_as_a_kernel_loads_it_unless_told() {
        let named = |policy: &str| Subject::named(policy).unwrap().name;
        assert_eq!(named("eevdf"), "eevdf:cgroups=false:newidle_cost_ns=0:tied_stay=true");
        assert_eq!(
            named("eevdf:cgroups=true"),
            "eevdf:cgroups=true:newidle_cost_ns=0:tied_stay=true"
        );
        let asked = "eevdf:tied_stay=false:cgroups=true:newidle_cost_ns=5";
        assert_eq!(named(asked), asked);
        assert_eq!(Subject::named("cfs").unwrap().name, "cfs");
    }

    #[test]
    fn what_cannot_be_set_is_named() {
        for (text, said) in [
            ("wfq:queue", "\"queue\": expected NAME=VALUE"),
            ("wfq:queue=tree", "tree"),
            ("wfq:length=3", "length"),
            ("wqf", "wfq"),
        ] {
            let error = Subject::named(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
