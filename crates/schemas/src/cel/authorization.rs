//! Questions expressions ask about permissions:
//! `authorizer.group('apps').resource('deployments').check('create').allowed()`.

use std::sync::Arc;

use super::{
    evaluate::{EvalError, Outcome},
    types::Type,
    value::Val,
};

pub(crate) const AUTHORIZER: Type = Type::Opaque("kubernetes.authorization.Authorizer");
pub(crate) const PATH_CHECK: Type = Type::Opaque("kubernetes.authorization.PathCheck");
pub(crate) const GROUP_CHECK: Type = Type::Opaque("kubernetes.authorization.GroupCheck");
pub(crate) const RESOURCE_CHECK: Type = Type::Opaque("kubernetes.authorization.ResourceCheck");
pub(crate) const DECISION: Type = Type::Opaque("kubernetes.authorization.Decision");

/// Who answers the questions.
pub trait Authorizer {
    fn decide(&self, who: &Who, what: &What, verb: &str) -> Decision;
}

/// Whose permissions are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Who {
    /// The user behind the request.
    #[default]
    Requester,
    ServiceAccount {
        namespace: String,
        name: String,
    },
}

/// What is to be done something to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Path(String),
    Resource(Resource),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub allowed: bool,
    pub reason: String,
}

/// A question as far as it has been put, or its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inquiry {
    Authorizer(Who),
    Group(Who, String),
    Check(Who, What),
    Decision(Decision),
}

impl Inquiry {
    pub(crate) fn type_name(&self) -> &'static str {
        let of = match self {
            Self::Authorizer(_) => AUTHORIZER,
            Self::Group(..) => GROUP_CHECK,
            Self::Check(_, What::Path(_)) => PATH_CHECK,
            Self::Check(_, What::Resource(_)) => RESOURCE_CHECK,
            Self::Decision(_) => DECISION,
        };
        match of {
            Type::Opaque(name) => name,
            _ => "",
        }
    }

    /// Takes the question one step further, or reads the answer.
    pub(crate) fn apply<'a>(
        &self,
        function: &str,
        args: &[Val<'a>],
        authorizer: Option<&dyn Authorizer>,
    ) -> Outcome<'a> {
        let next = match (self, function, args) {
            (Self::Decision(decision), _, []) => return read_decision(decision, function),
            (Self::Authorizer(who), "path", [Val::Text(path)]) => {
                required(path, "path")?;
                Self::Check(who.clone(), What::Path(path.to_string()))
            }
            (Self::Authorizer(who), "group", [Val::Text(group)]) => {
                Self::Group(who.clone(), group.to_string())
            }
            (Self::Authorizer(_), "serviceAccount", [Val::Text(namespace), Val::Text(name)]) => {
                Self::Authorizer(service_account(namespace, name)?)
            }
            (Self::Group(who, group), "resource", [Val::Text(resource)]) => {
                required(resource, "resource")?;
                let resource = Resource {
                    group: group.clone(),
                    resource: resource.to_string(),
                    ..Resource::default()
                };
                Self::Check(who.clone(), What::Resource(resource))
            }
            (Self::Check(who, What::Resource(resource)), _, [Val::Text(text)]) if function != "check" => {
                Self::Check(
                    who.clone(),
                    What::Resource(narrowed(resource.clone(), function, text)?),
                )
            }
            (Self::Check(who, what), "check", [Val::Text(verb)]) => {
                let authorizer = authorizer.ok_or_else(EvalError::no_such_overload)?;
                Self::Decision(authorizer.decide(who, what, verb))
            }
            _ => return Err(EvalError::no_such_overload()),
        };
        Ok(Val::Inquiry(Arc::new(next)))
    }
}

fn read_decision<'a>(decision: &Decision, function: &str) -> Outcome<'a> {
    match function {
        "allowed" => Ok(Val::Bool(decision.allowed)),
        "reason" => Ok(Val::text(decision.reason.as_str())),
        // Asking never fails here: there is nobody to ask over a network.
        "errored" => Ok(Val::Bool(false)),
        "error" => Ok(Val::text("")),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn narrowed(mut resource: Resource, function: &str, text: &str) -> Result<Resource, EvalError> {
    let place = match function {
        "subresource" => &mut resource.subresource,
        "namespace" => &mut resource.namespace,
        "name" => &mut resource.name,
        // No rule of role-based access control looks at selectors.
        "fieldSelector" | "labelSelector" => return Ok(resource),
        _ => return Err(EvalError::no_such_overload()),
    };
    text.clone_into(place);
    Ok(resource)
}

fn required(text: &str, what: &str) -> Result<(), EvalError> {
    if text.trim().is_empty() {
        return Err(EvalError::failed(format!("{what} must not be empty")));
    }
    Ok(())
}

fn service_account(namespace: &str, name: &str) -> Result<Who, EvalError> {
    if !manifests::names::dns_subdomain(name).is_empty() {
        return Err(EvalError::failed("Invalid service account name"));
    }
    if !manifests::names::dns_label(namespace).is_empty() {
        return Err(EvalError::failed("Invalid service account namespace"));
    }
    Ok(Who::ServiceAccount {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}
