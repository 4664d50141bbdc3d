//! One rule: operations on resources of groups and versions, in a scope.

use serde_json::Value;

/// A request as rules see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub operation: &'a str,
    pub group: &'a str,
    pub version: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
}

#[derive(Debug)]
pub(crate) struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    /// Resources and their subresources; `*` stands for any.
    resources: Vec<(String, String)>,
    scope: Scope,
    /// Which objects; all, when there is none. Webhooks cannot say this.
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    Cluster,
    Namespaced,
}

impl Rule {
    pub(crate) fn read(rule: &Value) -> Self {
        let texts = |field: &str| -> Vec<String> {
            let list = kinds::read::list(rule, field).iter();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            operations: texts("operations"),
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: texts("resources")
                .iter()
                .map(|resource| split(resource))
                .collect(),
            scope: match kinds::read::text(rule, "scope") {
                "Cluster" => Scope::Cluster,
                "Namespaced" => Scope::Namespaced,
                _ => Scope::All,
            },
            names: texts("resourceNames"),
        }
    }

    pub(super) fn matches(&self, asked: &Asked<'_>) -> bool {
        let any = |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
        self.matches_scope(asked)
            && any(&self.operations, asked.operation)
            && any(&self.groups, asked.group)
            && any(&self.versions, asked.version)
            && self.matches_resource(asked)
            && (self.names.is_empty() || self.names.iter().any(|name| name == asked.name))
    }

    /// Namespaces are cluster-scoped, although they count as being in themselves.
    fn matches_scope(&self, asked: &Asked<'_>) -> bool {
        let is_namespace = (asked.group, asked.version, asked.resource) == ("", "v1", "namespaces");
        let in_cluster = is_namespace || asked.namespace.is_empty();
        match self.scope {
            Scope::All => true,
            Scope::Cluster => in_cluster,
            Scope::Namespaced => !in_cluster,
        }
    }

    fn matches_resource(&self, asked: &Asked<'_>) -> bool {
        self.resources.iter().any(|(resource, subresource)| {
            (resource == "*" || resource == asked.resource)
                && (subresource == "*" || subresource == asked.subresource)
        })
    }
}

fn split(resource: &str) -> (String, String) {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    (resource.to_owned(), subresource.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const POD: Asked<'_> = Asked {
        operation: "CREATE",
        group: "",
        version: "v1",
        resource: "pods",
        subresource: "",
        namespace: "ns",
        name: "p",
    };

    #[track_caller]
    fn check(resources: &[&str], asked: Asked<'_>, expected: bool) {
        let rule = json!({
            "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["v1"], "resources": resources, "scope": "*",
        });
        assert_eq!(
            Rule::read(&rule).matches(&asked),
            expected,
            "for {resources:?} and {asked:?}"
        );
    }

    #[test]
    fn resources_and_subresources_are_named_or_starred() {
        let status = Asked {
            subresource: "status",
            ..POD
        };
        for (resource, plain, with_status) in [
            ("pods", true, false),
            ("*", true, false),
            ("*/*", true, true),
            ("pods/*", true, true),
            ("pods/status", false, true),
            ("*/status", false, true),
            ("*/scale", false, false),
            ("services/*", false, false),
        ] {
            check(&[resource], POD, plain);
            check(&[resource], status, with_status);
        }
    }

    #[test]
    fn every_field_has_to_match() {
        let rule = json!({
            "operations": ["CREATE", "DELETE"], "apiGroups": ["", "apps"], "apiVersions": ["v1"],
            "resources": ["pods", "deployments"], "resourceNames": ["p"],
        });
        let rule = Rule::read(&rule);
        assert!(rule.matches(&POD));
        assert!(rule.matches(&Asked {
            group: "apps",
            resource: "deployments",
            operation: "DELETE",
            ..POD
        }));
        assert!(!rule.matches(&Asked {
            operation: "UPDATE",
            ..POD
        }));
        assert!(!rule.matches(&Asked {
            group: "batch",
            ..POD
        }));
        assert!(!rule.matches(&Asked { version: "v2", ..POD }));
        assert!(!rule.matches(&Asked { name: "q", ..POD }));
    }

    #[test]
    fn namespaces_are_cluster_scoped() {
        let namespace = Asked {
            resource: "namespaces",
            namespace: "ns",
            ..POD
        };
        let node = Asked {
            resource: "nodes",
            namespace: "",
            ..POD
        };
        for (scope, pods, namespaces, nodes) in [
            ("*", true, true, true),
            ("Cluster", false, true, true),
            ("Namespaced", true, false, false),
        ] {
            let rule = json!({
                "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "scope": scope,
            });
            let rule = Rule::read(&rule);
            let found = [POD, namespace, node].map(|asked| rule.matches(&asked));
            assert_eq!(found, [pods, namespaces, nodes], "for {scope}");
        }
    }
}
