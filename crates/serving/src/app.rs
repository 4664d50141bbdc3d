//! What all protocols share: from named tensors to named tensors, and the limits on what is taken in.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use saved_model::Tensor;
use tokio::time::timeout;

use crate::{
    catalogue::{Catalogue, Version},
    failure::{Code, Failure, Outcome},
    loader::Order,
    metrics::{Figures, Metrics},
    queue::Queue,
};

/// A body must be there within this time.
const PATIENCE: Duration = Duration::from_mins(1);

/// One server's state; requests share it.
pub(crate) struct App {
    pub(crate) catalogue: Arc<Catalogue>,
    /// The folder of the model.
    pub(crate) base: PathBuf,
    /// To whom it looks after that folder.
    pub(crate) loader: mpsc::Sender<Order>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) is_stopping: AtomicBool,
    /// Bytes of one request.
    pub(crate) most_bytes: usize,
    pub(crate) memory: Memory,
}

impl App {
    pub(crate) fn is_ready(&self) -> bool {
        !self.is_stopping.load(Ordering::Relaxed) && self.catalogue.is_ready()
    }

    /// The outputs of a signature, by name. With a filter only those that are wanted.
    pub(crate) async fn ask(
        &self,
        version: &Arc<Version>,
        signature: &str,
        given: BTreeMap<String, Tensor>,
        filter: &[String],
    ) -> Outcome<Vec<(String, Tensor)>> {
        let asked = version.signature(signature)?;
        let inputs = || asked.inputs().iter().map(|port| port.name.as_str());
        if let Some(unknown) = given
            .keys()
            .find(|name| !inputs().any(|input| input == name.as_str()))
        {
            return Err(Failure::invalid(format!(
                "the signature `{signature}` has no input `{unknown}`; it has {}",
                listed(inputs())
            )));
        }
        let outputs = || asked.outputs().iter().map(|port| port.name.as_str());
        if let Some(unknown) = filter
            .iter()
            .find(|name| !outputs().any(|output| output == name.as_str()))
        {
            return Err(Failure::invalid(format!(
                "the signature `{signature}` has no output `{unknown}`; it has {}",
                listed(outputs())
            )));
        }
        let arranged = asked.arrange(given)?;
        let answers = self.queue.ask(version.clone(), signature, arranged).await?;
        let named = outputs().map(str::to_owned).zip(answers);
        Ok(named
            .filter(|(name, _)| filter.is_empty() || filter.contains(name))
            .collect())
    }

    /// The whole body, and what it holds of the memory there is for requests until it is dropped.
    pub(crate) async fn receive(&self, body: Incoming, weight: usize) -> Outcome<(Bytes, Held<'_>)> {
        match timeout(PATIENCE, self.collect(body, weight)).await {
            Ok(received) => received,
            Err(_) => Err(Failure::new(
                Code::DeadlineExceeded,
                format!("the request was not there within {} seconds", PATIENCE.as_secs()),
            )),
        }
    }

    async fn collect(&self, mut body: Incoming, weight: usize) -> Outcome<(Bytes, Held<'_>)> {
        let mut held = self.allowance(weight);
        if body.size_hint().lower() > held.most as u64 {
            return Err(too_large(held.most));
        }
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|_| Failure::new(Code::Cancelled, "the request ended before its end"))?;
            let Ok(data) = frame.into_data() else { continue };
            held.take(data.len())?;
            bytes.extend_from_slice(&data);
        }
        Ok((bytes.freeze(), held))
    }

    /// What one request may take, each byte of which becomes so many.
    pub(crate) fn allowance(&self, weight: usize) -> Held<'_> {
        self.memory.hold(weight, self.most_bytes / weight)
    }

    /// Memory for what becomes of a request, which may be more than what was sent.
    pub(crate) fn hold(&self, bytes: usize) -> Outcome<Held<'_>> {
        if bytes > self.memory.most {
            return Err(Failure::new(
                Code::ResourceExhausted,
                format!(
                    "the tensors of the request take {bytes} bytes, more than the {} there are for requests",
                    self.memory.most
                ),
            ));
        }
        let mut held = self.memory.hold(1, self.memory.most);
        held.take(bytes).map(|()| held)
    }

    pub(crate) fn metrics_text(&self) -> String {
        let serving = self.catalogue.serving();
        self.metrics.text(&Figures {
            model: self.catalogue.name.clone(),
            waiting: self.queue.waiting(),
            versions: self.catalogue.status(),
            bytes: serving.iter().map(|version| version.model.bytes()).sum(),
        })
    }
}

fn too_large(most: usize) -> Failure {
    Failure::new(
        Code::ResourceExhausted,
        format!("the request has more than {most} bytes"),
    )
}

fn busy() -> Failure {
    Failure::new(
        Code::Unavailable,
        "other requests take all the memory there is for them; try again",
    )
}

/// Names as people read them: `a`, `b`.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// The memory that all requests together may take.
pub(crate) struct Memory {
    most: usize,
    taken: AtomicUsize,
}

/// A request's part of it, given back when it is dropped.
pub(crate) struct Held<'a> {
    memory: &'a Memory,
    weight: usize,
    most: usize,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            taken: AtomicUsize::new(0),
        }
    }

    fn hold(&self, weight: usize, most: usize) -> Held<'_> {
        Held {
            memory: self,
            weight,
            most,
            bytes: 0,
        }
    }
}

impl Held<'_> {
    /// So many bytes on top, or why not.
    pub(crate) fn take(&mut self, bytes: usize) -> Outcome<()> {
        if self.bytes + bytes > self.most {
            return Err(too_large(self.most));
        }
        let more = bytes * self.weight;
        let before = self.memory.taken.fetch_add(more, Ordering::Relaxed);
        self.bytes += bytes;
        if before + more > self.memory.most {
            return Err(busy());
        }
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let given_back = self.bytes * self.weight;
        self.memory.taken.fetch_sub(given_back, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_taken_comes_back() {
        let memory = Memory::new(10);
        let mut first = memory.hold(1, 10);
        assert!(first.take(8).is_ok());
        let mut second = memory.hold(1, 10);
        assert_eq!(second.take(8).unwrap_err().code, Code::Unavailable);
        drop(second);
        assert!(first.take(2).is_ok());
        drop(first);
        assert!(memory.hold(1, 10).take(10).is_ok());
    }

    #[test]
    fn one_request_has_its_own_limit_and_weight() {
        let memory = Memory::new(100);
        let mut held = memory.hold(8, 5);
        assert!(held.take(5).is_ok());
        assert_eq!(held.take(1).unwrap_err().code, Code::ResourceExhausted);
        assert!(memory.hold(1, 100).take(61).is_err());
        assert!(memory.hold(1, 100).take(60).is_ok());
    }
}
