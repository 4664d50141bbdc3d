//! Changes that are about to be made. Each batch of them is a chunk of its own, which goes when all of them are known
//! to be made or not; what is left of it tells of those of which nobody knows.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};

use super::{Record, chunk, next_batch, store::Store, target};
use crate::objects::Refusal;

/// A change of which it is stored that it is about to be made. Dropped without being settled, it stays in the log.
pub(crate) struct Begun {
    record: Record,
    /// None for what is only tried.
    sheet: Option<Arc<Sheet>>,
    /// Whether a part of it was made already.
    is_made: bool,
    /// Whether it is known what became of it: it is recorded, or was refused.
    is_settled: bool,
}

impl Begun {
    pub(super) fn on(sheet: Arc<Sheet>, record: Record) -> Self {
        Self {
            record,
            sheet: Some(sheet),
            is_made: false,
            is_settled: false,
        }
    }

    pub(super) fn tried(record: Record) -> Self {
        Self {
            record,
            sheet: None,
            is_made: false,
            is_settled: true,
        }
    }

    /// Makes an object, or a patch of one, say that this change is what it comes from: so it is known as made also to
    /// those who were not told.
    pub(crate) fn mark(&self, object: &mut Value) {
        target::mark(object, &self.record.id);
    }

    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    pub(super) fn settle(mut self) {
        self.is_settled = true;
    }

    /// Makes the change, or a part of it. What the cluster refuses was not made, unless a part of it was before; of
    /// what it does not answer nobody knows.
    pub(crate) async fn attempt<T>(
        &mut self,
        change: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        self.is_settled = false;
        let answer = change.await;
        self.is_settled = !self.is_made && answer.as_ref().is_err_and(Refusal::is_certain);
        self.is_made |= answer.is_ok();
        answer
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(sheet) = self.sheet.as_ref().filter(|_| !self.is_settled) {
            sheet.is_left.store(true, Ordering::Relaxed);
        }
    }
}

/// A chunk of changes that are about to be made, as long as one of them is.
pub(crate) struct Sheet {
    name: String,
    /// Whether there is one on it of which nobody knows what became of it.
    is_left: AtomicBool,
    remover: mpsc::UnboundedSender<String>,
    /// Who looks at what is left.
    looker: Arc<Notify>,
}

impl Drop for Sheet {
    fn drop(&mut self) {
        if self.is_left.load(Ordering::Relaxed) {
            self.looker.notify_one();
        } else {
            // Where nobody removes it any more the next to look finds that all of it is recorded.
            let _ = self.remover.send(std::mem::take(&mut self.name));
        }
    }
}

/// Stores what is about to be done, and removes what is settled.
pub(super) async fn write_all(
    store: Arc<Store>,
    mut records: mpsc::Receiver<(Record, oneshot::Sender<Arc<Sheet>>)>,
    looker: Arc<Notify>,
) {
    let (remover, mut settled) = mpsc::unbounded_channel::<String>();
    let removing = async {
        while let Some(name) = settled.recv().await {
            if let Err(refusal) = store.remove(&name).await {
                tracing::warn!(?refusal, name, "a chunk of the audit log could not be removed");
            }
        }
    };
    let writing = async {
        while let Some((batch, waiting)) = next_batch(&mut records).await {
            match store.write(&batch, chunk::Kind::Begun).await {
                Ok(name) => {
                    let sheet = Arc::new(Sheet {
                        name,
                        is_left: AtomicBool::new(false),
                        remover: remover.clone(),
                        looker: looker.clone(),
                    });
                    for waiting in waiting {
                        // Whoever does not wait any more does not make the change either.
                        let _ = waiting.send(sheet.clone());
                    }
                }
                Err(refusal) => tracing::error!(?refusal, "the audit log cannot be written"),
            }
        }
    };
    tokio::join!(removing, writing);
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use http::StatusCode;

    use super::*;

    fn begun(sheet: &Arc<Sheet>) -> Begun {
        let record = Record {
            id: "a".to_owned(),
            json: Value::Null,
        };
        Begun::on(sheet.clone(), record)
    }

    fn sheet() -> (Arc<Sheet>, mpsc::UnboundedReceiver<String>) {
        let (remover, removed) = mpsc::unbounded_channel();
        let sheet = Sheet {
            name: "sheet".to_owned(),
            is_left: AtomicBool::new(false),
            remover,
            looker: Arc::default(),
        };
        (Arc::new(sheet), removed)
    }

    fn refusal(code: StatusCode) -> Refusal {
        let status = kube::core::Status::failure("no", "No").with_code(code.as_u16());
        Refusal::Said(Box::new(status))
    }

    #[tokio::test]
    async fn a_sheet_goes_when_all_of_it_is_recorded_or_refused() {
        let (sheet, mut removed) = sheet();
        let (made, mut refused) = (begun(&sheet), begun(&sheet));
        drop(sheet);
        made.settle();
        let answer = refused
            .attempt(async { Err::<(), _>(refusal(StatusCode::CONFLICT)) })
            .await;
        assert!(answer.is_err());
        assert!(
            removed.try_recv().is_err(),
            "one of them is still about to be made"
        );
        drop(refused);
        assert_eq!(removed.try_recv().unwrap(), "sheet");
    }

    #[tokio::test]
    async fn a_sheet_stays_where_nobody_knows_what_became_of_one() {
        let unsure = [
            refusal(StatusCode::GATEWAY_TIMEOUT),
            Refusal::Silent("the connection broke".to_owned()),
        ];
        for refusal in unsure {
            let (sheet, mut removed) = sheet();
            let mut left = begun(&sheet);
            begun(&sheet).settle();
            drop(sheet);
            assert!(left.attempt(async { Err::<(), _>(refusal) }).await.is_err());
            drop(left);
            assert!(removed.try_recv().is_err());
        }
        // Whoever asked was gone while it was made.
        let (sheet, mut removed) = sheet();
        let mut left = begun(&sheet);
        drop(sheet);
        let _ = left
            .attempt(async { Err::<(), _>(refusal(StatusCode::CONFLICT)) })
            .await;
        let cut_off = left
            .attempt(std::future::pending::<Result<(), Refusal>>())
            .now_or_never();
        assert!(cut_off.is_none());
        drop(left);
        assert!(removed.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_sheet_stays_where_a_part_was_made_and_the_rest_refused() {
        let (sheet, mut removed) = sheet();
        let mut left = begun(&sheet);
        drop(sheet);
        let _ = left.attempt(async { Ok(()) }).await;
        let _ = left
            .attempt(async { Err::<(), _>(refusal(StatusCode::CONFLICT)) })
            .await;
        drop(left);
        assert!(removed.try_recv().is_err());
    }
}
