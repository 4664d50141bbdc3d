//! A word that passes from whoever ends the operator to everything that acts: begin nothing new.

use tokio::sync::watch;

/// A cheap handle; clones hear the same word.
#[derive(Clone, Debug)]
pub struct Closing {
    said: watch::Sender<bool>,
}

impl Default for Closing {
    fn default() -> Self {
        Self {
            said: watch::Sender::new(false),
        }
    }
}

impl Closing {
    pub fn close(&self) {
        self.said.send_replace(true);
    }

    pub(crate) fn is_said(&self) -> bool {
        *self.said.borrow()
    }

    pub(crate) async fn heard(&self) {
        let mut said = self.said.subscribe();
        // The sender lives as long as `self`.
        let _ = said.wait_for(|said| *said).await;
    }
}
