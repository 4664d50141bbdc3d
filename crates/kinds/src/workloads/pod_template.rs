//! `v1` PodTemplate.

use manifests::field::Path;
use serde_json::{Value, json};

use super::{validate_meta, validate_meta_update};
use crate::{
    checks::Errors,
    names,
    pods::{Options, template},
    read::{default, get},
    strategy::Strategy,
};

pub static POD_TEMPLATE: Strategy = Strategy {
    default: |object| {
        default(object, "template", json!({}));
        template::default(&mut object["template"]);
    },
    prepare_for_create: |object| template::drop_disabled(&mut object["template"], &Value::Null),
    prepare_for_update: |new, old| template::drop_disabled(&mut new["template"], get(old, "template")),
    validate,
    validate_update,
    warnings_on_create: warnings,
    warnings_on_update: |new, old| {
        if get(new, "template") == get(old, "template") {
            Vec::new()
        } else {
            warnings(new)
        }
    },
    name_syntax: names::dns_subdomain,
    ..Strategy::NONE
};

fn validate(object: &Value, errors: &mut Errors) {
    validate_meta(object, errors);
    template::validate(
        get(object, "template"),
        Options::NEW,
        &Path::new("template"),
        errors,
    );
}

fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_meta_update(new, old, errors);
    let options = Options::after_template(get(old, "template"));
    template::validate(get(new, "template"), options, &Path::new("template"), errors);
}

fn warnings(object: &Value) -> Vec<String> {
    template::warnings(get(object, "template"), &Path::new("template"))
}
