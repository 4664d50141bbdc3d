//! stub
use manifests::field::FieldError;
use serde_json::Value;
use crate::structural::Structural;
#[derive(Debug)]
pub(crate) struct Rules;
impl Rules {
    pub(crate) fn compile(_schema: &Value, _root: bool) -> Option<Self> { None }
    pub(crate) fn validate(&self, _o: &Value, _old: Option<&Value>, _s: &Structural, _e: &mut Vec<FieldError>) -> Vec<String> { Vec::new() }
}
