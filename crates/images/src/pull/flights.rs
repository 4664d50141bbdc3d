//! Who is getting what right now, so that nobody gets it twice.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

use crate::digest::Digest;

type Turn = tokio::sync::Mutex<()>;

/// A turn for each layer somebody is getting.
#[derive(Debug, Default)]
pub(crate) struct Flights(Mutex<HashMap<Digest, Weak<Turn>>>);

impl Flights {
    /// The turn for a layer; whoever has it may get the layer.
    pub(crate) fn join(&self, layer: &Digest) -> Arc<Turn> {
        let mut flights = self.0.lock();
        flights.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = flights.get(layer).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::new(Turn::default());
        flights.insert(layer.clone(), Arc::downgrade(&turn));
        turn
    }
}
