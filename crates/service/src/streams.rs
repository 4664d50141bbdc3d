//! Streams of events that are open at a time: so many altogether, and so many of one person, so that nobody takes
//! all of them.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

/// All of them together, and those of one person.
const ALL: usize = 1000;
const OF_ONE: usize = 250;

#[derive(Clone, Default)]
pub(crate) struct Streams {
    open: Arc<Mutex<HashMap<String, usize>>>,
}

/// A place among the streams; it is free again when this is dropped.
pub(crate) struct Place {
    streams: Streams,
    who: String,
}

impl Streams {
    /// A place for one more stream, if there is one.
    pub(crate) fn take(&self, who: &str) -> Option<Place> {
        let mut open = self.open.lock();
        let own = open.get(who).copied().unwrap_or_default();
        if own >= OF_ONE || open.values().sum::<usize>() >= ALL {
            return None;
        }
        open.insert(who.to_owned(), own + 1);
        Some(Place {
            streams: self.clone(),
            who: who.to_owned(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock();
        if let Some(own) = open.get_mut(&self.who) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_all_streams() {
        let streams = Streams::default();
        let mut places: Vec<Place> = (0..OF_ONE).filter_map(|_| streams.take("ada")).collect();
        assert_eq!(places.len(), OF_ONE);
        assert!(streams.take("ada").is_none());
        assert!(streams.take("bob").is_some());
        places.pop();
        assert!(streams.take("ada").is_some());
        for number in 0.. {
            match streams.take(&number.to_string()) {
                Some(place) => places.push(place),
                None => break,
            }
        }
        assert_eq!(places.len(), ALL);
        drop(places);
        assert!(streams.open.lock().is_empty());
    }
}
