//! Says when something in a folder has changed, without looking again and again.

use std::{io, path::Path};

use containers::client::Descriptor;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::AsyncReadExt as _;

#[derive(Debug)]
pub(super) struct Changes {
    events: Descriptor,
}

impl Changes {
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC)?;
        let wanted = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVE;
        inotify::add_watch(&events, folder, wanted)?;
        Ok(Self {
            events: Descriptor::new(events)?,
        })
    }

    /// Returns when something has changed since the last call. What it was matters little: who waits
    /// looks at everything.
    pub(super) async fn wait(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        self.events.read(&mut buffer).await.map(drop)
    }
}
