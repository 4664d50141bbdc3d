//! Match conditions: expressions that say whether a webhook or policy looks at a request at all.

use schemas::cel::{
    Returns,
    admission::{Activation, Environment, Inputs, Program, Variable},
};
use serde_json::Value;

/// What all conditions of one webhook or policy together may cost for a request.
const BUDGET: u64 = 2_500_000;

/// Compiled conditions, all of which have to hold.
#[derive(Debug, Default)]
pub(crate) struct Conditions(Vec<Result<Program, String>>);

impl Conditions {
    pub(crate) fn compile(environment: &Environment, conditions: &[Value]) -> Self {
        let compile = |condition: &Value| {
            environment.compile(
                kinds::read::text(condition, "expression").trim(),
                &[Returns::Bool],
            )
        };
        Self(conditions.iter().map(compile).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all conditions hold. One that does not is enough for a no, whatever is wrong with the
    /// others; otherwise errors decide.
    pub(crate) fn hold(&self, inputs: Inputs<'_>, variables: &[Variable]) -> Result<bool, String> {
        let mut activation = Activation::new(inputs, variables, BUDGET);
        let mut answers = Vec::with_capacity(self.0.len());
        for program in &self.0 {
            answers.push(match program {
                Ok(program) => activation.evaluate(program).map_err(|error| error.to_string())?,
                Err(error) => Err(format!("compilation error: {error}")),
            });
        }
        if answers
            .iter()
            .any(|answer| matches!(answer, Ok(Value::Bool(false))))
        {
            return Ok(false);
        }
        let mut errors: Vec<String> = answers.into_iter().filter_map(Result::err).collect();
        errors.dedup();
        match errors.as_slice() {
            [] => Ok(true),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(expressions: &[&str], expected: Result<bool, &str>) {
        let conditions: Vec<Value> = expressions
            .iter()
            .map(|text| json!({ "name": "x", "expression": text }))
            .collect();
        let conditions = Conditions::compile(&Environment::new(), &conditions);
        let object = json!({ "metadata": { "name": "a" } });
        let inputs = Inputs {
            object: &object,
            old_object: &Value::Null,
            request: &json!({}),
            params: &Value::Null,
            namespace_object: &Value::Null,
            authorizer: None,
        };
        assert_eq!(conditions.hold(inputs, &[]), expected.map_err(str::to_owned));
    }

    #[test]
    fn one_condition_that_fails_is_enough() {
        let error = "expression 'object.x == 1' resulted in error: no such key: x";
        check(&[], Ok(true));
        check(&["object.metadata.name == 'a'", "true"], Ok(true));
        check(&["true", "object.metadata.name == 'b'"], Ok(false));
        check(&["object.x == 1", "false"], Ok(false));
        check(&["true", "object.x == 1"], Err(error));
        check(&["object.x == 1", "object.x == 1"], Err(error));
        let both = format!("[{error}, expression 'object.y' resulted in error: no such key: y]");
        check(
            &["object.x == 1", "object.y == 2"],
            Err(&both.replace("object.y'", "object.y == 2'")),
        );
    }
}
