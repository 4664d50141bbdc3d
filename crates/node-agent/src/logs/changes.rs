//! Says when something in a folder may have changed: as the kernel tells, or, where it tells no more programs (their
//! number is limited for each user), a moment later.

use std::{io, path::Path, time::Duration};

use containers::client::Descriptor;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::AsyncReadExt as _;

/// How late somebody may hear of a change of which the kernel does not tell.
const MOMENT: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) enum Changes {
    Told(Descriptor),
    LookedFor,
}

impl Changes {
    pub(super) fn of(folder: &Path) -> Self {
        watch(folder).map_or_else(
            |error| {
                tracing::debug!(%error, folder = %folder.display(), "changes are looked for, the kernel does not tell");
                Self::LookedFor
            },
            Self::Told,
        )
    }

    /// Returns when something may have changed since the last call. What it was matters little: who waits looks at
    /// everything.
    pub(super) async fn wait(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        match self {
            Self::Told(events) => events.read(&mut buffer).await.map(drop),
            Self::LookedFor => {
                tokio::time::sleep(MOMENT).await;
                Ok(())
            }
        }
    }
}

fn watch(folder: &Path) -> io::Result<Descriptor> {
    let events = inotify::init(CreateFlags::CLOEXEC)?;
    let wanted = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVE;
    inotify::add_watch(&events, folder, wanted)?;
    Descriptor::new(events)
}
