//! Values of arguments that name something: kinds, schedulers, objects, lengths of time.

use std::time::Duration;

use resources::{Kind, kinds::ALL};

/// Kinds by one name.
#[derive(Clone, Debug)]
pub(crate) enum Kinds {
    Jobs(Vec<&'static Kind>),
    /// Those of pipelines, which go together.
    Workflows,
}

#[derive(Clone, Debug)]
pub(crate) struct Gang(pub training::Gang);

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub namespace: String,
    pub name: String,
}

pub(crate) const WORKFLOWS: [&str; 4] = ["workflows.argoproj.io", "workflows", "workflow", "wf"];

/// By plural, singular, kind or definition, in any case.
pub(crate) fn kinds(text: &str) -> Result<Kinds, String> {
    let wanted = text.trim().to_lowercase();
    if WORKFLOWS.contains(&wanted.as_str()) {
        return Ok(Kinds::Workflows);
    }
    let names = |kind: &Kind| {
        let short = kind.short_names.iter().map(|name| (*name).to_owned());
        let mut names = vec![
            kind.plural.to_owned(),
            kind.kind.to_lowercase(),
            kind.definition(),
        ];
        names.extend(short);
        names
    };
    let found: Vec<&'static Kind> = ALL
        .into_iter()
        .filter(|kind| names(kind).contains(&wanted))
        .collect();
    if found.is_empty() {
        let mut known: Vec<String> = ALL.iter().map(|kind| kind.definition()).collect();
        known.push(WORKFLOWS[0].to_owned());
        return Err(format!("known kinds are {}", known.join(", ")));
    }
    Ok(Kinds::Jobs(found))
}

impl From<&str> for Gang {
    fn from(text: &str) -> Self {
        Self(match text.to_lowercase().as_str() {
            "" | "none" => training::Gang::None,
            "volcano" => training::Gang::Volcano,
            _ => training::Gang::SchedulerPlugins {
                scheduler: text.to_owned(),
            },
        })
    }
}

pub(crate) fn gang_name(gang: &training::Gang) -> &str {
    match gang {
        training::Gang::None | training::Gang::Embedded => "none",
        training::Gang::Volcano => "volcano",
        training::Gang::SchedulerPlugins { scheduler } => scheduler,
    }
}

/// `NAMESPACE/NAME`.
pub(crate) fn object(text: &str) -> Result<Object, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => Ok(Object {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }),
        _ => Err("NAMESPACE/NAME is meant".to_owned()),
    }
}

/// `15s`, `1m`, `500ms` or a number of seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no length of time such as 15s");
    let (number, unit) = match text.find(|letter: char| letter.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * factor)
        .ok()
        .filter(|length| !length.is_zero())
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_all_their_names() {
        let jobs = |name: &str| match kinds(name) {
            Ok(Kinds::Jobs(found)) => found,
            other => panic!("{name}: {other:?}"),
        };
        for name in ["mpijobs", "MPIJob", "mpijobs.kubeflow.org", "mj"] {
            assert_eq!(jobs(name), [&resources::kinds::MPI_JOB]);
        }
        assert_eq!(jobs("mxjobs").len(), 3);
        assert_eq!(jobs("mxjobs.mlkube.io").len(), 1);
        assert!(matches!(kinds("Workflows"), Ok(Kinds::Workflows)));
        assert!(kinds("jobs").unwrap_err().contains("tfjobs.kubeflow.org"));
    }

    #[test]
    fn lengths_of_time_have_units() {
        assert_eq!(seconds("15s").unwrap().as_secs(), 15);
        assert_eq!(seconds("2").unwrap().as_secs(), 2);
        assert_eq!(seconds("250ms").unwrap().as_millis(), 250);
        assert!(seconds("0").is_err());
        assert!(seconds("1h").is_err());
    }

    #[test]
    fn a_scheduler_that_is_not_volcano_has_the_plugin() {
        assert_eq!(Gang::from("Volcano").0, training::Gang::Volcano);
        assert_eq!(Gang::from("none").0, training::Gang::None);
        assert_eq!(gang_name(&Gang::from("my-scheduler").0), "my-scheduler");
    }
}
