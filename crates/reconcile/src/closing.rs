//! A word that passes from whoever ends an engine to everything that acts: begin nothing new.

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
    /// Says it.
    pub fn close(&self) {
        self.said.send_replace(true);
    }

    pub fn is_said(&self) -> bool {
        *self.said.borrow()
    }

    /// Resolves when it is said.
    pub async fn heard(&self) {
        let mut said = self.said.subscribe();
        // The sender lives as long as `self`.
        let _ = said.wait_for(|said| *said).await;
    }
}
