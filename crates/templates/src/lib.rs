//! Task templates: Jinja in, Kubernetes objects out, and everything that is known before a cluster sees them. Pure:
//! what needs a process of its own (limits on memory and time) is in `render-worker`.
//!
//! | step | call |
//! |---|---|
//! | a template is read | [`Template::parse`]`(name, text, includes) -> Result<Template, Vec<Problem>>`; [`includes`] finds what it needs |
//! | …and looked over | [`Template::check`]`(Option<&Schema>, &system_values, &Allowed) -> Vec<Finding>` |
//! | a definition's values get a schema | [`Schema::of_definition`]`(&Definition) -> Result<Schema, Vec<Problem>>`; [`yaml`] reads `system_values` |
//! | filled values are judged | [`Schema::validate`]`(&values) -> Verdict`; [`Schema::form`], [`Schema::json`], [`Schema::example`] |
//! | a task gets its name | [`release_name`]`(definition, random)`, a definition its own by [`definition_slug`] |
//! | objects are made | [`render`]`(&Template, &Inputs) -> Result<Rendered, Vec<Problem>>`; [`render_traced`] also says where each field is from |
//! | …and judged | [`Policy::judge`]`(&objects) -> Vec<Violation>`, then [`Policy::place`] sets the namespace |
//! | templates that come with the program | [`built_in`]`() -> &[BuiltIn]` |
//!
//! Templates and schemas come from people, and reading one may take more memory or time than there is. Servers do all
//! of this through `render-worker`, in a process of its own with limits:
//! `Pool::new(program).render(Request { template, includes, inputs, policy, traced }).await -> Result<Rendered, Vec<Problem>>`
//! (violations are problems with the code `Policy`), `.check(…)`, `.validate(…)`; the process is `trainyard __render`.
//!
//! A value can never be structure: the text of a template is rendered with a token for each value, read as YAML, and
//! only then are the values put in (decision 13).

mod built_in;
mod check;
mod inputs;
pub mod limits;
mod names;
mod policy;
mod problem;
mod python;
mod render;
mod schema;
mod template;
mod tokens;

pub use built_in::{BuiltIn, built_in};
pub use check::{Finding, Level};
pub use inputs::{Global, Inputs};
pub use names::{definition_slug, label_value, release_name, slug};
pub use policy::{Allowed, KindRule, Policy, Violation};
pub use problem::{Code, Place, Problem};
pub use render::{Origin, Rendered, plain_text, render, render_context, render_traced};
pub use schema::{Choice, Definition, Fault, Form, FormField, Schema, Verdict, Widget, yaml};
pub use template::{Template, includes, mentions};
