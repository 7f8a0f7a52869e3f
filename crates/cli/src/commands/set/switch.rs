// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another policy in place of the one that schedules.

use crate::error::Error;
use crate::object;
use rota_kernel::control::{Client, ClientError, Description, Switch};
use rota_session::Wanted;
use std::path::Path;

/// From what the user wrote, as `rota compare` takes it. Files get their absolute path: `rota run` may
/// be in another folder.
pub(crate) fn wanted(text: &str) -> Result<Switch, Error> {
    let wanted = Wanted::parse(text)?;
    if wanted.is_program {
        let what = "expected a policy or a file: a program loads its scheduler itself";
        return Err(Error::input(format!("policy \"{text}\": {what}")));
    }
    object::known(&wanted.policy)?;
    let mut policy = match object::is_shipped(&wanted.policy) {
        true => wanted.policy.clone(),
        false => absolute(Path::new(&wanted.policy))?,
    };
    if let Some(label) = &wanted.label {
        policy = format!("{label}={policy}");
    }
    let manifest = wanted.manifest_file().map(absolute).transpose()?;
    Ok(Switch { policy, manifest, tunables: wanted.set })
}

fn absolute(file: &Path) -> Result<String, Error> {
    let path = file.canonicalize().map_err(|error| Error::file("read", file, &error))?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::input(format!("{}: expected a name in UTF-8", path.display())))
}

/// Switches, and returns when the other policy schedules, with its tunables.
pub(crate) fn switch(client: &mut Client, to: Switch) -> Result<Description, Error> {
    let running = client.switch(to).map_err(|error| match error {
        // It was there to take the request.
        ClientError::Gone => Error::Failure(
            "the policy did not stay: rota run ended, and says why; \
             the kernel's own scheduler runs now"
                .into(),
        ),
        error => error.into(),
    })?;
    match running.not_switched {
        Some(why) => Err(Error::Failure(format!("{why}; {} goes on", running.policy))),
        None => Ok(running),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_named_with_their_settings_as_for_comparisons() {
        let to = wanted("wfq:quantum_ns=2ms").expect("a policy");
        let tunables = vec![("quantum_ns".to_owned(), "2ms".to_owned())];
        assert_eq!(to, Switch { policy: "wfq".into(), manifest: None, tunables });
    }

    #[test]
    fn files_are_named_by_their_whole_path() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = |name: &str| {
            let path = dir.path().canonicalize().expect("is there").join(name);
            std::fs::write(&path, "").expect("written");
            path.display().to_string()
        };
        let (object, manifest) = (file("mine.bpf.o"), file("mine.toml"));
        let folder = dir.path().file_name().expect("has a name");
        let around = dir.path().join("..").join(folder).display().to_string();
        let to = wanted(&format!("{around}/mine.bpf.o:@{around}/mine.toml")).expect("a policy");
        assert_eq!((to.policy, to.manifest), (object, Some(manifest)));
    }

    #[test]
    fn what_is_no_policy_is_said_before_anybody_is_asked() {
        let refused = |text: &str| wanted(text).expect_err("no policy").to_string();
        let unknown = refused("vttr");
        assert!(unknown.contains("vttr") && unknown.contains("vtrr"), "{unknown}");
        let missing = refused("/nonexistent/x.bpf.o");
        assert!(missing.contains("/nonexistent/x.bpf.o"), "{missing}");
        let program = refused("-- scx_lavd");
        assert!(program.contains("loads its scheduler itself"), "{program}");
        let setting = refused("wfq:quantum_ns");
        assert!(setting.contains("expected NAME=VALUE"), "{setting}");
    }
}
