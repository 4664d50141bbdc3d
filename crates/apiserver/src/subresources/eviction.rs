//! Evicting a pod: a deletion that disruption budgets may refuse.

use http::StatusCode;
use manifests::labels::Selector;
use serde_json::{Value, json};
use store::Collection;

use crate::{
    admission::{self, Operation},
    body,
    call::Call,
    error::{ApiError, Result},
    negotiate, object,
    response::{self, Answer},
    writes::{
        Writer,
        delete::{self, DeleteOptions},
        options::WriteOptions,
        update::{self, Part},
    },
};

pub(crate) async fn evict(call: &Call, bytes: &[u8]) -> Result<Answer> {
    let mut eviction = body::decode(negotiate::content_type(&call.headers), bytes, "Eviction")?.value;
    let dry_run = DeleteOptions::from_value(kinds::read::get(&eviction, "deleteOptions"))?.dry_run;
    let mut writer = Writer::new(
        call,
        WriteOptions {
            dry_run,
            ..WriteOptions::default()
        },
    );
    admission::admit_body(&mut writer, &mut eviction).await?;
    let options = DeleteOptions::from_value(kinds::read::get(&eviction, "deleteOptions"))?;
    let stored = call
        .api
        .store
        .get(&call.kind.collection, call.key_namespace(), &call.target.name)
        .ok_or_else(|| ApiError::not_found(call.kind.qualified(), &call.target.name))?;
    let pod = object::parse(&stored)?;
    if !is_finished(&pod) {
        take_disruption(call, &pod, options.dry_run).await?;
    }
    if !options.dry_run {
        mark(call).await?;
    }
    delete::delete_in(&mut writer, call.key_namespace(), &call.target.name, &options).await?;
    Ok(response::value(
        StatusCode::CREATED,
        call.representation,
        &json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 }),
    ))
}

/// Whoever looks at the pod later can tell that it did not fail by itself.
async fn mark(call: &Call) -> Result<()> {
    let now = crate::writes::timestamp(jiff::Timestamp::now());
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastTransitionTime": now,
    });
    let mut status = call.clone();
    "status".clone_into(&mut status.target.subresource);
    let mut writer = Writer::new(&status, WriteOptions::default());
    // Whoever wants a say in it was asked about the eviction.
    writer.admitted = true;
    update::change(&mut writer, Part::Status, Operation::Update, |_, old| {
        let mut new = old.clone();
        let status = kinds::read::object_mut(&mut new, "status");
        let conditions = status.entry("conditions").or_insert_with(|| json!([]));
        if let Some(conditions) = conditions.as_array_mut() {
            conditions.retain(|known| known["type"] != condition["type"]);
            conditions.push(condition.clone());
        }
        Ok(new)
    })
    .await?;
    Ok(())
}

/// Pods that do not run, or never started, disturb nobody.
fn is_finished(pod: &Value) -> bool {
    let phase = pod
        .pointer("/status/phase")
        .and_then(Value::as_str)
        .unwrap_or_default();
    matches!(phase, "Succeeded" | "Failed" | "Pending") || object::is_deleting(pod)
}

/// Counts the eviction against the budget of the pod, if it has one and it allows.
async fn take_disruption(call: &Call, pod: &Value, dry_run: bool) -> Result<()> {
    let collection = Collection::new("policy", "poddisruptionbudgets");
    let labels = pod.pointer("/metadata/labels").and_then(Value::as_object);
    loop {
        let budgets = call
            .api
            .store
            .list(&collection, call.namespace(), None, None)
            .items;
        let matching: Vec<(std::sync::Arc<store::Object>, Value)> = budgets
            .into_iter()
            .filter_map(|stored| {
                let budget = object::readable(&stored)?;
                let selector = Selector::from_object(budget.pointer("/spec/selector")?).ok()?;
                selector.matches(labels).then_some((stored, budget))
            })
            .collect();
        let (stored, mut budget) = match matching.as_slice() {
            [] => return Ok(()),
            [one] => one.clone(),
            _ => {
                return Err(ApiError::internal(
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                ));
            }
        };
        let allowed = budget
            .pointer("/status/disruptionsAllowed")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        if allowed <= 0 {
            return Err(refused(&budget));
        }
        if dry_run {
            return Ok(());
        }
        let status = kinds::read::object_mut(&mut budget, "status");
        status.insert("disruptionsAllowed".to_owned(), (allowed - 1).into());
        let disrupted = status.entry("disruptedPods").or_insert_with(|| json!({}));
        disrupted[object::name(pod)] = crate::writes::timestamp(jiff::Timestamp::now()).into();
        let body = object::encode(&budget);
        match call
            .api
            .store
            .update(&collection, stored.key().clone(), stored.revision(), body)
            .await
        {
            Ok(_) => return Ok(()),
            Err(store::WriteError::Conflict { .. } | store::WriteError::NotFound) => {}
            Err(error) => return Err(ApiError::not_stored(&error)),
        }
    }
}

fn refused(budget: &Value) -> ApiError {
    let number = |field: &str| {
        budget
            .pointer(&format!("/status/{field}"))
            .and_then(Value::as_i64)
            .unwrap_or_default()
    };
    let mut error = ApiError::new(
        StatusCode::TOO_MANY_REQUESTS,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
    );
    error.details = Some(json!({ "causes": [{
        "reason": "DisruptionBudget",
        "message": format!(
            "The disruption budget {} needs {} healthy pods and has {} currently",
            object::name(budget), number("desiredHealthy"), number("currentHealthy")
        ),
    }]}));
    error
}
