//! Permissions, for expressions that ask for them.

use schemas::cel::authorization::{Authorizer, Decision, What, Who};

use crate::{authentication::User, authorization::Attributes, call::Call, tokens};

/// Answers for the user of a request.
pub(crate) struct Permissions<'a>(pub &'a Call);

impl Authorizer for Permissions<'_> {
    fn decide(&self, who: &Who, what: &What, verb: &str) -> Decision {
        let attributes = match what {
            What::Path(path) => Attributes::Path { verb, path },
            What::Resource(resource) => Attributes::Resource {
                verb,
                group: &resource.group,
                resource: &resource.resource,
                subresource: &resource.subresource,
                namespace: &resource.namespace,
                name: &resource.name,
            },
        };
        let api = &self.0.api;
        let decided = match who {
            Who::Requester => api.authorizer.decide(&api.store, &self.0.user, attributes),
            Who::ServiceAccount { namespace, name } => {
                api.authorizer
                    .decide(&api.store, &service_account(namespace, name), attributes)
            }
        };
        Decision {
            allowed: decided.is_allowed(),
            reason: decided.reason().to_owned(),
        }
    }
}

fn service_account(namespace: &str, name: &str) -> User {
    let groups = tokens::groups(namespace);
    User {
        name: tokens::username(namespace, name),
        groups,
        ..User::default()
    }
}
