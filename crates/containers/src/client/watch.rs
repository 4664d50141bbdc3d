//! A sandbox's states as they change.

use super::{Sandbox, connection::Connection, error::Error};
use crate::{
    protocol::{Request, Response},
    state::State,
};

/// Full states: the first is the current one, each further one follows a change. States that were
/// replaced before they were read are skipped.
#[derive(Debug)]
pub struct States {
    connection: Connection,
    first: Option<State>,
}

impl Sandbox {
    pub async fn states(&self) -> Result<States, Error> {
        let mut connection = Connection::open(self.dir()).await?;
        connection.send(&Request::Watch, &[]).await?;
        let first = Some(state(connection.receive().await?)?);
        Ok(States { connection, first })
    }

    /// The current state.
    pub async fn state(&self) -> Result<State, Error> {
        self.states().await?.next().await
    }
}

impl States {
    /// Waits for the next state; an error when the sandbox is gone.
    pub async fn next(&mut self) -> Result<State, Error> {
        match self.first.take() {
            Some(first) => Ok(first),
            None => state(self.connection.receive().await?),
        }
    }

    /// Waits for the first state that `satisfies`.
    pub async fn until(&mut self, mut satisfies: impl FnMut(&State) -> bool) -> Result<State, Error> {
        loop {
            let state = self.next().await?;
            if satisfies(&state) {
                return Ok(state);
            }
        }
    }
}

fn state(response: Response) -> Result<State, Error> {
    match response {
        Response::State(state) => Ok(state),
        other => Err(Error::unexpected(other)),
    }
}
