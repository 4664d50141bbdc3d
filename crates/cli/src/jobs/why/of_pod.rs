//! Causes that concern one pod.

use serde_json::Value;

use super::{
    causes::{Cause, Class, Observed},
    exits,
    observe::CLAIMS,
};
use crate::jobs::{job::text, room};

pub(super) fn causes(
    name: &str,
    pod: &Value,
    observed: &Observed,
    command: &dyn Fn(&str) -> String,
) -> Vec<Cause> {
    let status = &pod["status"];
    if status["phase"] == "Succeeded" {
        return Vec::new();
    }
    let mut causes = claims(pod, observed);
    let exits: Vec<Cause> = containers(status)
        .filter_map(|container| ended(pod, container, observed, command))
        .collect();
    let waits: Vec<Cause> = containers(status)
        .filter_map(|container| waits(pod, container))
        .collect();
    let has_exits = !exits.is_empty();
    causes.extend(exits);
    causes.extend(waits);
    let reason = text(&status["reason"]);
    if status["phase"] == "Failed" && !reason.is_empty() && !has_exits {
        causes.push(of_node(reason, text(&status["message"])));
    }
    if let Some(message) = unscheduled(status).filter(|message| !is_about_claims(message, &causes)) {
        let size = room::size(&pod["spec"]);
        let nodes = observed.nodes.as_deref().unwrap_or_default();
        let what = format!("it has no node: {message}");
        let cause = match room::shortage(&size, 1, nodes) {
            Some(shortage) => {
                Cause::new(Class::Unplaced, what).advise(format!("{}: {}", shortage.what, shortage.advice))
            }
            None => Cause::new(Class::Unplaced, what).advise(advice_on_room(message)),
        };
        causes.push(cause);
    }
    causes.into_iter().map(|cause| cause.of(name)).collect()
}

fn containers(status: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["initContainerStatuses", "containerStatuses"];
    lists
        .into_iter()
        .flat_map(|list| status[list].as_array().into_iter().flatten())
}

/// A program that has ended with an error: for good, or to be started again.
fn ended(
    pod: &Value,
    container: &Value,
    observed: &Observed,
    command: &dyn Fn(&str) -> String,
) -> Option<Cause> {
    let (now, before) = (
        &container["state"]["terminated"],
        &container["lastState"]["terminated"],
    );
    let loops = container["state"]["waiting"]["reason"] == "CrashLoopBackOff";
    let end = match (now.is_object(), loops && before.is_object()) {
        (true, _) => now,
        (false, true) => before,
        (false, false) => return None,
    };
    let code = end["exitCode"].as_i64().filter(|code| *code != 0)?;
    if ["StartError", "ContainerCannotRun"].contains(&text(&end["reason"])) {
        let what = format!(
            "its program could not be started: {}",
            text(&end["message"]).trim()
        );
        return Some(Cause::new(Class::NotStarted, what).advise(
            "check the command: it has to be on the PATH of its image, or be named with its folder (`./train.sh`), and be executable",
        ));
    }
    let meaning = exits::meaning(code, text(&end["reason"]));
    let mut what = match container["restartCount"].as_i64().unwrap_or_default() {
        0 => format!("its program ended with exit code {code}"),
        count if loops => {
            format!("its program crashes again and again ({count} restarts), last with exit code {code}")
        }
        count => format!("its program ended with exit code {code} after {count} restarts"),
    };
    if let Some(meaning) = &meaning {
        what += &format!(", {}", meaning.what);
    }
    if let Some(line) = last_line(pod, end, observed) {
        what += &format!("; its last line: {line}");
    }
    let advice = meaning.map(|meaning| meaning.advice.to_owned());
    let advice = advice.unwrap_or_else(|| {
        let name = observed.subject.name();
        match observed.subject {
            super::subject::Subject::Job(_) => {
                format!("`{}` has more", command(&format!("logs {name} --all --tail 50")))
            }
            super::subject::Subject::Other { .. } => {
                format!("`kubectl logs {}` has more", text(&pod["metadata"]["name"]))
            }
        }
    });
    Some(Cause::new(Class::Failed, what).advise(advice))
}

fn last_line(pod: &Value, end: &Value, observed: &Observed) -> Option<String> {
    let own = text(&end["message"]).trim_end().lines().last();
    let own = own
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty());
    own.or_else(|| observed.last_lines.get(text(&pod["metadata"]["name"])).cloned())
}

/// A container that cannot be started.
fn waits(pod: &Value, container: &Value) -> Option<Cause> {
    let waiting = &container["state"]["waiting"];
    let (reason, message) = (text(&waiting["reason"]), text(&waiting["message"]));
    let image = text(&container["image"]);
    Some(match reason {
        // These come and go by themselves, or are told by the exit.
        "" | "ContainerCreating" | "PodInitializing" | "CrashLoopBackOff" => return None,
        "ErrImagePull"
        | "ImagePullBackOff"
        | "InvalidImageName"
        | "ErrImageNeverPull"
        | "ImageInspectError"
        | "RegistryUnavailable" => {
            let cause = Cause::new(
                Class::NotStarted,
                format!("the image `{image}` cannot be pulled: {reason}: {message}"),
            );
            let mut advice = "check the name, and `imagePullSecrets` where it is private; `trainyard image import FILE` brings one without a registry, and `host` is this machine's own file system".to_owned();
            if always_pulls(pod, text(&container["name"])) {
                advice += "; an image that was imported is pulled all the same while `imagePullPolicy` is `Always`: set it to `IfNotPresent`";
            }
            cause.about(format!("image {image}")).advise(advice)
        }
        "CreateContainerConfigError" if message.contains("not found") => {
            let cause = Cause::new(
                Class::Missing,
                format!("{message} (container `{}`)", text(&container["name"])),
            );
            cause.advise(format!(
                "make it in namespace `{}`, or correct the name in the manifest",
                text(&pod["metadata"]["namespace"])
            ))
        }
        _ => {
            let cause = Cause::new(
                Class::NotStarted,
                format!("its container cannot be started: {reason}: {message}"),
            );
            cause.advise("check the command, the user and the volumes of the container")
        }
    })
}

fn always_pulls(pod: &Value, container: &str) -> bool {
    let lists = ["initContainers", "containers"];
    let containers = lists
        .into_iter()
        .flat_map(|list| pod["spec"][list].as_array().into_iter().flatten());
    let mut own = containers.filter(|candidate| candidate["name"] == container);
    own.any(|container| container["imagePullPolicy"] == "Always")
}

/// A pod that its node has refused or ended.
fn of_node(reason: &str, message: &str) -> Cause {
    let cause = Cause::new(
        Class::Failed,
        format!("its node has ended or refused it: {reason}: {message}"),
    );
    let advice = match reason {
        "Evicted" => {
            "the node ran short of something: ask for what the program needs (requests), or use less"
        }
        "NodeLost" | "NodeShutdown" | "Terminated" => {
            "the machine went away; the job goes on where its restart policy lets it"
        }
        "PodFeatureUnsupported" => {
            "this machine allows pods less than they ask for; `trainyard status` says why"
        }
        reason if reason.starts_with("OutOf") => {
            "others have taken what it asked for meanwhile: ask for less, or try again"
        }
        _ => return cause,
    };
    cause.advise(advice)
}

fn unscheduled(status: &Value) -> Option<&str> {
    let conditions = status["conditions"].as_array()?;
    let condition = conditions
        .iter()
        .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")?;
    condition["message"].as_str()
}

/// The scheduler says of claims what they say themselves.
fn is_about_claims(message: &str, causes: &[Cause]) -> bool {
    message.contains("persistentvolumeclaim") && causes.iter().any(|cause| cause.class == Class::Missing)
}

fn advice_on_room(message: &str) -> &'static str {
    match message {
        message if message.contains("pod group") => {
            "the pods of a job are placed together or not at all; the others wait for something themselves"
        }
        message if message.contains("nvidia.com/gpu; no node has more than 0") => {
            "no node has GPUs: leave them out (`trainyard run` without `--gpus`), or use a cluster that has some; `nvidia-smi` shows those of this machine"
        }
        message if message.contains("nvidia.com/gpu") => {
            "ask for fewer GPUs, or wait for those that hold them to end (`trainyard ps -A`)"
        }
        message if message.contains("Insufficient") => {
            "ask for less CPU or memory, or wait for others to end (`trainyard ps -A`)"
        }
        message if message.contains("taint") => {
            "the pod has to tolerate the taints of the nodes, or they have to go"
        }
        message if message.contains("affinity") || message.contains("selector") => {
            "no node has the labels that nodeSelector or affinity ask for"
        }
        _ => "`kubectl describe nodes` shows what there is",
    }
}

/// Claims that the pod needs and that are not there, or are still without a volume.
fn claims(pod: &Value, observed: &Observed) -> Vec<Cause> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let names = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
    let is_placed = !text(&pod["spec"]["nodeName"]).is_empty();
    let is_told = !is_placed && !observed.has_not_seen(CLAIMS);
    names
        .filter(|_| is_told)
        .filter_map(|name| claim(name, observed))
        .collect()
}

fn claim(name: &str, observed: &Observed) -> Option<Cause> {
    let found = observed
        .claims
        .iter()
        .find(|claim| claim["metadata"]["name"] == name);
    let Some(found) = found else {
        let cause = Cause::new(
            Class::Missing,
            format!("its volume claim `{name}` does not exist"),
        );
        return Some(cause.advise("make a PersistentVolumeClaim of that name, or correct the name"));
    };
    let phase = text(&found["status"]["phase"]);
    if phase == "Bound" {
        return None;
    }
    let class = text(&found["spec"]["storageClassName"]);
    if let Some(cause) = missing_class(&format!("its volume claim `{name}`"), class, observed) {
        return Some(cause);
    }
    let uid = text(&found["metadata"]["uid"]);
    let said = observed
        .events
        .iter()
        .filter(|event| event["involvedObject"]["uid"] == uid);
    let said = said.map(|event| text(&event["message"])).next_back();
    // A claim whose class waits for its first pod is as it should be.
    if said.is_some_and(|message| message.contains("waiting for first consumer")) {
        return None;
    }
    let said = said.map_or(String::new(), |message| format!(": {message}"));
    let cause = Cause::new(
        Class::Missing,
        format!("its volume claim `{name}` is {phase}{said}"),
    );
    Some(cause.advise(format!(
        "check its size and its StorageClass: `kubectl describe pvc {name}`"
    )))
}

/// A claim whose StorageClass the cluster does not have: no volume is ever made for it.
pub(super) fn missing_class(claim: &str, class: &str, observed: &Observed) -> Option<Cause> {
    let classes = observed.classes.as_ref()?;
    if class.is_empty() || classes.iter().any(|known| known == class) {
        return None;
    }
    let there = match classes.as_slice() {
        [] => "none".to_owned(),
        classes => format!("`{}`", classes.join("`, `")),
    };
    let what =
        format!("{claim} asks for StorageClass `{class}`, which the cluster does not have (it has {there})");
    let advice = if observed.machine.is_some() {
        let kept: String = classes
            .iter()
            .map(|class| format!(" --storage-class {class}"))
            .collect();
        format!(
            "name one of these in the claim, or start the cluster with `trainyard up{kept} --storage-class {class}`"
        )
    } else {
        "name one of these in the claim, or make a StorageClass of that name".to_owned()
    };
    Some(Cause::new(Class::Missing, what).advise(advice))
}
