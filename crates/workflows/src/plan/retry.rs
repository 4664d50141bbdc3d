//! Attempts: a node that may fail and is tried again, each time as a node of its own.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::{
    execute::{Options, Use},
    resolve::substitute,
    walk::{Halt, Walk, later},
};
use crate::{
    duration, expression,
    model::{Number, RetryStrategy, Template},
    names,
    node::{Node, NodeFlag, NodeType, Phase},
    scope::Scope,
};

/// What is to become of a node after its last attempt.
enum Verdict {
    /// It has ended.
    Over(Phase, Option<String>),
    /// Not yet.
    Wait(Timestamp, String),
    Again,
}

impl Walk<'_> {
    pub(super) fn retry(&mut self, used: &Use<'_>, strategy: &RetryStrategy) -> Result<(), Halt> {
        if self.node(used.name).is_none() {
            self.add_node(used.new_node(NodeType::Retry, Phase::Running));
        }
        // An attempt may end in the moment it begins; then the next one is due.
        loop {
            let attempts = self.attempts(used.name);
            let last = attempts.last().cloned();
            let ended = last.as_ref().filter(|last| last.phase.is_fulfilled());
            let next = names::attempt(used.name, attempts.len());
            if let Some(last) = ended {
                // An attempt that was begun, though nobody could note that, was due.
                let verdict = if self.has_strays(&next) {
                    Verdict::Again
                } else {
                    self.judge(strategy, &attempts, last)?
                };
                match verdict {
                    Verdict::Over(phase, message) => {
                        self.mark(used.name, phase, message.as_deref());
                        if let Some(node) = self.node_mut(used.name) {
                            node.outputs.clone_from(&last.outputs);
                            node.daemoned = None;
                        }
                        return Ok(());
                    }
                    Verdict::Wait(until, message) => {
                        self.mark(used.name, Phase::Running, Some(&message));
                        self.wake_at(until);
                        return Ok(());
                    }
                    Verdict::Again => self.mark(used.name, Phase::Running, Some("")),
                }
            }
            let is_going_on = last.as_ref().is_some_and(|last| !last.phase.is_fulfilled());
            let number = if is_going_on {
                attempts.len() - 1
            } else {
                attempts.len()
            };
            let name = names::attempt(used.name, number);
            let before = if is_going_on {
                number.checked_sub(1).and_then(|at| attempts.get(at))
            } else {
                last.as_ref()
            };
            if let Some(last) = ended
                && !self.has_strays(&name)
            {
                self.check_room_again(used, last)?;
            }
            let template = self.template_of_attempt(used, &name, number, before, strategy)?;
            let options = Options {
                flag: Some(NodeFlag {
                    hooked: used.options.flag.is_some_and(|flag| flag.hooked),
                    retried: true,
                }),
                deadline: longest(strategy, &attempts)?,
                ..used.options.clone()
            };
            let attempt = Use {
                name: &name,
                template: &template,
                options: &options,
                ..*used
            };
            let outcome = self
                .check_timeout(&name, &template)
                .and_then(|()| self.perform(&attempt));
            if self.node(&name).is_some() {
                self.add_child(used.name, &name);
            }
            match outcome {
                Ok(()) => {}
                Err(Halt::Broken(message)) => {
                    self.mark_error(attempt.new_node(NodeType::Skipped, Phase::Error), &message);
                    self.add_child(used.name, &name);
                }
                Err(Halt::TimedOut(message)) => self.mark(&name, Phase::Failed, Some(&message)),
                Err(Halt::Later) => return Err(Halt::Later),
            }
            let Some(node) = self.node(&name).cloned() else {
                return Ok(());
            };
            if node.is_daemoned() && !node.phase.is_fulfilled() {
                self.mark(used.name, node.phase, None);
                if let Some(parent) = self.node_mut(used.name) {
                    parent.daemoned = Some(true);
                }
            }
            if !node.phase.is_fulfilled() {
                return Ok(());
            }
        }
    }

    pub(super) fn attempts(&self, name: &str) -> Vec<Node> {
        let children = self.children_of(name);
        children
            .into_iter()
            .filter(|child| !child.is_hook() || child.is_attempt())
            .collect()
    }

    fn judge(&self, strategy: &RetryStrategy, attempts: &[Node], last: &Node) -> Result<Verdict, Halt> {
        let over = |message: &str| Ok(Verdict::Over(last.phase, Some(message.to_owned())));
        if !last.phase.is_failure() {
            return Ok(Verdict::Over(Phase::Succeeded, None));
        }
        if self.shutdown.is_on() {
            return over(&format!("Stopped with strategy '{}'", self.shutdown.text()));
        }
        if let Some(deadline) = self.deadline
            && self.is_past_deadline()
        {
            return over(&format!("retry exceeded workflow deadline {deadline}"));
        }
        if !is_for_this_failure(strategy, last)? {
            return over(&last.message.clone());
        }
        let limit = strategy.limit.as_ref().map(|limit| {
            limit
                .integer()
                .ok_or_else(|| Halt::Broken(format!("retryStrategy.limit: `{limit}` is no number")))
        });
        let limit = limit.transpose()?;
        if limit.is_some_and(|limit| attempts.len() as i64 > limit) {
            return over("No more retries left");
        }
        if !strategy.expression.is_empty() {
            let mut scope = attempt_scope(attempts.len() - 1, Some(last));
            if last.exit_code().is_none() {
                scope.set("lastRetry.exitCode", "-1");
            }
            let environment = self.globals.with(&scope).environment();
            let holds = expression::holds(&strategy.expression, &environment)
                .map_err(|error| format!("retryStrategy.expression: {error}"))?;
            if !holds {
                return over("retryStrategy.expression evaluated to false");
            }
        }
        self.wait(strategy, attempts, last)
    }

    /// How long to wait before the next attempt, and whether there is time for one.
    fn wait(&self, strategy: &RetryStrategy, attempts: &[Node], last: &Node) -> Result<Verdict, Halt> {
        let Some(backoff) = &strategy.backoff else {
            return Ok(self.breath(last));
        };
        let over = |message: &str| Ok(Verdict::Over(last.phase, Some(message.to_owned())));
        let end = longest(strategy, attempts)?;
        if end.is_some_and(|end| self.now > end) {
            return over("Max duration limit exceeded");
        }
        if backoff.duration.0.is_empty() {
            return Err(Halt::Broken(
                "no base duration specified for retryStrategy".to_owned(),
            ));
        }
        let base = seconds(&backoff.duration.0)?;
        let factor = backoff
            .factor
            .as_ref()
            .and_then(Number::integer)
            .filter(|factor| *factor > 0);
        let power = i32::try_from(attempts.len() - 1).unwrap_or(i32::MAX);
        let mut wait = factor.map_or(base, |factor| {
            ((base as f64) * (factor as f64).powi(power)) as i64
        });
        if !backoff.cap.0.is_empty() {
            wait = wait.min(seconds(&backoff.cap.0)?);
        }
        let until = later(last.finished_at.unwrap_or(self.now), wait);
        if end.is_some_and(|end| until > end) {
            return over("Backoff would exceed max duration limit");
        }
        if self.now < until {
            let shown = duration::shown(Duration::from_secs(u64::try_from(wait).unwrap_or_default()));
            return Ok(Verdict::Wait(until, format!("Backoff for {shown}")));
        }
        Ok(Verdict::Again)
    }

    /// An attempt that could not even begin most likely cannot a moment later; one that has no limit would never end.
    fn breath(&self, last: &Node) -> Verdict {
        let has_run = self.pods.contains_key(last.id.as_str()) || last.started_at != last.finished_at;
        let until = later(last.finished_at.unwrap_or(self.now), 1);
        if has_run || until <= self.now {
            return Verdict::Again;
        }
        Verdict::Wait(until, "Backoff for 1 second".to_owned())
    }

    /// The template with what only this attempt knows.
    fn template_of_attempt(
        &self,
        used: &Use<'_>,
        name: &str,
        number: usize,
        before: Option<&Node>,
        strategy: &RetryStrategy,
    ) -> Result<Template, Halt> {
        let mut scope = self.globals.with(&attempt_scope(number, before));
        let template_name = if used.step.inline.is_null() {
            used.template.name.as_str()
        } else {
            ""
        };
        scope.set("pod.name", names::pod_name(&self.name, name, template_name));
        let mut written = serde_json::to_value(used.template).map_err(|error| error.to_string())?;
        // What is inside has attempts of its own numbers.
        let inner = [written["steps"].take(), written["dag"].take()];
        let mut replaced = substitute(&written, &scope)?;
        for (field, value) in ["steps", "dag"].into_iter().zip(inner) {
            if !value.is_null() {
                replaced[field] = value;
            }
        }
        let mut template: Template = serde_json::from_value(replaced).map_err(|error| error.to_string())?;
        self.avoid_hosts(&mut template, used.name, strategy);
        Ok(template)
    }

    /// Another attempt on another node, where that is wanted.
    fn avoid_hosts(&self, template: &mut Template, name: &str, strategy: &RetryStrategy) {
        let wants = strategy
            .affinity
            .as_ref()
            .is_some_and(|affinity| affinity.contains_key("nodeAntiAffinity"));
        if !wants {
            return;
        }
        let mut hosts: Vec<String> = Vec::new();
        for attempt in self.attempts(name) {
            if attempt.phase.is_failure()
                && !attempt.host_node_name.is_empty()
                && !hosts.contains(&attempt.host_node_name)
            {
                hosts.push(attempt.host_node_name);
            }
        }
        if hosts.is_empty() {
            return;
        }
        let term = json!({"key": "kubernetes.io/hostname", "operator": "NotIn", "values": hosts});
        let affinity = &mut template.affinity;
        if affinity.is_null() {
            *affinity = self.spec.affinity.clone();
        }
        let required = &mut affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        match required.as_array_mut().filter(|terms| !terms.is_empty()) {
            Some(terms) => {
                for known in terms {
                    match known["matchExpressions"].as_array_mut() {
                        Some(expressions) => expressions.push(term.clone()),
                        None => known["matchExpressions"] = json!([term]),
                    }
                }
            }
            None => *required = json!([{"matchExpressions": [term]}]),
        }
    }
}

/// What an attempt knows of those before it.
fn attempt_scope(number: usize, before: Option<&Node>) -> Scope {
    let mut scope = Scope::default();
    scope.set("retries", number.to_string());
    let code = before.and_then(Node::exit_code);
    scope.set("lastRetry.exitCode", code.unwrap_or("0"));
    scope.set(
        "lastRetry.status",
        before.map_or("", |before| before.phase.text()),
    );
    scope.set(
        "lastRetry.message",
        before.map_or("", |before| before.message.as_str()),
    );
    let length = before.and_then(|before| Some((before.started_at?, before.finished_at?)));
    let length = length.map_or(0, |(from, to)| to.as_second() - from.as_second());
    scope.set("lastRetry.duration", length.to_string());
    scope
}

fn seconds(text: &str) -> Result<i64, Halt> {
    let duration = duration::parse(text).map_err(Halt::Broken)?;
    Ok(duration.as_secs_f64().ceil() as i64)
}

/// Failures of the surroundings, which may be gone the next time.
fn is_transient(message: &str) -> bool {
    [
        "connection refused",
        "connection reset",
        "i/o timeout",
        "TLS handshake timeout",
        "exceeded quota",
        "net/http",
        "etcdserver: request timed out",
        "the object has been modified",
        "Evicted",
        "pod deleted",
    ]
    .iter()
    .any(|words| message.contains(words))
}

fn longest(strategy: &RetryStrategy, attempts: &[Node]) -> Result<Option<Timestamp>, Halt> {
    let text = strategy
        .backoff
        .as_ref()
        .map(|backoff| backoff.max_duration.0.as_str());
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let longest = seconds(text)?;
    let first = attempts.first().and_then(|first| first.started_at);
    Ok(first.map(|first| later(first, longest)))
}

fn is_for_this_failure(strategy: &RetryStrategy, last: &Node) -> Result<bool, Halt> {
    let default = if strategy.expression.is_empty() {
        "OnFailure"
    } else {
        "Always"
    };
    let policy = match strategy.retry_policy.as_str() {
        "" => default,
        policy => policy,
    };
    match policy {
        "Always" => Ok(true),
        "OnFailure" => Ok(last.phase == Phase::Failed),
        "OnError" => Ok(last.phase == Phase::Error),
        "OnTransientError" => Ok(is_transient(&last.message)),
        policy => Err(Halt::Broken(format!("{policy} is not a valid RetryPolicy"))),
    }
}
