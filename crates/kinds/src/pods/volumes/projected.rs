//! Projected volumes: files from several sources in one directory, where no two may collide.

use std::collections::HashSet;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{super::Options, files, paths::validate_local};
use crate::{
    checks::{Errors, require},
    read::{get, has, int, list, text},
};

const TEN_MINUTES: i64 = 600;
const LONGEST_TOKEN: i64 = 1 << 32;
const SOURCES: &[&str] = &["secret", "configMap", "downwardAPI", "serviceAccountToken"];

pub(super) fn validate(projected: &Value, options: Options, path: &Path, errors: &mut Errors) {
    files::validate_mode(projected, "defaultMode", path, errors);
    let mut taken = HashSet::new();
    for (i, source) in list(projected, "sources").iter().enumerate() {
        let source_path = path.child("sources").index(i);
        for key in ["secret", "configMap"] {
            validate_entries(
                get(source, key),
                &mut taken,
                path,
                &source_path.child(key),
                errors,
            );
        }
        for file in list(get(source, "downwardAPI"), "items") {
            files::validate_downward_api_file(file, &source_path.child("downwardAPI"), errors);
            let target = text(file, "path");
            take(target, target, &mut taken, path, errors);
        }
        validate_token(
            get(source, "serviceAccountToken"),
            options,
            path,
            &source_path,
            errors,
        );
        if SOURCES.iter().filter(|key| has(source, key)).count() > 1 {
            let detail = "may not specify more than 1 volume type per source";
            errors.push(FieldError::forbidden(&source_path, detail));
        }
    }
}

fn validate_entries<'a>(
    source: &'a Value,
    taken: &mut HashSet<&'a str>,
    volume_path: &Path,
    path: &Path,
    errors: &mut Errors,
) {
    if source.is_null() {
        return;
    }
    require(source, "name", path, errors);
    for (i, item) in list(source, "items").iter().enumerate() {
        files::validate_item(item, &path.child("items").index(i), errors);
        take(
            text(item, "path"),
            text(source, "name"),
            taken,
            volume_path,
            errors,
        );
    }
}

fn take<'a>(target: &'a str, shown: &str, taken: &mut HashSet<&'a str>, path: &Path, errors: &mut Errors) {
    if !target.is_empty() && !taken.insert(target) {
        errors.push(FieldError::invalid(
            path,
            &json!(shown),
            "conflicting duplicate paths",
        ));
    }
}

/// The real server puts the path of the token on the volume, not on the source.
fn validate_token(token: &Value, options: Options, volume_path: &Path, path: &Path, errors: &mut Errors) {
    if token.is_null() {
        return;
    }
    let seconds = int(token, "expirationSeconds").unwrap_or_default();
    let mut refuse = |detail: &str| {
        let path = path.child("serviceAccountToken").child("expirationSeconds");
        errors.push(FieldError::invalid(&path, &json!(seconds), detail));
    };
    if seconds < TEN_MINUTES {
        refuse("may not specify a duration less than 10 minutes");
    }
    if seconds > LONGEST_TOKEN {
        refuse("may not specify a duration larger than 2^32 seconds");
    }
    if require(token, "path", volume_path, errors) && !options.allow_non_local_token_path {
        validate_local(text(token, "path"), &volume_path.child("path"), errors);
    }
}
