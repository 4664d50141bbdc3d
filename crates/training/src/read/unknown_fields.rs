//! Fields of pod templates that pods do not have. They are kept by the job's definition and left out by the API server
//! when the pods are made, so a slip of the pen would be lost without a word. A newer cluster may know them: they are
//! no reason to refuse a job.

use kinds::types::{Form, TypeRef, by_name};
use manifests::field::Path;
use serde_json::Value;

use crate::job::Warning;

/// The reason of the warning.
pub(crate) const UNKNOWN_FIELD: &str = "UnknownField";
/// So many are told; who has more has seen enough.
const MOST: usize = 20;

pub(crate) fn of_template(template: &Value, path: &Path) -> Vec<Warning> {
    let mut found = Vec::new();
    if let Some(ty) = by_name("io.k8s.api.core.v1.PodTemplateSpec") {
        find(ty, template, path, &mut found);
    }
    let warning = |path: Path| Warning {
        reason: UNKNOWN_FIELD,
        message: format!("unknown field `{}`: pods are made without it", path.as_str()),
    };
    found.into_iter().map(warning).collect()
}

fn find(ty: TypeRef, value: &Value, path: &Path, found: &mut Vec<Path>) {
    match (ty.form(), value) {
        (Form::Struct(described), Value::Object(map)) => {
            for (name, value) in map {
                match described.field(name) {
                    Some(field) if may_hold(field.ty) => find(field.ty, value, &path.child(name), found),
                    Some(_) => {}
                    None if found.len() < MOST => found.push(path.child(name)),
                    None => return,
                }
            }
        }
        (Form::List(item), Value::Array(list)) if may_hold(item) => {
            for (i, value) in list.iter().enumerate() {
                find(item, value, &path.index(i), found);
            }
        }
        (Form::Map(item), Value::Object(map)) if may_hold(item) => {
            for (name, value) in map {
                find(item, value, &path.key(name), found);
            }
        }
        _ => {}
    }
}

/// Whether there are fields in values of a type.
fn may_hold(ty: TypeRef) -> bool {
    matches!(ty.form(), Form::Struct(_) | Form::List(_) | Form::Map(_))
}
