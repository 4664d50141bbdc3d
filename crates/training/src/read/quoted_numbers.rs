//! Numbers that were written as texts. Kustomize's variables come from ConfigMaps, so packages that
//! use them have `runAsUser: "0"`; what is meant is clear from the type of the field.

use kinds::types::{Form, TypeRef, by_name};
use serde_json::Value;

/// Makes numbers of such texts in a pod template and says whether there were any.
pub(super) fn mend(template: &mut Value) -> bool {
    by_name("io.k8s.api.core.v1.PodTemplateSpec").is_some_and(|ty| mend_value(ty, template))
}

fn mend_value(ty: TypeRef, value: &mut Value) -> bool {
    match (ty.form(), value) {
        (Form::Struct(described), Value::Object(map)) => {
            let fields = map.iter_mut().filter_map(|(name, value)| {
                let field = described.field(name)?;
                Some(mend_value(field.ty, value))
            });
            count(fields) > 0
        }
        (Form::List(item), Value::Array(list)) => {
            count(list.iter_mut().map(|value| mend_value(item, value))) > 0
        }
        (Form::Int32 | Form::Int64, value) => {
            let number = value.as_str().and_then(|text| text.parse::<i64>().ok());
            if let Some(number) = number {
                *value = number.into();
            }
            number.is_some()
        }
        _ => false,
    }
}

/// How many were mended; unlike `any`, it does not stop at the first.
fn count(mended: impl Iterator<Item = bool>) -> usize {
    mended.filter(|mended| *mended).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_numbers_become_numbers() {
        let mut template = json!({"spec": {
            "containers": [{"name": "1", "env": [{"name": "A", "value": "2"}], "securityContext": {"runAsUser": "3"}}],
            "terminationGracePeriodSeconds": "soon",
        }});
        assert!(mend(&mut template));
        let container = &template["spec"]["containers"][0];
        assert_eq!(container["securityContext"]["runAsUser"], 3);
        assert_eq!(
            (&container["name"], &container["env"][0]["value"]),
            (&json!("1"), &json!("2"))
        );
        assert_eq!(template["spec"]["terminationGracePeriodSeconds"], "soon");
        assert!(!mend(&mut template));
    }
}
