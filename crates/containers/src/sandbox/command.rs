//! Finding and becoming the container's program.

use std::{convert::Infallible, ffi::CString, fs, os::unix::ffi::OsStrExt as _, path::PathBuf};

use nix::{errno::Errno, unistd::execve};

use crate::protocol::{Failure, FailureKind};

/// Where programs are looked for when the environment does not say.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Replaces this process by `argv`, looked up in the container's own `PATH`.
pub(super) fn run(argv: &[String], env: &[(String, String)], user: u32) -> Result<Infallible, Failure> {
    let Some(program) = argv.first().filter(|program| !program.is_empty()) else {
        return Err(Failure::new(FailureKind::CommandNotFound, "no command specified"));
    };
    let env = with_defaults(env, || home_of(user));
    let search = env
        .iter()
        .find(|(name, _)| name == "PATH")
        .map_or("", |(_, value)| value);
    let arguments = c_strings(argv.iter().cloned())?;
    let environment = c_strings(env.iter().map(|(name, value)| format!("{name}={value}")))?;

    let mut refusal = Errno::ENOENT;
    for candidate in candidates(program, search) {
        let path = CString::new(candidate.as_os_str().as_bytes()).unwrap_or_default();
        let Err(errno) = execve(&path, &arguments, &environment);
        match errno {
            Errno::ENOENT | Errno::ENOTDIR if !candidate.exists() => {}
            other => refusal = other,
        }
    }
    Err(explain(program, refusal))
}

/// What any program may rely on.
fn with_defaults(env: &[(String, String)], home: impl FnOnce() -> String) -> Vec<(String, String)> {
    let mut env = env.to_vec();
    let has = |env: &[(String, String)], wanted: &str| env.iter().any(|(name, _)| name == wanted);
    if !has(&env, "PATH") {
        env.push(("PATH".to_owned(), DEFAULT_PATH.to_owned()));
    }
    if !has(&env, "HOME") {
        env.push(("HOME".to_owned(), home()));
    }
    env
}

/// Below this, users are services of the system; their homes are folders of programs such as `/bin`.
const FIRST_PERSON: u32 = 1000;

/// The home of a user who has one for itself.
pub(super) fn own_home(user: u32) -> Option<PathBuf> {
    let is_person = user == 0 || user >= FIRST_PERSON;
    let home = PathBuf::from(home_of(user));
    (is_person && home.parent().is_some()).then_some(home)
}

/// The user's home by the container's own list of users.
fn home_of(user: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    home_in(&users, user).unwrap_or("/").to_owned()
}

fn home_in(users: &str, user: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let fields: Vec<_> = line.split(':').collect();
        (fields.get(2)?.parse() == Ok(user))
            .then(|| fields.get(5).copied())
            .flatten()
    })
}

fn candidates(program: &str, search: &str) -> Vec<PathBuf> {
    if program.contains('/') {
        return vec![PathBuf::from(program)];
    }
    let folder = |folder: &str| PathBuf::from(if folder.is_empty() { "." } else { folder });
    search.split(':').map(|name| folder(name).join(program)).collect()
}

fn explain(program: &str, errno: Errno) -> Failure {
    let (kind, reason) = match errno {
        Errno::ENOENT if program.contains('/') => (
            FailureKind::CommandNotFound,
            format!("stat {program}: no such file or directory"),
        ),
        Errno::ENOENT => (
            FailureKind::CommandNotFound,
            "executable file not found in $PATH".to_owned(),
        ),
        other => (FailureKind::CommandNotExecutable, other.desc().to_lowercase()),
    };
    Failure::new(kind, format!("exec: \"{program}\": {reason}"))
}

fn c_strings(texts: impl Iterator<Item = String>) -> Result<Vec<CString>, Failure> {
    texts
        .map(|text| {
            CString::new(text).map_err(|_| {
                Failure::new(
                    FailureKind::Invalid,
                    "arguments and environment cannot hold a zero byte",
                )
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::{candidates, explain, home_in};
    use crate::protocol::FailureKind;

    #[test]
    fn a_plain_name_is_looked_for_in_each_folder_of_the_path() {
        let found = candidates("sh", "/usr/bin:/bin");
        assert_eq!(found, ["/usr/bin/sh", "/bin/sh"].map(std::path::PathBuf::from));
        assert_eq!(candidates("./run", "/bin"), [std::path::PathBuf::from("./run")]);
    }

    #[test]
    fn a_missing_program_and_a_forbidden_one_are_told_apart() {
        let missing = explain("train", Errno::ENOENT);
        assert_eq!(missing.kind, FailureKind::CommandNotFound);
        assert_eq!(
            missing.message,
            "exec: \"train\": executable file not found in $PATH"
        );
        let forbidden = explain("/etc/passwd", Errno::EACCES);
        assert_eq!(forbidden.exit_code(), 126);
        assert_eq!(forbidden.message, "exec: \"/etc/passwd\": permission denied");
    }

    #[test]
    fn home_comes_from_the_list_of_users() {
        let users = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(home_in(users, 1000), Some("/home/ann"));
        assert_eq!(home_in(users, 7), None);
    }
}
