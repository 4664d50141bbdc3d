//! The types that are more than their fields: quantities, times, open JSON and the like.

use serde_json::{Value, json};

use super::Dialect;
use crate::types::Form;

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
const FIELDS_V1: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
const JSON: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON";
const SCHEMA_OR_ARRAY: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray";
const SCHEMA_OR_BOOL: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool";
const SCHEMA_OR_STRING_ARRAY: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray";

/// The body of a patch, whatever its media type.
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
/// What `/version` answers.
pub(super) const VERSION_INFO: &str = "io.k8s.apimachinery.pkg.version.Info";

/// The name under which a form that is not a struct is published, if it is not written in place.
pub(super) fn name(form: Form) -> Option<&'static str> {
    Some(match form {
        Form::Quantity => QUANTITY,
        Form::IntOrString => INT_OR_STRING,
        Form::Time => TIME,
        Form::MicroTime => MICRO_TIME,
        Form::RawExtension => RAW_EXTENSION,
        Form::FieldsV1 => FIELDS_V1,
        Form::Json => JSON,
        Form::SchemaOrArray => SCHEMA_OR_ARRAY,
        Form::SchemaOrBool => SCHEMA_OR_BOOL,
        Form::SchemaOrStringArray => SCHEMA_OR_STRING_ARRAY,
        _ => return None,
    })
}

/// The schema with this name.
pub(super) fn schema(name: &str, dialect: Dialect) -> Option<Value> {
    let v3 = dialect == Dialect::V3;
    Some(match name {
        QUANTITY if v3 => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        QUANTITY => json!({"type": "string"}),
        INT_OR_STRING if v3 => {
            json!({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"})
        }
        INT_OR_STRING => json!({"type": "string", "format": "int-or-string"}),
        TIME | MICRO_TIME => json!({"type": "string", "format": "date-time"}),
        RAW_EXTENSION | FIELDS_V1 | PATCH => json!({"type": "object"}),
        JSON | SCHEMA_OR_ARRAY | SCHEMA_OR_BOOL | SCHEMA_OR_STRING_ARRAY => json!({}),
        VERSION_INFO => version_info(dialect),
        _ => return None,
    })
}

fn version_info(dialect: Dialect) -> Value {
    let required = [
        "major",
        "minor",
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    ];
    let optional = [
        "emulationMajor",
        "emulationMinor",
        "minCompatibilityMajor",
        "minCompatibilityMinor",
    ];
    let mut schema = json!({"type": "object", "required": required, "properties": {}});
    for name in required {
        schema["properties"][name] = match dialect {
            Dialect::V2 => json!({"type": "string"}),
            Dialect::V3 => json!({"type": "string", "default": ""}),
        };
    }
    for name in optional {
        schema["properties"][name] = json!({"type": "string"});
    }
    schema
}
