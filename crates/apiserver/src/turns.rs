//! Turns of large requests: they are worked on a few at a time, because as values their bodies take a
//! hundred times their size. One that waits for a webhook lets others have its turn meanwhile, and
//! how much may wait like that is limited too: where all of it waits, one more is asked to come back.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// Large bodies worked on at the same time.
const WORKED_ON: usize = 4;
/// Bytes of large bodies whose requests may wait for webhooks.
const WAITING: usize = 16 * 1024 * 1024;

tokio::task_local! {
    /// The turn of the request that is being worked on, where it needed one.
    static TURN: Arc<Turn>;
}

#[derive(Clone)]
pub(crate) struct Turns {
    worked_on: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The turn of one request, given back when it is dropped.
pub(crate) struct Turn {
    turns: Turns,
    /// How many bytes its body has.
    size: u32,
    state: Mutex<State>,
}

struct State {
    permit: Permit,
    /// How many answers from outside are waited for at once.
    waited_for: usize,
}

/// What a request holds, for its drop.
enum Permit {
    Work(#[expect(dead_code, reason = "held for its drop")] Option<OwnedSemaphorePermit>),
    Wait(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit),
}

/// Too much waits for webhooks already.
#[derive(Debug, thiserror::Error)]
#[error("too many large requests wait for webhooks")]
pub(crate) struct Crowded;

impl From<Crowded> for ApiError {
    fn from(crowded: Crowded) -> Self {
        Self::too_many_requests(crowded.to_string(), 1)
    }
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self {
            worked_on: Arc::new(Semaphore::new(WORKED_ON)),
            waiting: Arc::new(Semaphore::new(WAITING)),
        }
    }

    /// Waits for the turn of a request whose body has so many bytes.
    pub(crate) async fn next(&self, size: usize) -> Arc<Turn> {
        let permit = Permit::Work(self.worked_on.clone().acquire_owned().await.ok());
        Arc::new(Turn {
            turns: self.clone(),
            size: u32::try_from(size).unwrap_or(u32::MAX),
            state: Mutex::new(State {
                permit,
                waited_for: 0,
            }),
        })
    }
}

impl Turn {
    /// Works on the request.
    pub(crate) async fn take<F: Future>(self: Arc<Self>, work: F) -> F::Output {
        TURN.scope(self, work).await
    }

    fn pause(&self) -> Result<(), Crowded> {
        let mut state = self.state.lock();
        if let Permit::Work(_) = state.permit {
            let waiting = self.turns.waiting.clone();
            state.permit = Permit::Wait(waiting.try_acquire_many_owned(self.size).map_err(|_| Crowded)?);
        }
        state.waited_for += 1;
        Ok(())
    }

    async fn resume(&self) {
        let is_last = {
            let mut state = self.state.lock();
            state.waited_for -= 1;
            state.waited_for == 0
        };
        if is_last {
            let permit = self.turns.worked_on.clone().acquire_owned().await.ok();
            let mut state = self.state.lock();
            // The request may have begun to wait for somebody else.
            if state.waited_for == 0 {
                state.permit = Permit::Work(permit);
            }
        }
    }
}

/// Waits for an answer from outside. Meanwhile others may have the turn of this request.
pub(crate) async fn waiting<F: Future>(answer: F) -> Result<F::Output, Crowded> {
    let Ok(turn) = TURN.try_with(Arc::clone) else {
        return Ok(answer.await);
    };
    turn.pause()?;
    let answer = answer.await;
    turn.resume().await;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures_util::{FutureExt as _, future::join};

    use super::*;

    #[tokio::test]
    async fn who_waits_for_a_webhook_leaves_its_turn_to_others() {
        let turns = Turns::new();
        let mut waiting_requests = Vec::new();
        for _ in 0..2 * WORKED_ON {
            let turn = turns.next(1).now_or_never().expect("there is a turn");
            let mut request = Box::pin(turn.take(waiting(pending::<()>())));
            assert!(request.as_mut().now_or_never().is_none());
            waiting_requests.push(request);
        }
        assert_eq!(turns.worked_on.available_permits(), WORKED_ON);
    }

    #[tokio::test]
    async fn only_so_much_waits() {
        let turns = Turns::new();
        let turn = turns.next(WAITING).await;
        let mut first = Box::pin(turn.take(waiting(pending::<()>())));
        assert!(first.as_mut().now_or_never().is_none());
        let second = turns.next(1).await.take(waiting(pending::<()>())).now_or_never();
        assert!(matches!(second, Some(Err(Crowded))));
        drop(first);
        assert!(turns.next(1).await.take(waiting(async {})).await.is_ok());
    }

    #[tokio::test]
    async fn a_turn_comes_back_when_the_last_of_several_answers_is_there() {
        let turns = Turns::new();
        let work = async {
            let both = join(waiting(async {}), waiting(tokio::task::yield_now())).await;
            assert!(both.0.is_ok() && both.1.is_ok());
            (
                turns.worked_on.available_permits(),
                turns.waiting.available_permits(),
            )
        };
        let turn = turns.next(5).await;
        assert_eq!(turn.take(work).await, (WORKED_ON - 1, WAITING));
        assert_eq!(turns.worked_on.available_permits(), WORKED_ON);
    }
}
