//! The program that runs this cluster, in containers on the image `host`: a read-only mount and the last entry of
//! `PATH`, so that `trainyard` is a command wherever its file lies on the machine.

use std::path::{Path, PathBuf};

use containers::spec::{Bind, Mount};

use super::command;

/// The name of the command, whatever its file is called.
pub(crate) const NAME: &str = "trainyard";
/// `/run` is private to each container, so nothing of the machine is covered.
const FOLDER: &str = "/run/trainyard";
/// Other ways into `/run`.
const ALIASES: [&str; 2] = ["/run", "/var/run"];

/// Adds the program unless a volume of the container is in its place.
pub(super) fn mount(program: &Path, env: &mut Vec<(String, String)>, mounts: &mut Vec<Mount>) {
    let is_taken = |target: &Path| {
        ALIASES
            .iter()
            .any(|run| Path::new(run) == target || target.starts_with(Path::new(run).join(NAME)))
            || target == Path::new("/")
            || target == Path::new("/var")
    };
    if mounts.iter().any(|mount| is_taken(mount.target())) {
        return;
    }
    mounts.push(Mount::Bind(Bind {
        source: program.to_owned(),
        target: Path::new(FOLDER).join(NAME),
        read_only: true,
    }));
    add_to_path(env, Path::new(FOLDER));
}

/// Plain processes see the machine as it is: they find the program in the folder it is linked into.
pub(super) fn name(program: &Path, env: &mut Vec<(String, String)>) {
    if let Some(folder) = program.parent() {
        add_to_path(env, folder);
    }
}

fn add_to_path(env: &mut Vec<(String, String)>, folder: &Path) {
    let known = env.iter().find(|(name, _)| name == "PATH");
    let mut path = known.map(|(_, path)| path.clone()).unwrap_or_default();
    if !path.is_empty() {
        path.push(':');
    }
    path.push_str(&folder.to_string_lossy());
    command::replace(env, [("PATH".to_owned(), path)]);
}

/// Links the program into `folder` under its name; the link.
pub(crate) fn link(program: &Path, folder: &Path) -> std::io::Result<PathBuf> {
    let link = folder.join(NAME);
    std::fs::create_dir_all(folder)?;
    match std::fs::remove_file(&link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::os::unix::fs::symlink(program, &link)?;
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounted(target: &str) -> (Vec<(String, String)>, usize) {
        let mut env = vec![("PATH".to_owned(), "/bin".to_owned())];
        let mut mounts = vec![Mount::Memory {
            target: target.into(),
            bytes: None,
        }];
        mount(Path::new("/home/ada/bin/trainyard-1"), &mut env, &mut mounts);
        (env, mounts.len())
    }

    #[test]
    fn the_program_is_the_last_of_the_path() {
        let (env, mounts) = mounted("/run/secrets");
        assert_eq!(env, [("PATH".to_owned(), "/bin:/run/trainyard".to_owned())]);
        assert_eq!(mounts, 2);
    }

    #[test]
    fn a_volume_in_its_place_is_left_alone() {
        for target in ["/run", "/var/run", "/run/trainyard", "/run/trainyard/trainyard"] {
            let (env, mounts) = mounted(target);
            assert_eq!((env[0].1.as_str(), mounts), ("/bin", 1), "{target}");
        }
    }

    #[test]
    fn a_link_has_the_name_of_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("program");
        link(Path::new("/old"), &folder).unwrap();
        let made = link(Path::new("/new"), &folder).unwrap();
        assert_eq!(made, folder.join("trainyard"));
        assert_eq!(std::fs::read_link(made).unwrap(), Path::new("/new"));
    }
}
