//! The words that launchers call a remote shell with: options of `ssh`, a host, a command.

use anyhow::{Context as _, Result, ensure};

/// Options of `ssh` that a value follows.
const WITH_VALUE: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// What to run, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) pod: String,
    pub(super) command: String,
}

pub(super) fn read(words: &[String]) -> Result<Target> {
    let mut words = words.iter();
    let host = loop {
        let word = words.next().context("no host is named")?;
        match word.strip_prefix('-') {
            None => break word,
            // `-p 22`, but `-p22`.
            Some(option) if option.len() == 1 && WITH_VALUE.contains(option) => drop(words.next()),
            Some(_) => {}
        }
    };
    let command: Vec<&str> = words.map(String::as_str).collect();
    ensure!(!command.is_empty(), "there is no command for `{host}`");
    let pod = pod_of(host).map_err(|why| anyhow::anyhow!("`{host}`: {why}"))?;
    Ok(Target {
        pod,
        command: command.join(" "),
    })
}

/// The pod of a host: launchers know it by its name, or by that and the domain it is in.
pub(crate) fn pod_of(host: &str) -> Result<String, String> {
    let host = host.rsplit('@').next().unwrap_or_default();
    let pod = host.split('.').next().unwrap_or_default();
    let is_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if pod.is_empty() || !pod.bytes().all(is_label) {
        return Err("no pod has such a name".to_owned());
    }
    Ok(pod.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(line: &str) -> Result<Target> {
        read(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_of_ssh_are_passed_over() {
        for line in [
            "w-0 orted -x y",
            "-x -o ConnectionAttempts=10 w-0 orted -x y",
            "-p22 -l mpi me@w-0.job.team.svc orted -x y",
        ] {
            let expected = Target {
                pod: "w-0".to_owned(),
                command: "orted -x y".to_owned(),
            };
            assert_eq!(target(line).unwrap(), expected, "{line}");
        }
        for wrong in ["", "-x", "w-0", "-o w-0"] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn hosts_are_pods_by_their_first_label() {
        assert_eq!(pod_of("worker-0").unwrap(), "worker-0");
        assert_eq!(pod_of("worker-0.job.default.svc").unwrap(), "worker-0");
        for wrong in ["", ".job", "a/b", "Worker"] {
            assert!(pod_of(wrong).is_err(), "{wrong}");
        }
    }
}
