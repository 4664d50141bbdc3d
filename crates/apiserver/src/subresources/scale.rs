//! The size of anything that has one, in the same form for every kind.

use http::{Method, StatusCode};
use jiff::Timestamp;
use manifests::{
    apply::Size,
    field::{FieldError, Path},
    json_patch, merge_patch,
};
use serde_json::{Value, json};

use crate::{
    admission::Operation,
    body,
    call::Call,
    conversion,
    custom::ScalePaths,
    error::{ApiError, Result},
    kind::{Definition, Kind},
    negotiate::{self, Form},
    object, ownership,
    response::{self, Answer},
    rows::{self, IncludeObject},
    writes::{
        Outcome, Writer,
        options::WriteOptions,
        patch::{self, Configuration},
        update::{self, Part},
    },
};

pub(crate) async fn answer(call: &Call, method: &Method, bytes: &[u8]) -> Result<Answer> {
    let paths = paths(call)?;
    if method == Method::GET {
        let stored = call
            .api
            .store
            .get(&call.kind.collection, call.key_namespace(), &call.target.name)
            .ok_or_else(|| ApiError::not_found(call.kind.qualified(), &call.target.name))?;
        let stored = conversion::shown_one(&call.api, &call.kind, stored).await?;
        let scale = scale_of(call, &paths, &object::parse(&stored)?)?;
        return show(call, scale);
    }
    let outcome = change(call, method, &paths, bytes).await?;
    let object = match outcome {
        Outcome::Stored(stored) => object::parse(&stored)?,
        Outcome::DryRun(value) | Outcome::Deleted(value) => value,
    };
    show(call, scale_of(call, &paths, &object)?)
}

/// Changes the scale, and with it the object.
async fn change(call: &Call, method: &Method, paths: &ScalePaths, bytes: &[u8]) -> Result<Outcome> {
    let content_type = negotiate::content_type(&call.headers);
    let options = if method == Method::PATCH {
        patch::options(call, content_type)?
    } else {
        WriteOptions::read(&call.query, "UpdateOptions")?
    };
    let mut writer = Writer::new(call, options);
    let applied = match content_type {
        patch::APPLY if method == Method::PATCH => Some(Configuration::read(bytes)?),
        _ => None,
    };
    let replicas: Vec<&str> = paths.spec.iter().map(String::as_str).collect();
    let size = Size::new(&call.kind.api_version, &replicas);
    update::change(&mut writer, Part::Scale, Operation::Update, |writer, old| {
        let mut current = scale_of(call, paths, old)?;
        size.record_in_scale(old, &mut current);
        let scale = if let Some(configuration) = &applied {
            let scale = ownership::apply_scale(writer, &current, &configuration.value)?;
            configuration.report(writer)?;
            scale
        } else {
            let mut scale = wanted(method, content_type, bytes, &call.kind, &current)?;
            ownership::record_scaling(writer, &current, &mut scale);
            scale
        };
        let mut new = resized(call, paths, old, &current, &scale)?;
        size.record_in_object(&scale, &mut new);
        Ok(new)
    })
    .await
}

/// Shows a scale in the form the client asked for.
fn show(call: &Call, scale: Value) -> Result<Answer> {
    let shown = match call.representation.form {
        Form::Object => scale,
        Form::Metadata => rows::metadata(&scale),
        Form::Table(version) => rows::scale_table(
            version,
            scale,
            IncludeObject::read(&call.query)?,
            Timestamp::now(),
        ),
    };
    Ok(response::value(StatusCode::OK, call.representation, &shown))
}

/// An object as its scale.
pub(crate) fn view(call: &Call, object: &Value) -> Result<Value> {
    scale_of(call, &paths(call)?, object)
}

/// An object with the size a scale says.
pub(crate) fn with_view(call: &Call, object: &Value, scale: &Value) -> Result<Value> {
    let paths = paths(call)?;
    let current = scale_of(call, &paths, object)?;
    let version = object::resource_version(object).to_owned();
    let mut resized = resized(call, &paths, object, &current, scale)?;
    object::set_meta(&mut resized, "resourceVersion", Some(version.into()));
    Ok(resized)
}

fn paths(call: &Call) -> Result<ScalePaths> {
    let fixed = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
    match &call.kind.definition {
        Definition::BuiltIn(_) => Ok(ScalePaths {
            spec: fixed("spec.replicas"),
            status: fixed("status.replicas"),
            selector: None,
        }),
        Definition::Custom(custom) => custom.scale_paths().ok_or_else(ApiError::no_such_resource),
    }
}

fn scale_of(call: &Call, paths: &ScalePaths, object: &Value) -> Result<Value> {
    let find = |path: &[String]| path.iter().try_fold(object, |value, key| value.get(key));
    let replicas = find(&paths.spec).and_then(Value::as_i64);
    if replicas.is_none() && call.kind.is_custom() {
        return Err(ApiError::internal(format!(
            "the spec replicas field \".{}\" does not exist",
            paths.spec.join(".")
        )));
    }
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object.pointer(&format!("/metadata/{field}")) {
            metadata[field] = value.clone();
        }
    }
    let mut status = json!({ "replicas": find(&paths.status).and_then(Value::as_i64).unwrap_or_default() });
    let selector = match &paths.selector {
        Some(path) => find(path).and_then(Value::as_str).map(str::to_owned),
        None if call.kind.is_custom() => None,
        None => selector_text(object),
    };
    if let Some(selector) = selector.filter(|text| !text.is_empty()) {
        status["selector"] = selector.into();
    }
    let mut spec = json!({});
    if replicas.unwrap_or_default() != 0 {
        spec["replicas"] = replicas.into();
    }
    Ok(
        json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status }),
    )
}

/// The selector of a workload as text; replication controllers have a plain map.
fn selector_text(object: &Value) -> Option<String> {
    let selector = object.pointer("/spec/selector")?;
    if selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some() {
        return manifests::labels::Selector::from_object(selector)
            .ok()
            .map(|selector| selector.to_string());
    }
    let pairs: Vec<String> = selector
        .as_object()?
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    Some(pairs.join(","))
}

/// The scale the client wants, from a whole one or a patch of the current one.
fn wanted(method: &Method, content_type: &str, bytes: &[u8], kind: &Kind, current: &Value) -> Result<Value> {
    if method == Method::PUT {
        return Ok(body::decode(content_type, bytes, "Scale")?.value);
    }
    let body = manifests::yaml::parse(bytes)
        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?
        .value;
    let mut wanted = current.clone();
    let patched = match content_type {
        "application/json-patch+json" => {
            json_patch::apply(&mut wanted, &body).map_err(|error| error.to_string())
        }
        "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
            merge_patch::apply(&mut wanted, &body).map_err(|error| error.to_string())
        }
        _ => return Err(patch::unsupported(kind)),
    };
    patched.map_err(ApiError::bad_request)?;
    Ok(wanted)
}

/// The object with the wanted size.
fn resized(call: &Call, paths: &ScalePaths, old: &Value, current: &Value, wanted: &Value) -> Result<Value> {
    check_same_object(call, current, wanted)?;
    let mut new = old.clone();
    let mut place = &mut new;
    for key in &paths.spec {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[key.as_str()];
    }
    *place = wanted_replicas(call, wanted)?.into();
    if object::resource_version(wanted).is_empty() {
        object::set_meta(&mut new, "resourceVersion", None);
    }
    Ok(new)
}

/// A scale that says which object, and which state of it, it is of must be right.
fn check_same_object(call: &Call, current: &Value, wanted: &Value) -> Result<()> {
    let (resource, name) = (call.kind.qualified(), &call.target.name);
    let version = object::resource_version(wanted);
    if !version.is_empty() && version != object::resource_version(current) {
        return Err(ApiError::stale(resource, name));
    }
    let (uid, own) = (object::uid(wanted), object::uid(current));
    if !uid.is_empty() && uid != own {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {own}");
        return Err(ApiError::conflict(resource, name, &why));
    }
    Ok(())
}

fn wanted_replicas(call: &Call, scale: &Value) -> Result<i64> {
    let Some(replicas) = scale.pointer("/spec/replicas") else {
        return Ok(0);
    };
    let number = replicas.as_i64().ok_or_else(|| {
        ApiError::bad_request(
            "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal value into Go struct field ScaleSpec.spec.replicas of type int32",
        )
    })?;
    // Custom resources have a rule of their own about the field it comes from.
    if number < 0 && !call.kind.is_custom() {
        let path = Path::new("spec").child("replicas");
        let error = FieldError::invalid(&path, replicas, "must be greater than or equal to 0");
        return Err(ApiError::invalid(
            "autoscaling",
            "Scale",
            &call.target.name,
            &[error],
        ));
    }
    Ok(number)
}
