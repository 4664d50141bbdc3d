//! `/v1/tasks/{task}/logs`: as text, or as a stream that goes on where it broke off.

use std::sync::Arc;

use serde_json::json;

use super::{name, wanted, watching};
use crate::{
    answer::Answer,
    app::{App, Asked},
    cursor,
    logs::{self, Follower, Place, Positions, Told},
    objects::Refusal,
    problem::{Code, Outcome, Problem},
    sse::{self, Event, Next},
    streams,
};

/// So many lines are sent at once.
const TOGETHER: usize = 100;

pub(crate) async fn logs(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let task = wanted(app, asked).await?;
    let last = task["status"]["attempt"].as_i64().unwrap_or_default().max(1);
    let place = Place {
        namespace: asked.namespace.clone(),
        task: name(asked).to_owned(),
        attempt: asked.number("attempt").unwrap_or(last),
        kept: app.logs.clone(),
    };
    let tail = asked.number("tail").and_then(|tail| usize::try_from(tail).ok());
    if !asked.wants_events {
        let text = logs::text(app, &place, tail).await;
        return Ok(Answer::text(
            text.map_err(|refusal| unread(&refusal, name(asked)))?,
        ));
    }
    let positions: Positions = match asked.text("Last-Event-ID") {
        None => Positions::default(),
        Some(id) => cursor::decode(id)
            .map_err(|_| Problem::field("Last-Event-ID:", "is no id of a line of this stream"))?,
    };
    let reading = Reading {
        follower: logs::follow(app.clone(), place, positions.clone(), tail),
        positions,
        _place: watching::place(app, asked)?,
    };
    let stream = sse::stream(reading, |mut reading| async move {
        let next = reading.next().await;
        (reading, next)
    });
    Ok(Answer::events(stream))
}

/// Whoever asks a cluster for logs asks a node through it, and is told of a failure whichever of them does not answer.
fn unread(refusal: &Refusal, task: &str) -> Problem {
    if !refusal.is_failure() {
        return refusal.about("logs of the task", task);
    }
    tracing::warn!(%refusal, task, "logs cannot be read");
    Problem {
        retry_after: Some(5),
        ..Problem::new(
            Code::Unavailable,
            format!(
                "the cluster, or the node that has the logs of the task `{task}`, does not answer; try again"
            ),
        )
    }
}

/// A stream between two events.
struct Reading {
    follower: Follower,
    positions: Positions,
    _place: streams::Place,
}

impl Reading {
    async fn next(&mut self) -> Next {
        let mut events = Vec::new();
        let mut told = self.follower.told.recv().await;
        loop {
            match told {
                Some(Told::Line(line)) => {
                    self.positions.note(&line);
                    events.push(Event {
                        name: "line",
                        id: Some(cursor::encode(&self.positions)),
                        data: line.told(),
                    });
                }
                Some(Told::End) => {
                    events.push(Event::end(&json!({"reason": "ended"})));
                    return Next::Last(events);
                }
                // Whoever reads was ended; a client that comes back finds the rest.
                None => return Next::Last(events),
            }
            if events.len() >= TOGETHER {
                return Next::Events(events);
            }
            match self.follower.told.try_recv() {
                Ok(more) => told = Some(more),
                Err(_) => return Next::Events(events),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_a_node_that_does_not_answer_are_asked_for_again() {
        let said = |code: u16| {
            let status = kube::core::Status::failure("dial tcp: refused", "InternalError").with_code(code);
            unread(&Refusal::Said(Box::new(status)), "t")
        };
        for code in [500, 502, 503] {
            let problem = said(code);
            assert_eq!((problem.code, problem.retry_after), (Code::Unavailable, Some(5)));
            assert!(
                !problem.detail.contains("dial"),
                "addresses are nobody's business"
            );
        }
        assert_eq!(said(403).code, Code::Forbidden);
    }
}
