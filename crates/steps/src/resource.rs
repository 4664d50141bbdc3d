//! Steps that make, change or delete objects of the cluster, and wait for what becomes of them.

use std::time::Duration;

use manifests::{json_path::JsonPath, yaml};
use serde_json::{Value, json};
use tokio::time::sleep;
use workflows::report::{OutputParameter, Report, ResourceOrder};

use crate::{
    Broken, Outcome,
    cluster::{Answer, Cluster},
    condition::Condition,
    flags::Flags,
    jq,
};

const PAUSE: Duration = Duration::from_millis(500);
/// How a step ends whose object has failed; that is what the step was to find out.
const FAILED: i32 = 1;

pub(crate) async fn run(order: &ResourceOrder, parameters: &[OutputParameter]) -> Result<Outcome, Broken> {
    let success = Condition::parse(&order.success_condition)?;
    let failure = Condition::parse(&order.failure_condition)?;
    let documents = yaml::parse_documents(&order.manifest)
        .map_err(|error| Broken(format!("the manifest cannot be read: {error}")))?;
    let mut objects: Vec<Value> = documents.into_iter().map(|document| document.value).collect();
    objects.retain(|object| !object.is_null());
    let flags = Flags::read(&order.flags);
    if objects.is_empty() {
        if flags.object.is_none() {
            return Err(Broken::new(
                "the step has no manifest, and its flags name no object: `flags: [pod, NAME]`",
            ));
        }
        objects.push(json!({}));
    }
    let cluster = Cluster::connect()?;
    let mut last = Value::Null;
    for mut object in objects {
        if !order.owner.is_null() {
            own(&mut object, &order.owner);
        }
        let folder = place(&cluster, &flags, &mut object).await?;
        let Some(mut found) = act(&cluster, order, &flags, &folder, &object).await? else {
            continue;
        };
        println_line(&format!(
            "{} {}/{}",
            order.action,
            kind(&found).to_lowercase(),
            found["metadata"]["name"].as_str().unwrap_or_default()
        ));
        if success.is_some() || failure.is_some() {
            match wait(&cluster, &folder, found, success.as_ref(), failure.as_ref()).await? {
                Verdict::Good(object) => found = object,
                Verdict::Bad => {
                    let report = Report {
                        message: format!("failure condition '{}' evaluated true", order.failure_condition),
                        ..Report::default()
                    };
                    return Ok(Outcome { code: FAILED, report });
                }
            }
        }
        last = found;
    }
    let mut report = Report::default();
    for parameter in parameters {
        report
            .parameters
            .push((parameter.name.clone(), output(parameter, &last)?));
    }
    Ok(Outcome { code: 0, report })
}

/// Where an object is: what its manifest does not say is said by the flags.
async fn place(cluster: &Cluster, flags: &Flags, object: &mut Value) -> Result<String, Broken> {
    let namespace = object["metadata"]["namespace"].as_str();
    let namespace = namespace.or(flags.namespace.as_deref()).map(str::to_owned);
    let (Some((kind, name)), true) = (&flags.object, object["kind"].is_null()) else {
        return cluster.folder(object, namespace.as_deref()).await;
    };
    if object["metadata"]["name"].is_null() {
        object["metadata"]["name"] = json!(name);
    }
    cluster.folder_of(kind, namespace.as_deref()).await
}

/// What people read in the step's log.
fn println_line(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn own(object: &mut Value, owner: &Value) {
    let owners = &mut object["metadata"]["ownerReferences"];
    match owners.as_array_mut() {
        Some(owners) => owners.push(owner.clone()),
        None => *owners = json!([owner]),
    }
}

async fn act(
    cluster: &Cluster,
    order: &ResourceOrder,
    flags: &Flags,
    folder: &str,
    object: &Value,
) -> Result<Option<Value>, Broken> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if name.is_empty() && order.action != "create" {
        return Err(Broken(format!(
            "`{}` needs metadata.name in the manifest",
            order.action
        )));
    }
    let answer = match order.action.as_str() {
        "create" => cluster.create(folder, object).await?,
        "apply" => cluster.apply(folder, name, object).await?,
        "get" => cluster.get(folder, name).await?,
        "replace" => {
            let mut object = object.clone();
            if let Answer::Object(known) = cluster.get(folder, name).await? {
                object["metadata"]["resourceVersion"] = known["metadata"]["resourceVersion"].clone();
            }
            cluster.replace(folder, name, &object).await?
        }
        "patch" => match order.merge_strategy.as_str() {
            "" | "strategic" => cluster.patch_strategic(folder, name, object).await?,
            "merge" => cluster.merge(folder, name, object).await?,
            other => {
                return Err(Broken(format!(
                    "mergeStrategy `{other}` is not supported: strategic and merge are"
                )));
            }
        },
        "delete" => {
            delete(cluster, flags, folder, name).await?;
            return Ok(None);
        }
        other => return Err(Broken(format!("there is no action `{other}`"))),
    };
    match answer {
        Answer::Object(object) => Ok(Some(object)),
        Answer::Missing => Err(Broken(format!("{} `{name}` is not there", kind(object)))),
    }
}

fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or("the object")
}

/// Deletes, and waits until the object is gone.
async fn delete(cluster: &Cluster, flags: &Flags, folder: &str, name: &str) -> Result<(), Broken> {
    let uid = match cluster.get(folder, name).await? {
        Answer::Object(object) => object["metadata"]["uid"].clone(),
        Answer::Missing if flags.may_be_missing => return Ok(()),
        Answer::Missing => return Err(Broken(format!("`{name}` is not there to be deleted"))),
    };
    cluster.delete(folder, name).await?;
    loop {
        match cluster.get(folder, name).await? {
            Answer::Object(object) if object["metadata"]["uid"] == uid => sleep(PAUSE).await,
            _ => return Ok(()),
        }
    }
}

enum Verdict {
    Good(Value),
    Bad,
}

/// Follows an object until a condition holds.
async fn wait(
    cluster: &Cluster,
    folder: &str,
    mut object: Value,
    success: Option<&Condition>,
    failure: Option<&Condition>,
) -> Result<Verdict, Broken> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    loop {
        if failure.is_some_and(|failure| failure.holds(&object)) {
            return Ok(Verdict::Bad);
        }
        if success.is_none_or(|success| success.holds(&object)) {
            return Ok(Verdict::Good(object));
        }
        sleep(PAUSE).await;
        // A server that does not answer for a while is asked again.
        match cluster.get(folder, &name).await {
            Ok(Answer::Object(found)) => object = found,
            Ok(Answer::Missing) => {
                return Err(Broken(format!(
                    "{} `{name}` was deleted while it was waited for",
                    kind(&object)
                )));
            }
            Err(error) => println_line(&format!("cannot look at `{name}`: {error}")),
        }
    }
}

fn output(parameter: &OutputParameter, object: &Value) -> Result<String, Broken> {
    let OutputParameter {
        name,
        default,
        json_path,
        jq_filter,
        ..
    } = parameter;
    if !jq_filter.is_empty() {
        return jq::pick(jq_filter, object);
    }
    let path = JsonPath::parse(json_path).map_err(|error| {
        Broken(format!(
            "output parameter '{name}': jsonPath `{json_path}`: {error}"
        ))
    })?;
    let found = path.find(object);
    if found.is_empty() {
        return default.clone().ok_or_else(|| {
            Broken(format!(
                "output parameter '{name}': the object has nothing at {json_path}"
            ))
        });
    }
    let texts: Vec<String> = found
        .into_iter()
        .map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect();
    Ok(texts.join(" "))
}
