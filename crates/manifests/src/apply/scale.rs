//! Who owns the size of an object, in the record of the object and in that of its scale. Both say the
//! same: a write to the scale is recorded there and carried over.

use serde_json::Value;

use super::{field_set::FieldSet, managers::Entry, record::Record};

const SCALE_VERSION: &str = "autoscaling/v1";

/// Where an object keeps its size.
pub struct Size<'a> {
    /// The version of the object.
    pub api_version: &'a str,
    replicas: FieldSet,
}

impl<'a> Size<'a> {
    pub fn new(api_version: &'a str, replicas: &[&str]) -> Self {
        Self {
            api_version,
            replicas: FieldSet::of_fields(&[replicas]),
        }
    }

    /// Gives a scale the record of its object, as far as it is about the size.
    pub fn record_in_scale(&self, object: &Value, scale: &mut Value) {
        let owners = entries(object).into_iter();
        let owners = owners.filter(|entry| self.replicas.is_subset(&entry.fields));
        let owners = owners.map(|entry| Entry {
            api_version: SCALE_VERSION.to_owned(),
            fields: size_of_scale(),
            ..entry
        });
        let entries = owners.collect();
        Record { entries }.store(scale);
    }

    /// Carries the record of a scale over to its object: who lost the size there loses it here, and
    /// who got it there gets an entry of its own.
    pub fn record_in_object(&self, scale: &Value, object: &mut Value) {
        let mut scalers = entries(scale);
        let mut after = Vec::new();
        for mut entry in entries(object) {
            if self.replicas.is_subset(&entry.fields) {
                match scalers.iter().position(|scaler| is_same_manager(scaler, &entry)) {
                    Some(kept) => drop(scalers.swap_remove(kept)),
                    None => entry.fields.subtract(&self.replicas),
                }
            }
            if !entry.fields.is_empty() {
                after.push(entry);
            }
        }
        let size = size_of_scale();
        let newcomers = scalers
            .into_iter()
            .filter(|scaler| size.is_subset(&scaler.fields));
        after.extend(newcomers.map(|scaler| Entry {
            api_version: self.api_version.to_owned(),
            fields: self.replicas.clone(),
            // As in the real server, which knows times only by the managers of the object.
            time: None,
            ..scaler
        }));
        Record { entries: after }.store(object);
    }
}

/// Whether an entry of a scale is that of its object. Their versions differ; the real server compares
/// those of updates too, and so forgets who owns the size once a scale changes nothing.
fn is_same_manager(scaler: &Entry, entry: &Entry) -> bool {
    (&scaler.manager, scaler.operation, &scaler.subresource)
        == (&entry.manager, entry.operation, &entry.subresource)
}

fn size_of_scale() -> FieldSet {
    FieldSet::of_fields(&[&["spec", "replicas"]])
}

fn entries(object: &Value) -> Vec<Entry> {
    Record::of_object(Some(object)).entries
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, subresource: &str, fields: Value) -> Value {
        json!({
            "manager": manager, "operation": operation, "subresource": subresource,
            "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z",
            "fieldsV1": fields,
        })
    }

    /// A deployment whose size `one` applied.
    fn deployment() -> Value {
        let fields = json!({"f:spec": {"f:paused": {}, "f:replicas": {}}});
        let other = json!({"f:spec": {"f:paused": {}}});
        json!({"metadata": {"managedFields": [entry("one", "Apply", "", fields), entry("two", "Update", "", other)]}})
    }

    fn owners(object: &Value) -> Vec<(&str, &str, String)> {
        let entries = object["metadata"]["managedFields"].as_array().unwrap().iter();
        entries
            .map(|entry| {
                (
                    entry["manager"].as_str().unwrap_or_default(),
                    entry["subresource"].as_str().unwrap_or_default(),
                    entry["fieldsV1"].to_string(),
                )
            })
            .collect()
    }

    #[test]
    fn a_scale_knows_only_owners_of_the_size() {
        let mut scale = json!({"metadata": {}});
        Size::new("apps/v1", &["spec", "replicas"]).record_in_scale(&deployment(), &mut scale);
        let entries = &scale["metadata"]["managedFields"];
        assert_eq!(entries.as_array().unwrap().len(), 1);
        assert_eq!(entries[0]["manager"], "one");
        assert_eq!(entries[0]["apiVersion"], "autoscaling/v1");
        assert_eq!(entries[0]["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    }

    #[test]
    fn who_scales_takes_the_size_from_its_owner() {
        let size = Size::new("apps/v1", &["spec", "replicas"]);
        let mut object = deployment();
        let mut scaler = entry("scaler", "Apply", "scale", json!({"f:spec": {"f:replicas": {}}}));
        scaler["apiVersion"] = SCALE_VERSION.into();
        size.record_in_object(&json!({"metadata": {"managedFields": [scaler]}}), &mut object);
        let rest = r#"{"f:spec":{"f:paused":{}}}"#.to_owned();
        let replicas = r#"{"f:spec":{"f:replicas":{}}}"#.to_owned();
        assert_eq!(
            owners(&object),
            [
                ("scaler", "scale", replicas),
                ("one", "", rest.clone()),
                ("two", "", rest)
            ]
        );
        assert_eq!(object["metadata"]["managedFields"][0]["apiVersion"], "apps/v1");
    }

    #[test]
    fn who_keeps_the_size_keeps_its_entry() {
        let size = Size::new("apps/v1", &["spec", "replicas"]);
        let (mut object, mut scale) = (deployment(), json!({"metadata": {}}));
        object["metadata"]["managedFields"][0]["operation"] = "Update".into();
        size.record_in_scale(&object, &mut scale);
        size.record_in_object(&scale, &mut object);
        assert_eq!(owners(&object), owners(&deployment()));
    }

    #[test]
    fn an_object_without_a_record_gets_none() {
        let size = Size::new("apps/v1", &["spec", "replicas"]);
        let (mut object, mut scale) = (json!({"metadata": {}}), json!({"metadata": {}}));
        size.record_in_scale(&object, &mut scale);
        size.record_in_object(&scale, &mut object);
        assert_eq!(
            (scale, object),
            (json!({"metadata": {}}), json!({"metadata": {}}))
        );
    }
}
