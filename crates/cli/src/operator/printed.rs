//! `--print-manifests`: what was given on the command line, as the arguments of an operator in the cluster.

use std::{fs, process::ExitCode};

use anyhow::Result;
use operator::{Configuration, Deployment, Times};
use training::Delivery;

use super::{
    Arguments, HEALTH, METRICS, addresses, choices, default_image, election, kinds, namespaces,
    wants_workflows,
};

/// The namespace of the operator.
const OWN_NAMESPACE: &str = "trainyard";

pub(super) fn print(arguments: &Arguments) -> Result<ExitCode> {
    check(arguments)?;
    for object in operator::manifests(&deployment(arguments)?) {
        println!("---\n{}", manifests::yaml::to_string(&object).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// What an operator in the cluster cannot be told is refused, so that nobody believes that it was.
fn check(arguments: &Arguments) -> Result<()> {
    super::check_workflows(arguments)?;
    if !arguments.leader_elect {
        return Err(crate::advised(
            "--print-manifests runs two operators, and with --leader-elect=false both would act",
            "leave out --leader-elect=false",
        ));
    }
    if arguments.kubeconfig.is_some() {
        return Err(crate::advised(
            "--print-manifests asks no cluster, and the operator that is printed is for the one it runs in",
            "leave out --kubeconfig, and give it to `kubectl apply`",
        ));
    }
    let files = [
        ("--callback-ca", !arguments.callback_authorities.is_empty()),
        ("--task-logs", arguments.task_logs.is_some()),
    ];
    if let Some((flag, _)) = files.iter().find(|(_, is_given)| *is_given) {
        return Err(crate::advised(
            format!("{flag} is a path of this machine, and --print-manifests is for pods of a cluster"),
            format!("leave out {flag}, and add it with its volume to the Deployment that is printed"),
        ));
    }
    let addresses = [
        (
            "--metrics-bind-address",
            arguments.metrics_bind_address,
            METRICS,
            METRICS_IN_PODS,
        ),
        (
            "--health-probe-bind-address",
            arguments.health_probe_bind_address,
            HEALTH,
            HEALTH_IN_PODS,
        ),
    ];
    let is_other = |given, default, printed| {
        ![default, printed]
            .into_iter()
            .any(|known| addresses::parse(known) == Ok(given))
    };
    let mut addresses = addresses.iter();
    match addresses.find(|(_, given, default, printed)| is_other(*given, default, printed)) {
        None => Ok(()),
        Some((flag, _, _, printed)) => Err(crate::advised(
            format!(
                "--print-manifests has `{printed}` for {flag}, which the Deployment names elsewhere, too"
            ),
            format!("leave out {flag}"),
        )),
    }
}

/// The addresses in pods of the operator, which have the ports for themselves.
const METRICS_IN_PODS: &str = ":8080";
const HEALTH_IN_PODS: &str = ":8081";

fn deployment(arguments: &Arguments) -> Result<Deployment> {
    let image = arguments.image.clone().or_else(|| arguments.tools_image.clone());
    let image = image.unwrap_or_else(default_image);
    let tools = match (&arguments.tools_path, &arguments.tools_image) {
        (Some(path), _) => Delivery::HostPath(path.clone()),
        (None, tools) => Delivery::Image(tools.as_ref().unwrap_or(&image).clone()),
    };
    let configuration = match (
        &arguments.controller_config_map,
        &arguments.controller_config_file,
    ) {
        (Some(choices::Object { namespace, name }), _) => Configuration::Of {
            namespace: namespace.clone(),
            name: name.clone(),
        },
        // It was read before, and found to be right.
        (None, Some(path)) => Configuration::Own(fs::read_to_string(path)?),
        (None, None) => Configuration::Own("accelerators: {}\n".to_owned()),
    };
    let own_namespace = arguments.lease_namespace.clone().filter(|name| !name.is_empty());
    Ok(Deployment {
        namespace: own_namespace.unwrap_or_else(|| OWN_NAMESPACE.to_owned()),
        image,
        workflows: wants_workflows(arguments),
        kinds: if arguments.kinds.is_empty() {
            resources::kinds::ALL.to_vec()
        } else {
            kinds(arguments)
        },
        namespaces: namespaces(arguments),
        tasks: !arguments.no_tasks && namespaces(arguments).is_empty(),
        tools,
        arguments: further(arguments),
        configuration,
    })
}

/// What the operator does not do by itself, in the words in which it is told so.
fn further(arguments: &Arguments) -> Vec<String> {
    let mut further = Vec::new();
    if !arguments.kinds.is_empty() {
        let mut names: Vec<String> = kinds(arguments).iter().map(|kind| kind.definition()).collect();
        if wants_workflows(arguments) {
            names.push(choices::WORKFLOWS[0].to_owned());
        }
        further.push(format!("--kinds={}", names.join(",")));
    }
    if let Some(choices::Gang(gang)) = &arguments.gang_scheduler_name {
        further.push(format!("--gang-scheduler-name={}", choices::gang_name(gang)));
    }
    further.extend(arguments.no_tasks.then(|| "--no-tasks".to_owned()));
    let networks = arguments.callbacks_to.iter();
    further.extend(networks.map(|network| format!("--callbacks-to={network}")));
    if let Some(claim) = &arguments.artifacts_claim {
        further.push(format!("--artifacts-claim={claim}"));
    }
    if let Some(domain) = arguments.cluster_domain.as_ref().filter(|name| !name.is_empty()) {
        further.push(format!("--cluster-domain={domain}"));
    }
    if let Some(threads) = arguments.controller_threads {
        further.push(format!("--controller-threads={threads}"));
    }
    if arguments.lease_name != super::LEASE {
        further.push(format!("--lease-name={}", arguments.lease_name));
    }
    further.extend(times(arguments));
    further
}

fn times(arguments: &Arguments) -> impl Iterator<Item = String> {
    let (given, usual) = (election::times(arguments), Times::default());
    let times = [
        ("lease-duration", given.lease, usual.lease),
        ("renew-deadline", given.renew_within, usual.renew_within),
        ("retry-period", given.look_every, usual.look_every),
    ];
    let unusual = times.into_iter().filter(|(_, given, usual)| given != usual);
    unusual.map(|(name, given, _)| format!("--leader-elect-{name}={}ms", given.as_millis()))
}

#[cfg(test)]
mod tests {
    use clap::Args as _;
    use serde_json::Value;

    use super::{super::tests::called, *};

    /// The arguments of the printed Deployment.
    fn printed(words: &[&str]) -> Vec<String> {
        let words = [&["--print-manifests", "--image=trainyard:1"], words].concat();
        let objects = operator::manifests(&deployment(&called(&words).unwrap()).unwrap());
        let workload = objects.last().unwrap();
        let container = &workload["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "trainyard:1");
        let arguments = container["args"].as_array().unwrap().iter();
        arguments.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// What is said to the operator that is printed, in the words in which it was given.
    const PASSED_ON: [&str; 15] = [
        "--artifacts-claim=lake",
        "--callbacks-to=10.0.0.0/8",
        "--cluster-domain=cluster.local",
        "--controller-config-map=lab/gpus",
        "--controller-threads=7",
        "--gang-scheduler-name=volcano",
        "--kinds=tfjobs.kubeflow.org",
        "--leader-elect-lease-duration=20000ms",
        "--leader-elect-renew-deadline=9000ms",
        "--leader-elect-retry-period=1000ms",
        "--lease-name=second",
        "--namespace=team",
        "--no-tasks",
        "--tools-image=tools:2",
        "--tools-path=/opt/trainyard",
    ];

    const REFUSED: [&str; 6] = [
        "--callback-ca=authority.pem",
        "--health-probe-bind-address=127.0.0.1:8081",
        "--kubeconfig=/root/.kube/config",
        "--leader-elect=false",
        "--metrics-bind-address=0",
        "--task-logs=/var/log/tasks",
    ];

    /// What is in the objects themselves (files, images, namespaces, definitions), or is of this process alone.
    const NO_ARGUMENT: [&str; 7] = [
        "--controller-config-file",
        "--identity",
        "--image",
        "--install-definitions",
        "--kubeconfigs",
        "--lease-namespace",
        "--print-manifests",
    ];

    #[test]
    fn what_was_given_reaches_the_operator_that_is_printed() {
        for given in PASSED_ON {
            let printed = printed(&[given]);
            assert!(printed.contains(&given.to_owned()), "{given}: {printed:?}");
        }
    }

    #[test]
    fn no_flag_is_forgotten() {
        let command = Arguments::augment_args(clap::Command::new("operator"));
        let flags = command.get_arguments().filter_map(clap::Arg::get_long);
        let mut flags: Vec<String> = flags.map(|flag| format!("--{flag}")).collect();
        flags.sort();
        let known = [&PASSED_ON[..], &REFUSED, &NO_ARGUMENT].concat();
        let mut known: Vec<&str> = known.iter().filter_map(|given| given.split('=').next()).collect();
        known.sort_unstable();
        assert_eq!(flags, known);
    }

    fn refusal(words: &[&str]) -> String {
        let words = [&["--print-manifests"], words].concat();
        let refusal = print(&called(&words).unwrap()).unwrap_err();
        let advice = refusal.downcast_ref::<crate::Advised>().unwrap();
        format!("{refusal} {}", advice.hint)
    }

    #[test]
    fn nothing_is_called_by_an_empty_name() {
        let printed = printed(&["--cluster-domain=", "--lease-namespace="]);
        assert!(!printed.iter().any(|word| word.contains("domain")), "{printed:?}");
        let arguments = called(&["--print-manifests", "--lease-namespace="]).unwrap();
        assert_eq!(deployment(&arguments).unwrap().namespace, OWN_NAMESPACE);
    }

    #[test]
    fn what_pods_of_a_cluster_cannot_be_told_is_refused() {
        for given in REFUSED {
            let refusal = refusal(&[given]);
            let flag = given.split('=').next().unwrap();
            assert!(refusal.contains(flag), "{given}: {refusal}");
        }
        let partly = refusal(&["--kinds=workflows", "--namespace=team"]);
        assert!(partly.contains("--namespace names a part of it"), "{partly}");
        let usual = [
            "--print-manifests",
            "--leader-elect=true",
            "--metrics-bind-address=:8080",
        ];
        assert!(check(&called(&usual).unwrap()).is_ok());
    }

    #[test]
    fn what_is_printed_can_be_given_to_an_operator() {
        for words in [
            &["--controller-config-map=lab/gpus", "--tools-path=/opt/trainyard"][..],
            &["--leader-elect-lease-duration=20s", "--kinds=tfjobs,workflows"],
            &[],
        ] {
            let printed = printed(words);
            let words: Vec<&str> = printed.iter().skip(1).map(String::as_str).collect();
            let read = called(&words);
            assert!(read.is_ok(), "{printed:?}: {:?}", read.err());
            // What the Deployment says by itself is what may be said.
            assert!(check(&read.unwrap()).is_ok(), "{printed:?}");
        }
    }
}
