//! What a program in a pod of this machine finds of its caller: the working directory, the programs on the
//! caller's PATH, and who the caller is.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::process::{getgid, getuid};

use super::{Mount, Workspace};
use crate::{Surroundings, advised};

/// Variables that programs need to be found and to find what belongs to them. Nothing else is passed on:
/// a job's variables can be read by everybody who may read jobs.
const PASSED_ON: [&str; 12] = [
    "CONDA_DEFAULT_ENV",
    "CONDA_PREFIX",
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "PYTHONPATH",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
];

/// What every container has for itself, so that the host's is out of sight.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

/// The workspace of a program that this user runs here.
pub(super) fn of(
    surroundings: &Surroundings,
    program: &str,
    further: &[String],
    has_host_image: bool,
) -> Result<Workspace> {
    let directory = surroundings.directory.as_deref();
    let directory = directory.context("the working directory is not there any more")?;
    if directory == Path::new("/") {
        return Err(advised(
            "the working directory is `/`, which a job cannot have for itself",
            "change into the folder of your program",
        ));
    }
    let mut mounts = vec![mount(directory, false)?];
    for wish in further {
        let (path, read_only) = match wish.strip_suffix(":ro") {
            Some(path) => (path, true),
            None => (wish.as_str(), false),
        };
        let path = std::fs::canonicalize(directory.join(path))
            .with_context(|| format!("there is no `{path}` to mount"))?;
        mounts.push(mount(&path, read_only)?);
    }
    let (user, group) = (getuid(), getgid());
    if has_host_image {
        let program = directory.join(program);
        if program.is_file() && is_hidden(&program, surroundings.home.as_deref()) {
            mounts.push(optional(&program)?);
        }
        for folder in programs(surroundings, &|path| std::fs::canonicalize(path).ok()) {
            mounts.push(optional(&folder)?);
        }
    }
    let variables = PASSED_ON.iter().filter(|_| has_host_image).filter_map(|name| {
        let value = surroundings.environment.get(*name)?;
        Some(((*name).to_owned(), value.clone()))
    });
    Ok(Workspace {
        directory: Some(text(directory)?),
        mounts: without_nested(mounts),
        user: (!user.is_root()).then(|| (user.as_raw(), group.as_raw())),
        environment: variables.collect(),
    })
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str();
    text.map(str::to_owned)
        .with_context(|| format!("`{}` is not text, which paths of a job must be", path.display()))
}

fn mount(path: &Path, read_only: bool) -> Result<Mount> {
    Ok(Mount {
        path: text(path)?,
        is_file: path.is_file(),
        read_only,
        is_optional: false,
    })
}

fn optional(path: &Path) -> Result<Mount> {
    let is_optional = true;
    Ok(Mount {
        is_optional,
        ..mount(path, true)?
    })
}

/// Takes out what a cluster of this tier cannot give, or gives unasked: plain processes see everything as
/// it is, and what is root's is out of sight for the cluster of somebody else.
pub(super) fn fit(workspace: &mut Workspace, tier: Option<&str>) {
    let sees_programs = match tier {
        Some("process") => false,
        Some("rootless") => workspace.user.is_some(),
        _ => true,
    };
    workspace
        .mounts
        .retain(|mount| sees_programs || !mount.is_optional);
}

/// Folders of programs and of what they load that a container would not see otherwise. `real` resolves
/// links, and gives nothing where nothing is.
fn programs(surroundings: &Surroundings, real: &dyn Fn(&Path) -> Option<PathBuf>) -> Vec<PathBuf> {
    let variable = |name: &str| surroundings.environment.get(name).map(PathBuf::from);
    let home = surroundings.home.as_deref();
    let environments: Vec<PathBuf> = [variable("VIRTUAL_ENV"), variable("CONDA_PREFIX")]
        .into_iter()
        .flatten()
        .collect();
    // The interpreter of a virtual environment is a link to one that may be anywhere.
    let interpreters = environments.iter().filter_map(|folder| {
        let program = real(&folder.join("bin/python"))?;
        Some(program.parent()?.parent()?.to_owned())
    });
    let path = surroundings.environment.get("PATH").into_iter();
    let on_path = path
        .flat_map(std::env::split_paths)
        .map(|folder| installation(&folder, home));
    let of_user = home
        .into_iter()
        .flat_map(|home| OF_USER.map(|folder| home.join(folder)));
    let all = interpreters
        .chain(environments.iter().cloned())
        .chain(on_path)
        .chain(of_user);
    let mut found: Vec<PathBuf> = all
        .filter(|folder| folder.is_absolute() && is_hidden(folder, home) && real(folder).is_some())
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Where installers for one user put what the programs in `~/.local/bin` are made of.
const OF_USER: [&str; 3] = [".local/lib", ".local/share/pipx", ".local/share/uv"];

/// What a folder of programs belongs to: `~/.pyenv` for `~/.pyenv/shims`.
fn installation(programs: &Path, home: Option<&Path>) -> PathBuf {
    let is_part = ["bin", "condabin", "sbin", "shims"]
        .iter()
        .any(|name| programs.ends_with(name));
    let whole = programs.parent().filter(|whole| {
        let is_too_much = home.is_some_and(|home| **whole == home.join(".local"));
        is_part && is_hidden(whole, home) && !is_too_much
    });
    whole.unwrap_or(programs).to_owned()
}

/// Whether containers have something else in its place.
fn is_hidden(folder: &Path, home: Option<&Path>) -> bool {
    let private = PRIVATE.iter().map(Path::new).chain(home);
    private
        .into_iter()
        .any(|place| folder.starts_with(place) && folder != place)
}

/// A folder that is inside of one before it, and may be no more than that, is there already.
fn without_nested(mounts: Vec<Mount>) -> Vec<Mount> {
    let mut kept: Vec<Mount> = Vec::new();
    for mount in mounts {
        let is_there = kept.iter().any(|other| {
            Path::new(&mount.path).starts_with(&other.path) && (mount.read_only || !other.read_only)
        });
        if !is_there {
            kept.push(mount);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(variables: &[(&str, &str)]) -> Surroundings {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Surroundings {
            home: Some("/home/ada".into()),
            environment: variables.iter().map(pair).collect(),
            ..Surroundings::default()
        }
    }

    #[test]
    fn what_containers_have_for_themselves_is_brought_and_nothing_else() {
        let surroundings = surroundings(&[
            (
                "PATH",
                "/home/ada/venv/bin:/usr/bin:/home/ada/gone:relative:/home/ada/.pyenv/shims:/home/ada/.local/bin:/home/ada/bin",
            ),
            ("VIRTUAL_ENV", "/home/ada/venv"),
        ]);
        let real = |path: &Path| match path.to_str().unwrap() {
            "/home/ada/venv/bin/python" => Some("/home/ada/.uv/python3.13/bin/python3.13".into()),
            path if path.contains("gone") || path.contains("pipx") || path.contains("share/uv") => None,
            _ => Some(path.to_owned()),
        };
        let found = programs(&surroundings, &real);
        let expected = [
            "/home/ada/.local/bin",
            "/home/ada/.local/lib",
            "/home/ada/.pyenv",
            "/home/ada/.uv/python3.13",
            "/home/ada/bin",
            "/home/ada/venv",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn programs_are_left_out_where_the_cluster_cannot_give_them() {
        let mount = |path: &str, is_optional| Mount {
            path: path.to_owned(),
            is_file: false,
            read_only: is_optional,
            is_optional,
        };
        let left = |user, tier| {
            let mounts = vec![mount("/w", false), mount("/root/.pyenv", true)];
            let mut workspace = Workspace {
                mounts,
                user,
                ..Workspace::default()
            };
            fit(&mut workspace, tier);
            workspace.mounts.len()
        };
        assert_eq!(left(None, Some("root")), 2);
        assert_eq!(
            left(None, Some("rootless")),
            1,
            "root's own, for somebody else's cluster"
        );
        assert_eq!(left(Some((7, 7)), Some("rootless")), 2);
        assert_eq!(left(Some((7, 7)), Some("process")), 1);
    }

    #[test]
    fn nothing_is_mounted_twice() {
        let mount = |path: &str, read_only| Mount {
            path: path.to_owned(),
            is_file: false,
            read_only,
            is_optional: false,
        };
        let kept = without_nested(vec![
            mount("/w", false),
            mount("/w/.venv", true),
            mount("/data", true),
            mount("/data/out", false),
        ]);
        assert_eq!(
            kept,
            [
                mount("/w", false),
                mount("/data", true),
                mount("/data/out", false)
            ]
        );
    }
}
