//! FlowSchema and PriorityLevelConfiguration: which requests wait for which others. The schemas the
//! server cannot do without keep their content.

use serde_json::{Value, json};

use super::field::{Errors, Field};
use crate::{checks::same, names, read, strategy::Strategy};

const VERBS: [&str; 9] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];
const DEFAULT_PRECEDENCE: i64 = 1000;
const MAX_PRECEDENCE: i64 = 10000;
const MAX_QUEUES: i64 = 10_000_000;
const MAX_HASH_BITS: f64 = 60.0;

pub(crate) static FLOW_SCHEMA: Strategy = Strategy {
    default: |schema| {
        let spec = super::spec_mut(schema);
        if read::int(spec, "matchingPrecedence").unwrap_or_default() == 0 {
            spec["matchingPrecedence"] = DEFAULT_PRECEDENCE.into();
        }
    },
    prepare_for_create: super::clear_status,
    prepare_for_update: super::keep_status,
    validate: validate_schema,
    validate_update: |schema, _, errors| validate_schema(schema, errors),
    prepare_for_status_update: super::keep_spec,
    validate_status_update: |schema, _, errors| validate_conditions(schema, errors),
    ..Strategy::NONE
};

pub(crate) static PRIORITY_LEVEL: Strategy = Strategy {
    default: default_level,
    prepare_for_create: super::clear_status,
    prepare_for_update: super::keep_status,
    validate: validate_level,
    validate_update: |level, _, errors| validate_level(level, errors),
    prepare_for_status_update: super::keep_spec,
    validate_status_update: |level, _, errors| validate_conditions(level, errors),
    ..Strategy::NONE
};

fn default_level(level: &mut Value) {
    if let Some(exempt) = level.pointer_mut("/spec/exempt") {
        read::default(exempt, "nominalConcurrencyShares", 0);
        read::default(exempt, "lendablePercent", 0);
    }
    let Some(limited) = level.pointer_mut("/spec/limited") else {
        return;
    };
    read::default(limited, "nominalConcurrencyShares", 30);
    read::default(limited, "lendablePercent", 0);
    let Some(queuing) = limited.pointer_mut("/limitResponse/queuing") else {
        return;
    };
    for (field, number) in [("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)] {
        if read::int(queuing, field).unwrap_or_default() == 0 {
            queuing[field] = number.into();
        }
    }
}

fn validate_schema(schema: &Value, errors: &mut Errors) {
    let root = Field::root(schema);
    let spec = root.child("spec");
    let name = root.child("metadata.name").text();
    validate_precedence(&spec.child("matchingPrecedence"), name, errors);
    let distinguisher = spec.child("distinguisherMethod.type");
    if spec.child("distinguisherMethod").is_set()
        && !["ByNamespace", "ByUser"].contains(&distinguisher.text())
    {
        distinguisher.not_supported_as(
            &json!({"Type": distinguisher.text()}),
            &["ByNamespace", "ByUser"],
            errors,
        );
    }
    let level = spec.child("priorityLevelConfiguration.name");
    if level.is_empty() {
        level.required_because("must reference a priority level", errors);
    } else {
        level.syntax(names::dns_subdomain, errors);
    }
    for rule in spec.child("rules").items() {
        validate_rule(&rule, errors);
    }
    if let Some(fixed) = fixed_schema(name)
        && !same(spec.value, &fixed)
    {
        let detail = format!("spec of '{name}' must equal the fixed value");
        spec.invalid_shown("FlowSchemaSpec", &detail, errors);
    }
    validate_conditions(schema, errors);
}

fn validate_precedence(precedence: &Field<'_>, name: &str, errors: &mut Errors) {
    match precedence.int().unwrap_or_default() {
        ..=0 => precedence.invalid("must be a positive value", errors),
        1 if name != "exempt" => {
            precedence.invalid(
                "only the schema named 'exempt' may have matchingPrecedence 1",
                errors,
            );
        }
        number if number > MAX_PRECEDENCE => {
            precedence.invalid(format!("must not be greater than {MAX_PRECEDENCE}"), errors);
        }
        _ => {}
    }
}

fn validate_rule(rule: &Field<'_>, errors: &mut Errors) {
    let subjects = rule.child("subjects");
    if subjects.is_empty() {
        subjects.required_because("subjects must contain at least one value", errors);
    }
    for subject in subjects.items() {
        validate_subject(&subject, errors);
    }
    let (resources, urls) = (rule.child("resourceRules"), rule.child("nonResourceRules"));
    if resources.is_empty() && urls.is_empty() {
        rule.required_because(
            "at least one of resourceRules and nonResourceRules has to be non-empty",
            errors,
        );
    }
    for rule in resources.items() {
        validate_resource_rule(&rule, errors);
    }
    for rule in urls.items() {
        validate_verbs(&rule.child("verbs"), errors);
        validate_urls(&rule.child("nonResourceURLs"), errors);
    }
}

fn validate_subject(subject: &Field<'_>, errors: &mut Errors) {
    const KINDS: [(&str, &str); 3] = [
        ("ServiceAccount", "serviceAccount"),
        ("User", "user"),
        ("Group", "group"),
    ];
    let kind = subject.child("kind");
    let Some((_, own)) = KINDS.iter().find(|(name, _)| *name == kind.text()) else {
        kind.not_supported(&["Group", "ServiceAccount", "User"], errors);
        return;
    };
    let content = subject.child(own);
    if !content.is_set() {
        let detail = format!("{own} is required when subject kind is '{}'", kind.text());
        content.required_because(&detail, errors);
    } else if content.child("name").require(errors) && *own == "serviceAccount" {
        validate_account_name(&content.child("name"), errors);
    }
    if content.is_set() && *own == "serviceAccount" {
        let namespace = content.child("namespace");
        if namespace.is_empty() {
            namespace.required_because("must specify namespace for service account", errors);
        } else {
            namespace.syntax(names::dns_label, errors);
        }
    }
    for (name, field) in KINDS {
        let other = subject.child(field);
        if field != *own && other.is_set() {
            other.forbidden(
                &format!("{field} is forbidden when subject kind is not '{name}'"),
                errors,
            );
        }
    }
}

fn validate_account_name(name: &Field<'_>, errors: &mut Errors) {
    if name.text() != "*" {
        name.syntax(names::dns_subdomain, errors);
    }
}

fn has_star(list: &Field<'_>) -> bool {
    list.list().iter().any(|item| item == "*")
}

/// A star stands alone.
fn validate_star(list: &Field<'_>, what: &str, errors: &mut Errors) -> bool {
    if has_star(list) && list.list().len() > 1 {
        list.invalid(
            format!("if '*' is present, must not specify other {what}"),
            errors,
        );
    }
    has_star(list)
}

fn validate_verbs(verbs: &Field<'_>, errors: &mut Errors) {
    if verbs.is_empty() {
        verbs.required_because("verbs must contain at least one value", errors);
    } else if !validate_star(verbs, "verbs", errors)
        && !verbs.items().all(|verb| VERBS.contains(&verb.text()))
    {
        verbs.not_supported_as(verbs.value, &VERBS, errors);
    }
}

fn validate_resource_rule(rule: &Field<'_>, errors: &mut Errors) {
    validate_verbs(&rule.child("verbs"), errors);
    for (field, one, many) in [
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ] {
        let list = rule.child(field);
        if list.is_empty() {
            list.required_because(&format!("resource rules must supply at least one {one}"), errors);
        }
        validate_star(&list, many, errors);
    }
    let namespaces = rule.child("namespaces");
    if namespaces.is_empty() && !rule.child("clusterScope").flag() {
        namespaces.required_because(
            "resource rules that are not cluster scoped must supply at least one namespace",
            errors,
        );
    } else if !validate_star(&namespaces, "namespaces", errors) {
        for namespace in namespaces.items() {
            for complaint in names::dns_label(namespace.text()) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {complaint}");
                namespace.invalid(detail, errors);
            }
        }
    }
}

fn validate_urls(urls: &Field<'_>, errors: &mut Errors) {
    if urls.is_empty() {
        urls.required_because("nonResourceURLs must contain at least one value", errors);
    } else if !validate_star(urls, "non-resource URLs", errors) {
        for url in urls.items() {
            if let Some(complaint) = url_complaint(url.text()) {
                url.invalid(complaint, errors);
            }
        }
    }
}

fn url_complaint(url: &str) -> Option<&'static str> {
    if url.is_empty() {
        Some("must not be empty")
    } else if !url.starts_with('/') {
        Some("must start with slash")
    } else if url.contains(' ') {
        Some("must not contain white-space")
    } else if url.contains("//") {
        Some("must not contain double slash")
    } else {
        let stars = url.matches('*').count();
        (stars > 1 || (stars == 1 && !url.ends_with("/*"))).then_some("wildcard can only do suffix matching")
    }
}

fn validate_conditions(object: &Value, errors: &mut Errors) {
    let root = Field::root(object);
    let conditions = root.child("status.conditions");
    for condition in conditions.items() {
        condition.child("type").require(errors);
    }
    conditions.unique_by("type", errors);
}

fn validate_level(level: &Value, errors: &mut Errors) {
    let root = Field::root(level);
    let spec = root.child("spec");
    let (kind, name) = (spec.child("type"), root.child("metadata.name").text());
    if (name == "exempt") != (kind.text() == "Exempt") {
        kind.invalid_as(
            kind.text(),
            "must be 'Exempt' if and only if `name` is 'exempt'",
            errors,
        );
    }
    let (exempt, limited) = (spec.child("exempt"), spec.child("limited"));
    match kind.text() {
        "Exempt" => {
            if limited.is_set() {
                limited.forbidden("must be nil if the type is not Limited", errors);
            }
            validate_shares(&exempt, errors);
        }
        "Limited" => {
            if exempt.is_set() {
                exempt.forbidden("must be nil if the type is Limited", errors);
            }
            if limited.is_set() {
                validate_limited(&limited, errors);
            } else {
                limited.required_because("must not be empty when type is Limited", errors);
            }
        }
        _ => kind.not_supported(&["Exempt", "Limited"], errors),
    }
    validate_fixed_level(&spec, name, errors);
    validate_conditions(level, errors);
}

fn validate_shares(level: &Field<'_>, errors: &mut Errors) {
    let shares = level.child("nominalConcurrencyShares");
    if shares.int().is_some_and(|shares| shares < 0) {
        shares.invalid("must be a non-negative integer", errors);
    }
    let lendable = level.child("lendablePercent");
    if lendable.is_set() {
        lendable.in_range(0, 100, errors);
    }
}

fn validate_limited(limited: &Field<'_>, errors: &mut Errors) {
    validate_shares(limited, errors);
    let (kind, queuing) = (
        limited.child("limitResponse.type"),
        limited.child("limitResponse.queuing"),
    );
    match (kind.text(), queuing.is_set()) {
        ("Reject", true) => {
            queuing.forbidden("must be nil if limited.limitResponse.type is not Limited", errors);
        }
        ("Queue", false) => {
            queuing.required_because(
                "must not be empty if limited.limitResponse.type is Limited",
                errors,
            );
        }
        ("Queue", true) => validate_queuing(&queuing, errors),
        ("Reject", false) => {}
        _ => kind.not_supported(&["Queue", "Reject"], errors),
    }
    let borrowing = limited.child("borrowingLimitPercent");
    if borrowing.int().is_some_and(|percent| percent < 0) {
        borrowing.invalid("if specified, must be a non-negative integer", errors);
    }
}

fn validate_queuing(queuing: &Field<'_>, errors: &mut Errors) {
    let (queues, hand) = (queuing.child("queues"), queuing.child("handSize"));
    for field in ["queueLengthLimit", "queues", "handSize"] {
        let field = queuing.child(field);
        if field.int().unwrap_or_default() <= 0 {
            field.invalid_as(field.int().unwrap_or_default(), "must be positive", errors);
        }
    }
    let (deck, dealt) = (queues.int().unwrap_or_default(), hand.int().unwrap_or_default());
    if deck > MAX_QUEUES {
        queues.invalid(format!("must not be greater than {MAX_QUEUES}"), errors);
    }
    if dealt > 0 && dealt > deck {
        hand.invalid(format!("should not be greater than queues ({deck})"), errors);
    } else if dealt > 0 && ((deck as f64).log2() * dealt as f64).ceil() > MAX_HASH_BITS {
        let detail = format!(
            "required entropy bits of deckSize {deck} and handSize {dealt} should not be greater than {MAX_HASH_BITS}"
        );
        hand.invalid(detail, errors);
    }
}

/// The content of the two schemas every server has.
fn fixed_schema(name: &str) -> Option<Value> {
    let rules = |groups: &[&str]| {
        let subjects: Vec<Value> = groups
            .iter()
            .map(|group| json!({"kind": "Group", "group": {"name": group}}))
            .collect();
        json!([{
            "subjects": subjects,
            "resourceRules": [{
                "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"],
            }],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }])
    };
    match name {
        "exempt" => Some(json!({
            "priorityLevelConfiguration": {"name": "exempt"},
            "matchingPrecedence": 1,
            "rules": rules(&["system:masters"]),
        })),
        "catch-all" => Some(json!({
            "priorityLevelConfiguration": {"name": "catch-all"},
            "matchingPrecedence": MAX_PRECEDENCE,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": rules(&["system:unauthenticated", "system:authenticated"]),
        })),
        _ => None,
    }
}

fn validate_fixed_level(spec: &Field<'_>, name: &str, errors: &mut Errors) {
    match name {
        "exempt" if spec.child("type").text() != "Exempt" || spec.child("limited").is_set() => {
            spec.invalid_shown(
                "PriorityLevelConfigurationSpec",
                "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value",
                errors,
            );
        }
        "catch-all" => {
            let fixed = json!({
                "type": "Limited",
                "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
            });
            if !same(spec.value, &fixed) {
                spec.invalid_shown(
                    "PriorityLevelConfigurationSpec",
                    "spec of 'catch-all' must equal the fixed value",
                    errors,
                );
            }
        }
        _ => {}
    }
}
