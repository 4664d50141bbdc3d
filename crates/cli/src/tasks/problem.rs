//! What the service refuses, in words for a terminal.

use std::fmt;

use serde_json::Value;

/// An answer that is no, as RFC 9457 has it.
#[derive(Debug)]
pub(super) struct Problem(Value);

impl Problem {
    pub(super) fn new(body: Value) -> Self {
        Self(body)
    }

    pub(super) fn status(&self) -> u64 {
        self.0["status"].as_u64().unwrap_or_default()
    }
}

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.0["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let title = text(&self.0, "title");
        if errors.is_empty() {
            return f.write_str(&text(&self.0, "detail"));
        }
        write!(f, "{}", title.to_lowercase())?;
        for error in errors {
            let place = match (text(error, "pointer"), error["line"].as_u64()) {
                (pointer, Some(line)) if pointer.is_empty() => {
                    format!("line {line}, column {}", error["column"].as_u64().unwrap_or(1))
                }
                (pointer, _) if pointer.is_empty() => "the body".to_owned(),
                (pointer, _) => pointer,
            };
            write!(f, "\n  {place}: {}", text(error, "detail"))?;
            let described = text(error, "description");
            if !described.is_empty() {
                write!(f, "\n      {described}")?;
            }
            if !error["example"].is_null() {
                write!(f, "\n      for example: {}", error["example"])?;
            }
            for line in text(error, "snippet").lines() {
                write!(f, "\n      {line}")?;
            }
            let hint = text(error, "hint");
            if !hint.is_empty() {
                write!(f, "\n      hint: {hint}")?;
            }
        }
        Ok(())
    }
}

/// Says what is odd about something that was done all the same.
pub(super) fn warn(answer: &Value) {
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        let pointer = warning["pointer"].as_str().unwrap_or_default();
        let detail = warning["detail"].as_str().unwrap_or_default();
        eprintln!(
            "warning: {pointer}{}{detail}",
            if pointer.is_empty() { "" } else { ": " }
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_mistake_is_a_line_with_what_was_meant() {
        let problem = Problem::new(json!({
            "title": "What was sent is not right", "status": 422, "detail": "d",
            "errors": [
                {"pointer": "/process/train/saveStep", "detail": "is required",
                 "description": "Number of step to save checkpoint", "example": 200},
                {"pointer": "", "detail": "`image` is undefined", "line": 3, "column": 7, "snippet": "3 | {{ image }}\n  |    ^"},
            ],
        }));
        assert_eq!(
            problem.to_string(),
            "what was sent is not right
  /process/train/saveStep: is required
      Number of step to save checkpoint
      for example: 200
  line 3, column 7: `image` is undefined
      3 | {{ image }}
        |    ^"
        );
    }
}
