//! Changes of what is served while it is: which versions of the model, and what they are called.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use tokio::sync::oneshot;

use crate::{
    app::App,
    catalogue::{Choice, Wishes},
    failure::{Code, Failure, Outcome},
    folder,
    loader::Order,
    proto::{
        config::{ModelConfig, ReloadConfigRequest, ReloadConfigResponse, VersionPolicy},
        prediction::StatusProto,
    },
    versions::{Policy, chosen},
};

/// Takes a configuration over, and answers when the versions it wants are there.
pub(super) async fn reload(app: &App, request: ReloadConfigRequest) -> Outcome<ReloadConfigResponse> {
    let list = request.config.and_then(|config| config.model_config_list);
    let list = list.ok_or_else(|| Failure::invalid("the request has no `config.model_config_list`"))?;
    let wishes = wishes(&app.catalogue.name, &app.base, &list.config)?;
    let there = folder::versions(&app.base).unwrap_or_default();
    can_be_had(&wishes, &there.into_keys().collect())?;
    let needed = needed(&wishes);
    let before = app.catalogue.wishes();
    app.catalogue.wish(wishes);
    let (looked, done) = oneshot::channel();
    let stopping = || Failure::new(Code::Unavailable, "the server is stopping");
    app.loader.send(Order::Look(looked)).map_err(|_| stopping())?;
    done.await.map_err(|_| stopping())?;
    for version in needed {
        let there = app
            .catalogue
            .find(&app.catalogue.name, &Choice::Number(version as i64));
        if let Err(failure) = there {
            // What cannot be had is not wanted on: the versions that serve stay.
            app.catalogue.wish(before);
            return Err(Failure::new(Code::FailedPrecondition, failure.message));
        }
    }
    Ok(ReloadConfigResponse {
        status: Some(StatusProto::default()),
    })
}

/// The versions that are asked for by their number.
fn needed(wishes: &Wishes) -> BTreeSet<u64> {
    let labelled = wishes.labels.values().copied();
    match &wishes.policy {
        Policy::Only(wanted) => labelled.chain(wanted.iter().copied()).collect(),
        Policy::Latest(_) | Policy::All => labelled.collect(),
    }
}

/// Whether they are among those that will be served: nothing is dropped for what cannot be had.
fn can_be_had(wishes: &Wishes, there: &BTreeSet<u64>) -> Outcome<()> {
    let served = chosen(there.iter(), &wishes.policy);
    match needed(wishes).difference(&served).next() {
        None => Ok(()),
        Some(missing) => Err(Failure::new(
            Code::FailedPrecondition,
            format!("version {missing} is not there, or not among those that are to be served"),
        )),
    }
}

/// What a configuration means for the one model there is.
fn wishes(name: &str, base: &Path, configs: &[ModelConfig]) -> Outcome<Wishes> {
    let [config] = configs else {
        return Err(Failure::invalid(format!(
            "the configuration has {} models; this server has the one model `{name}`",
            configs.len()
        )));
    };
    if config.name != name {
        return Err(Failure::invalid(format!(
            "this server has the model `{name}`, not `{}`",
            config.name
        )));
    }
    if !config.base_path.is_empty() && Path::new(&config.base_path) != base {
        return Err(Failure::invalid(format!(
            "the versions of `{name}` are in `{}`, and that cannot be changed",
            base.display()
        )));
    }
    if !["", "tensorflow"].contains(&config.model_platform.as_str()) {
        return Err(Failure::invalid(format!(
            "models of the platform `{}` are not served here",
            config.model_platform
        )));
    }
    Ok(Wishes {
        policy: policy(config.model_version_policy.as_ref())?,
        labels: config
            .version_labels
            .iter()
            .map(|(label, version)| Ok((label.clone(), number(*version)?)))
            .collect::<Outcome<BTreeMap<_, _>>>()?,
    })
}

fn policy(policy: Option<&VersionPolicy>) -> Outcome<Policy> {
    let Some(policy) = policy else {
        return Ok(Policy::Latest(1));
    };
    if let Some(specific) = &policy.specific {
        let versions = specific.versions.iter().map(|version| number(*version));
        let versions = versions.collect::<Outcome<BTreeSet<u64>>>()?;
        if versions.is_empty() {
            return Err(Failure::invalid("the policy `specific` names no version"));
        }
        return Ok(Policy::Only(versions));
    }
    if policy.all.is_some() {
        return Ok(Policy::All);
    }
    let count = policy
        .latest
        .as_ref()
        .map_or(1, |latest| latest.num_versions.max(1));
    Ok(Policy::Latest(count as usize))
}

fn number(version: i64) -> Outcome<u64> {
    u64::try_from(version)
        .map_err(|_| Failure::invalid(format!("{version} is no version: versions are not negative")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::config::{All, Latest, Specific};

    fn check(config: ModelConfig, wanted: Result<Policy, &str>) {
        let found = wishes("model", Path::new("/models/model"), &[config]);
        match (found, wanted) {
            (Ok(found), Ok(wanted)) => assert_eq!(found.policy, wanted),
            (Err(found), Err(wanted)) => assert!(found.message.contains(wanted), "{found}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    fn with(policy: VersionPolicy) -> ModelConfig {
        ModelConfig {
            name: "model".to_owned(),
            model_version_policy: Some(policy),
            ..ModelConfig::default()
        }
    }

    #[test]
    fn policies_are_those_of_the_command() {
        let none = VersionPolicy::default();
        check(with(none.clone()), Ok(Policy::Latest(1)));
        let latest = Some(Latest { num_versions: 3 });
        check(
            with(VersionPolicy {
                latest,
                ..none.clone()
            }),
            Ok(Policy::Latest(3)),
        );
        let all = Some(All {});
        check(with(VersionPolicy { all, ..none.clone() }), Ok(Policy::All));
        let specific = |versions: &[i64]| VersionPolicy {
            specific: Some(Specific {
                versions: versions.to_vec(),
            }),
            ..VersionPolicy::default()
        };
        check(with(specific(&[2, 5])), Ok(Policy::Only([2, 5].into())));
        check(with(specific(&[])), Err("names no version"));
        check(with(specific(&[-2])), Err("-2 is no version"));
    }

    #[test]
    fn only_the_model_that_is_there_can_be_configured() {
        let named = |name: &str, base: &str| ModelConfig {
            name: name.to_owned(),
            base_path: base.to_owned(),
            ..ModelConfig::default()
        };
        check(named("model", "/models/model/"), Ok(Policy::Latest(1)));
        check(
            named("other", ""),
            Err("this server has the model `model`, not `other`"),
        );
        check(named("model", "/etc"), Err("cannot be changed"));
        assert!(wishes("model", Path::new("/models"), &[]).is_err());
    }
}
