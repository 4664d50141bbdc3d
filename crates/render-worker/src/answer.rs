//! From a request to its reply, in the process.

use serde_json::Value;
use templates::{
    Code, Definition, Policy, Problem, Rendered, Schema, Template, Violation, render, render_traced,
};

use crate::{
    cache::Cache,
    request::{
        CheckRequest, OwnedDefinition, RenderRequest, Reply, Request, SchemaReply, SchemaRequest,
        TemplateText,
    },
};

pub(crate) fn answer(request: Request, cache: &mut Cache) -> Reply {
    let reply = match request {
        Request::Render(request) => rendered(*request, cache).map(Reply::Rendered),
        Request::Check(request) => check(*request, cache),
        Request::Schema(request) => schema(*request),
    };
    reply.unwrap_or_else(Reply::Problems)
}

fn rendered(request: RenderRequest, cache: &mut Cache) -> Result<Rendered, Vec<Problem>> {
    let text = TemplateText {
        name: request.template,
        text: request.text,
        includes: request.includes,
    };
    let template = cache.template(text)?;
    let inputs = &request.inputs;
    let mut rendered = if request.traced {
        render_traced(template, inputs)
    } else {
        render(template, inputs)
    }?;
    if let Some(policy) = &request.policy {
        let violations = policy.judge(&rendered.objects);
        if !violations.is_empty() {
            let traced = render_traced(template, inputs)?;
            return Err(violations
                .iter()
                .map(|violation| problem(violation, template, &traced))
                .collect());
        }
        Policy::place(policy, &mut rendered.objects);
    }
    Ok(rendered)
}

fn problem(violation: &Violation, template: &Template, traced: &Rendered) -> Problem {
    let message = violation.to_string();
    let origin = traced.sources.get(violation.object);
    let mut problem = match origin {
        Some(origin) => template.problem_at(Code::Policy, message, origin.of(&violation.pointer)),
        None => Problem::new(Code::Policy, message),
    };
    problem.hint.clone_from(&violation.hint);
    problem
}

fn check(request: CheckRequest, cache: &mut Cache) -> Result<Reply, Vec<Problem>> {
    let schema = request.definition.as_ref().map(schema_of).transpose()?;
    let text = TemplateText {
        name: request.template,
        text: request.text,
        includes: request.includes,
    };
    let template: &Template = cache.template(text)?;
    Ok(Reply::Findings(template.check(
        schema.as_ref(),
        &request.system_values,
        &request.allowed,
    )))
}

fn schema(request: SchemaRequest) -> Result<Reply, Vec<Problem>> {
    let schema = schema_of(&request.definition)?;
    let verdict = request.values.as_ref().map(|values| schema.validate(values));
    let reply = if request.verdict_only {
        SchemaReply {
            schema: Value::Null,
            form: None,
            example: Value::Null,
            verdict,
        }
    } else {
        SchemaReply {
            schema: schema.json().clone(),
            form: Some(schema.form()),
            example: schema.example().clone(),
            verdict,
        }
    };
    Ok(Reply::Schema(Box::new(reply)))
}

fn schema_of(definition: &OwnedDefinition) -> Result<Schema, Vec<Problem>> {
    Schema::of_definition(&Definition {
        description: &definition.description,
        example: &definition.example,
        schema: definition.schema.as_ref(),
    })
}
