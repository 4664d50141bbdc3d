//! The cluster's own admission in expressions: ValidatingAdmissionPolicies and their bindings.

mod configuration;
mod evaluate;
mod params;
pub(crate) mod status;
mod type_check;

use http::StatusCode;
use serde_json::{Value, json};

use self::{
    configuration::{Action, Binding, Policy},
    evaluate::{Decision, Evaluation},
};
use super::{
    Operation,
    attributes::Attributes,
    conversion::convert,
    matching::{Matcher, Objects, namespace_of},
};
use crate::{
    call::Call,
    error::{ApiError, Result},
    kind::Kind,
    writes::Writer,
};

pub(crate) use self::configuration::Policies;

/// Questions and answers that are not stored: a policy on them could lock everybody out.
const EXCLUDED: [(&str, &str); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// Lets every policy that is bound to the request refuse it, or warn.
pub(crate) async fn validate(
    writer: &mut Writer<'_>,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<()> {
    let call = writer.call;
    let policies = call.api.policies.bound(&call.api.store);
    if policies.is_empty() || EXCLUDED.contains(&(&*call.kind.group, &*call.kind.plural)) {
        return Ok(());
    }
    let attributes = Attributes::of(writer, operation, object);
    let matcher = Matcher::new(&attributes);
    let mut review = Review {
        attributes: &attributes,
        matcher: &matcher,
        objects: Objects { new: object, old },
        verdict: Verdict::default(),
    };
    for policy in policies.iter() {
        review.apply(policy).await?;
    }
    let Verdict { refusal, warnings } = review.verdict;
    writer.warn(warnings);
    match refusal {
        Some(refusal) => Err(refusal.into_error(&attributes, object)),
        None => Ok(()),
    }
}

/// One request on its way past the policies.
struct Review<'r> {
    attributes: &'r Attributes<'r>,
    matcher: &'r Matcher<'r>,
    objects: Objects<'r>,
    verdict: Verdict,
}

/// What the policies said so far; the first refusal is the one that is told.
#[derive(Default)]
struct Verdict {
    refusal: Option<Refusal>,
    warnings: Vec<String>,
}

struct Refusal {
    policy: String,
    binding: Option<String>,
    message: String,
    reason: String,
}

impl Review<'_> {
    async fn apply(&mut self, policy: &Policy) -> Result<()> {
        let kind = match self.matcher.find(&policy.criteria, self.objects) {
            Ok(Some(kind)) => kind,
            Ok(None) => return Ok(()),
            Err(error) => {
                self.misconfigured(policy, None, &error.message);
                return Ok(());
            }
        };
        if let Err(why) = params::kind(self.attributes.call, policy) {
            self.misconfigured(policy, None, &why);
            return Ok(());
        }
        for binding in &policy.bindings {
            self.apply_binding(policy, binding, &kind).await?;
        }
        Ok(())
    }

    async fn apply_binding(&mut self, policy: &Policy, binding: &Binding, kind: &Kind) -> Result<()> {
        let bound = match &binding.criteria {
            Some(criteria) => self
                .matcher
                .find(criteria, self.objects)
                .map(|found| found.is_some()),
            None => Ok(true),
        };
        match bound {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                self.misconfigured(policy, Some(binding), &error.message);
                return Ok(());
            }
        }
        let namespace = &self.attributes.namespace;
        match params::collect(self.attributes.call, policy, binding, namespace).await {
            Ok(params) if params.is_empty() => {}
            Ok(params) => self.evaluate(policy, binding, kind, &params)?,
            Err(why) => self.misconfigured(policy, Some(binding), &why),
        }
        Ok(())
    }

    fn evaluate(&mut self, policy: &Policy, binding: &Binding, kind: &Kind, params: &[Value]) -> Result<()> {
        let own = &self.attributes.call.kind;
        let new = self.objects.new.map(|object| convert(object, own, kind));
        let old = self.objects.old.map(|object| convert(object, own, kind));
        let evaluation = Evaluation {
            policy,
            call: self.attributes.call,
            object: new.as_deref().unwrap_or(&Value::Null),
            old_object: old.as_deref().unwrap_or(&Value::Null),
            request: &self.attributes.to_request(kind),
            namespace_object: &namespace_object(self.attributes)?,
        };
        for params in params {
            for decision in evaluation.decide(params) {
                self.record(policy, binding, &decision);
            }
        }
        Ok(())
    }

    /// Does with a denial what the binding says.
    fn record(&mut self, policy: &Policy, binding: &Binding, decision: &Decision) {
        if decision.is_final {
            return self.refuse(policy, Some(binding), &decision.message, &decision.reason);
        }
        for action in &binding.actions {
            match action {
                Action::Deny => self.refuse(policy, Some(binding), &decision.message, &decision.reason),
                Action::Warn => self.verdict.warnings.push(format!(
                    "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                    policy.name, binding.name, decision.message
                )),
                Action::Audit => tracing::info!(
                    policy = policy.name,
                    binding = binding.name,
                    message = decision.message,
                    "validation failed"
                ),
            }
        }
    }

    fn misconfigured(&mut self, policy: &Policy, binding: Option<&Binding>, why: &str) {
        if policy.fails_open {
            return;
        }
        let what = if binding.is_some() { "binding" } else { "policy" };
        self.refuse(policy, binding, &format!("failed to configure {what}: {why}"), "");
    }

    fn refuse(&mut self, policy: &Policy, binding: Option<&Binding>, message: &str, reason: &str) {
        self.verdict.refusal.get_or_insert_with(|| Refusal {
            policy: policy.name.clone(),
            binding: binding.map(|binding| binding.name.clone()),
            message: message.to_owned(),
            reason: reason.to_owned(),
        });
    }
}

impl Refusal {
    fn into_error(self, attributes: &Attributes<'_>, object: Option<&Value>) -> ApiError {
        let with = self
            .binding
            .map(|binding| format!(" with binding '{binding}'"))
            .unwrap_or_default();
        let message = format!(
            "ValidatingAdmissionPolicy '{}'{with} denied request: {}",
            self.policy, self.message
        );
        let qualified = attributes.call.kind.qualified();
        let mut error = ApiError::forbidden(qualified, attributes.shown_name(object), &message);
        if let Some(details) = &mut error.details {
            details["causes"] = json!([{ "message": message }]);
        }
        error.code = match self.reason.as_str() {
            "Forbidden" => StatusCode::FORBIDDEN,
            "Unauthorized" => StatusCode::UNAUTHORIZED,
            "RequestEntityTooLarge" => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        error.reason = if self.reason.is_empty() {
            "Invalid".into()
        } else {
            self.reason.into()
        };
        error
    }
}

/// The namespace of the object, as far as expressions may see it; null outside of namespaces.
fn namespace_object(attributes: &Attributes<'_>) -> Result<Value> {
    let call: &Call = attributes.call;
    if attributes.namespace.is_empty() || call.kind.is("", "Namespace") {
        return Ok(Value::Null);
    }
    let mut namespace = namespace_of(call, &attributes.namespace)?;
    if let Value::Object(fields) = &mut namespace {
        fields.retain(|field, _| matches!(field.as_str(), "metadata" | "spec" | "status"));
    }
    for hidden in ["managedFields", "ownerReferences", "selfLink"] {
        crate::object::set_meta(&mut namespace, hidden, None);
    }
    Ok(namespace)
}
