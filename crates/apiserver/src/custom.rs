//! Custom resources as the registry sees them: one served version of one definition.

use jiff::Timestamp;
use kinds::strategy::Strategy;
use manifests::field::FieldError;
use schemas::{Place, Structural};
use serde_json::Value;

pub static DEFINITION_STRATEGY: Strategy = Strategy::NONE;

pub struct CustomVersion {
    schema: Structural,
}

impl CustomVersion {
    pub fn is_current(&self, _revision: u64) -> bool {
        true
    }
    pub fn upgrade(&self, _value: &mut Value) {}
    pub fn storage_api_version(&self) -> &str {
        ""
    }
    pub fn selectable_fields(&self) -> Vec<String> {
        Vec::new()
    }
    pub fn cells(&self, _object: &Value, _now: Timestamp) -> Vec<Value> {
        Vec::new()
    }
    pub fn column_definitions(&self) -> Value {
        Value::Null
    }
    pub fn prune(&self, _value: &mut Value) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }
    pub fn default(&self, _value: &mut Value) {}
    pub fn prepare_for_create(&self, _object: &mut Value) {}
    pub fn prepare_for_update(&self, _new: &mut Value, _old: &Value) {}
    pub fn prepare_for_status_update(&self, _new: &mut Value, _old: &Value) {}
    pub fn validate(&self, _object: &Value, _errors: &mut Vec<FieldError>) {}
    pub fn validate_update(&self, _new: &Value, _old: &Value, _status: bool, _errors: &mut Vec<FieldError>) {}
    pub fn scale_paths(&self) -> Option<(Vec<String>, Vec<String>, Option<Vec<String>>)> {
        None
    }
    pub fn place(&self) -> Place<'_> {
        Place::root(&self.schema)
    }
}
