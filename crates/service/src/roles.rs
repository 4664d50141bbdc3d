//! What each role may do: verbs on the kinds of the service, in a namespace or in all. The same table is asked
//! here for tokens of our own and written into roles of Kubernetes for those of a cluster.

use serde::{Deserialize, Serialize};

/// All namespaces.
pub(crate) const EVERYWHERE: &str = "*";

/// What something is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resource {
    Templates,
    Definitions,
    Tasks,
    Logs,
    Deliveries,
    NodeGroups,
    Tokens,
    Audit,
}

impl Resource {
    /// As Kubernetes knows it, in the group `trainyard.dev`. The last two are no kinds of objects there, but
    /// rights on them can be granted like on any other.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Templates => "tasktemplates",
            Self::Definitions => "taskdefinitions",
            Self::Tasks | Self::Logs => "tasks",
            Self::Deliveries => "callbackdeliveries",
            Self::NodeGroups => "nodegroups",
            Self::Tokens => "servicetokens",
            Self::Audit => "auditrecords",
        }
    }

    pub(crate) fn subresource(self) -> &'static str {
        match self {
            Self::Logs => "log",
            _ => "",
        }
    }

    /// Whether there is one of it for all namespaces together.
    pub(crate) fn is_cluster_wide(self) -> bool {
        matches!(self, Self::Templates | Self::NodeGroups)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Get,
    List,
    Create,
    Update,
    Delete,
    /// Let templates make what may do anything to the machines it runs on.
    Trust,
}

impl Verb {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Trust => "trust",
        }
    }

    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Get | Self::List)
    }
}

/// One thing that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Right {
    pub(crate) verb: Verb,
    pub(crate) resource: Resource,
}

pub(crate) const fn right(verb: Verb, resource: Resource) -> Right {
    Right { verb, resource }
}

/// From the least to the most; each may what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    Viewer,
    Submitter,
    TemplateAdmin,
    Admin,
}

impl Role {
    pub(crate) const ALL: [Self; 4] = [Self::Viewer, Self::Submitter, Self::TemplateAdmin, Self::Admin];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Submitter => "submitter",
            Self::TemplateAdmin => "template-admin",
            Self::Admin => "admin",
        }
    }

    /// The least role that has a right.
    fn least(right: Right) -> Self {
        match right.resource {
            Resource::Tokens | Resource::Audit => Self::Admin,
            _ if right.verb == Verb::Trust => Self::Admin,
            // Whoever makes one chooses where headers go; they are made by whoever looks after tasks.
            Resource::Deliveries if matches!(right.verb, Verb::Create | Verb::Delete) => Self::Admin,
            Resource::Templates | Resource::NodeGroups if !right.verb.reads() => Self::TemplateAdmin,
            _ if right.verb.reads() => Self::Viewer,
            _ => Self::Submitter,
        }
    }

    pub(crate) fn may(self, right: Right) -> bool {
        self >= Self::least(right)
    }
}

/// A role in a namespace, or in all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    pub(crate) role: Role,
    /// `*` is all of them.
    pub(crate) namespace: String,
}

/// Whether somebody with these grants may do this in a namespace, or in all with `*`. What belongs to the whole
/// cluster can be read with a role anywhere, and changed with one everywhere.
pub(crate) fn allowed(grants: &[Grant], right: Right, namespace: &str) -> bool {
    grants.iter().any(|grant| {
        let is_there = grant.namespace == EVERYWHERE
            || if right.resource.is_cluster_wide() {
                right.verb.reads()
            } else {
                grant.namespace == namespace
            };
        is_there && grant.role.may(right)
    })
}

/// Rights as rules of Kubernetes: the verbs of a role on each resource.
pub(crate) fn rules(role: Role) -> Vec<(String, Vec<&'static str>)> {
    use Resource::{Audit, Definitions, Deliveries, Logs, NodeGroups, Tasks, Templates, Tokens};
    let resources = [
        Templates,
        Definitions,
        Tasks,
        Logs,
        Deliveries,
        NodeGroups,
        Tokens,
        Audit,
    ];
    let verbs = [
        Verb::Get,
        Verb::List,
        Verb::Create,
        Verb::Update,
        Verb::Delete,
        Verb::Trust,
    ];
    resources
        .into_iter()
        .filter_map(|resource| {
            let held: Vec<&str> = verbs
                .into_iter()
                .filter(|verb| *verb != Verb::Trust || resource == Templates)
                .filter(|verb| role.may(right(*verb, resource)))
                .map(Verb::name)
                .collect();
            let name = match resource.subresource() {
                "" => resource.plural().to_owned(),
                part => format!("{}/{part}", resource.plural()),
            };
            (!held.is_empty()).then_some((name, held))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(role: Role, namespace: &str) -> Vec<Grant> {
        vec![Grant {
            role,
            namespace: namespace.to_owned(),
        }]
    }

    #[track_caller]
    fn check(grants: &[Grant], verb: Verb, resource: Resource, namespace: &str, expected: bool) {
        assert_eq!(
            allowed(grants, right(verb, resource), namespace),
            expected,
            "{verb:?} {resource:?} in {namespace}"
        );
    }

    #[test]
    fn a_role_counts_where_it_was_granted() {
        let ours = grant(Role::Submitter, "team");
        check(&ours, Verb::Create, Resource::Tasks, "team", true);
        check(&ours, Verb::Create, Resource::Tasks, "other", false);
        check(&ours, Verb::List, Resource::Tasks, EVERYWHERE, false);
        check(&ours, Verb::Delete, Resource::Definitions, "team", true);
        check(&ours, Verb::Create, Resource::Tokens, "team", false);
        let all = grant(Role::Viewer, EVERYWHERE);
        check(&all, Verb::List, Resource::Tasks, EVERYWHERE, true);
        check(&all, Verb::Get, Resource::Logs, "team", true);
        check(&all, Verb::Create, Resource::Tasks, "team", false);
        check(&[], Verb::List, Resource::Templates, "team", false);
    }

    #[test]
    fn templates_are_everybodys_to_read_and_few_peoples_to_write() {
        check(
            &grant(Role::Viewer, "team"),
            Verb::List,
            Resource::Templates,
            "",
            true,
        );
        check(
            &grant(Role::Submitter, EVERYWHERE),
            Verb::Update,
            Resource::Templates,
            "",
            false,
        );
        check(
            &grant(Role::TemplateAdmin, "team"),
            Verb::Update,
            Resource::Templates,
            "",
            false,
        );
        check(
            &grant(Role::TemplateAdmin, EVERYWHERE),
            Verb::Update,
            Resource::Templates,
            "",
            true,
        );
        check(
            &grant(Role::TemplateAdmin, EVERYWHERE),
            Verb::List,
            Resource::Audit,
            "team",
            false,
        );
        check(
            &grant(Role::Admin, "team"),
            Verb::List,
            Resource::Audit,
            "team",
            true,
        );
    }

    #[test]
    fn rules_of_kubernetes_are_made_of_the_same_table() {
        let rules = rules(Role::Viewer);
        assert!(rules.iter().all(|(_, verbs)| verbs == &["get", "list"]));
        assert!(rules.iter().any(|(resource, _)| resource == "tasks/log"));
        assert!(!rules.iter().any(|(resource, _)| resource == "servicetokens"));
    }

    #[test]
    fn whoever_submits_does_not_make_deliveries() {
        let rules = rules(Role::Submitter);
        let (_, verbs) = rules
            .iter()
            .find(|(resource, _)| resource == "callbackdeliveries")
            .unwrap();
        assert_eq!(verbs, &["get", "list", "update"]);
    }
}
