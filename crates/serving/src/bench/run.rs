//! From a table and a server to figures.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use prost::Message as _;
use saved_model::{
    Tensor,
    proto::{SignatureDef, TensorProto},
};
use tokio::sync::mpsc;

use super::{
    channel::{Channel, Endpoint},
    layout::{Layout, LayoutError, correct, seed_signature},
    statistics::{Iteration, Summary, summary},
    table::{Row, TableError},
};
use crate::{
    failure::{Code, Failure, Outcome},
    proto::prediction::{
        GetModelMetadataRequest, GetModelMetadataResponse, ModelSpec, PredictRequest, PredictResponse,
        SIGNATURES, SignatureDefMap,
    },
    tls::ClientTls,
};

const PREDICT: &str = "/tensorflow.serving.PredictionService/Predict";
const METADATA: &str = "/tensorflow.serving.PredictionService/GetModelMetadata";

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Those who ask are spread over all of them.
    pub servers: Vec<Endpoint>,
    /// How to speak with those that are encrypted.
    pub tls: Option<ClientTls>,
    pub model: String,
    pub signature: String,
    /// None: `probabilities`, or the only one.
    pub output: Option<String>,
    /// What the columns after the label are called.
    pub columns: Option<Vec<String>>,
    pub batch: usize,
    pub iterations: usize,
    pub warm_up: usize,
    pub concurrency: usize,
    /// Requests a second; none: each is sent when the one before is answered.
    pub rate: Option<f64>,
    pub timeout: Duration,
    pub retries: u32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    pub summary: Summary,
    /// The output that was compared with the labels.
    pub output: String,
    /// The data had fewer rows than were wanted.
    pub ran_out: bool,
    /// What ended the run before its time.
    pub failure: Option<String>,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("{server} does not answer")]
    Server {
        server: String,
        #[source]
        cause: Failure,
    },
    #[error("{server} refuses: {}", cause.message)]
    Refused { server: String, cause: Failure },
    #[error("the model `{model}` has no signature `{signature}`; it has {known}")]
    Signature {
        model: String,
        signature: String,
        known: String,
    },
    #[error(transparent)]
    Table(#[from] TableError),
    #[error("the data has no rows")]
    NoRows,
    #[error("the data is not for the signature `{signature}`")]
    Layout {
        signature: String,
        #[source]
        cause: LayoutError,
    },
}

impl BenchError {
    /// What a server says, or why it says nothing.
    fn of(server: String, cause: Failure) -> Self {
        match cause.code {
            Code::Unavailable | Code::DeadlineExceeded | Code::Unauthenticated => {
                Self::Server { server, cause }
            }
            _ => Self::Refused { server, cause },
        }
    }
}

/// Rows on their way to whoever sends them.
pub type Source = Box<dyn Iterator<Item = Result<Row, TableError>> + Send>;

/// Tells of every answer as it comes.
pub async fn run(
    settings: Settings,
    rows: Source,
    mut tell: impl FnMut(&Iteration),
) -> Result<Report, BenchError> {
    let mut rows = rows.peekable();
    let width = match rows.peek() {
        None => return Err(BenchError::NoRows),
        Some(Ok(row)) => row.cells()?.len(),
        Some(Err(_)) => match rows.next() {
            Some(Err(error)) => return Err(error.into()),
            _ => return Err(BenchError::NoRows),
        },
    };
    let signature = signature(&settings).await?;
    let layout = Layout::new(
        &signature,
        width,
        settings.columns.as_deref(),
        settings.output.as_deref(),
    );
    let layout = layout.map_err(|cause| BenchError::Layout {
        signature: settings.signature.clone(),
        cause,
    })?;
    let output = layout.output.clone();
    let shared = Arc::new(Shared {
        batches: Mutex::new(Batches {
            rows: Box::new(rows),
            taken: 0,
            ran_out: false,
        }),
        settings,
        layout,
        is_over: AtomicBool::new(false),
    });
    let mut iterations = Vec::new();
    let warm_up = shared.settings.warm_up.min(shared.settings.iterations);
    let mut ended = phase(&shared, warm_up, true, &mut iterations, &mut tell).await;
    let started = Instant::now();
    if ended.is_ok() {
        ended = phase(
            &shared,
            shared.settings.iterations,
            false,
            &mut iterations,
            &mut tell,
        )
        .await;
    }
    let window = started.elapsed();
    let failure = match ended {
        Ok(()) => None,
        // A mistake in the data is one, wherever it stands.
        Err(Ended::Table(error)) => return Err(error.into()),
        Err(Ended::Server(server, cause)) if iterations.is_empty() => {
            return Err(BenchError::of(server, cause));
        }
        Err(Ended::Server(server, cause)) => Some(format!("{server}: {cause}")),
    };
    iterations.sort_by_key(|iteration: &Iteration| iteration.number);
    Ok(Report {
        summary: summary(&iterations, window),
        output,
        ran_out: shared.batches.lock().ran_out,
        failure,
    })
}

/// What the server says of the signature.
async fn signature(settings: &Settings) -> Result<SignatureDef, BenchError> {
    let mut channel = Channel::new(settings, 0);
    let request = GetModelMetadataRequest {
        model_spec: Some(ModelSpec {
            name: settings.model.clone(),
            ..ModelSpec::default()
        }),
        metadata_field: vec![SIGNATURES.to_owned()],
    };
    let answered = channel.call::<GetModelMetadataResponse>(METADATA, &request).await;
    let server = channel.server().to_string();
    let metadata = match answered {
        Ok(answered) => answered.message.metadata,
        // Proxies of TensorFlow Serving may know predictions only.
        Err(cause) if cause.code == Code::Unimplemented => return Ok(seed_signature()),
        Err(cause) => return Err(BenchError::of(server, cause)),
    };
    let packed = metadata
        .get(SIGNATURES)
        .map(|packed| packed.value.clone())
        .unwrap_or_default();
    let mut map = SignatureDefMap::decode(packed).unwrap_or_default().signature_def;
    if let Some(found) = map.remove(&settings.signature) {
        return Ok(found);
    }
    let known: Vec<String> = map
        .keys()
        .filter(|name| !name.starts_with("__"))
        .map(|name| format!("`{name}`"))
        .collect();
    Err(BenchError::Signature {
        model: settings.model.clone(),
        signature: settings.signature.clone(),
        known: known.join(", "),
    })
}

/// What those who ask share.
struct Shared {
    settings: Settings,
    layout: Layout,
    batches: Mutex<Batches>,
    is_over: AtomicBool,
}

struct Batches {
    rows: Source,
    taken: usize,
    ran_out: bool,
}

impl Batches {
    /// The next batch and its number, as long as fewer than `end` were taken. The last may be short.
    fn next(&mut self, end: usize, size: usize) -> Option<Result<(usize, Vec<Row>), TableError>> {
        if self.taken >= end {
            return None;
        }
        let rows: Result<Vec<Row>, TableError> = self.rows.by_ref().take(size).collect();
        match rows {
            Ok(rows) if rows.is_empty() => {
                self.ran_out = true;
                None
            }
            Ok(rows) => {
                self.taken += 1;
                Some(Ok((self.taken, rows)))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

enum Ended {
    Table(TableError),
    /// Which, and what it said.
    Server(String, Failure),
}

/// Sends batches until so many were taken, or there are no more.
async fn phase(
    shared: &Arc<Shared>,
    end: usize,
    is_warm_up: bool,
    iterations: &mut Vec<Iteration>,
    tell: &mut impl FnMut(&Iteration),
) -> Result<(), Ended> {
    let (sender, mut answers) = mpsc::unbounded_channel();
    let started = Instant::now();
    let first = shared.batches.lock().taken;
    let askers: Vec<_> = (0..shared.settings.concurrency.max(1))
        .map(|index| {
            let (shared, sender) = (shared.clone(), sender.clone());
            let asker = Asker {
                started,
                first,
                end,
                is_warm_up,
                index,
            };
            tokio::spawn(async move {
                let ended = asker.ask(&shared, &sender).await;
                if ended.is_err() {
                    // Nobody goes on where one cannot.
                    shared.is_over.store(true, Ordering::Relaxed);
                }
                ended
            })
        })
        .collect();
    drop(sender);
    while let Some(iteration) = answers.recv().await {
        tell(&iteration);
        iterations.push(iteration);
    }
    for asker in askers {
        if let Ok(ended) = asker.await {
            ended?;
        }
    }
    Ok(())
}

struct Asker {
    started: Instant,
    first: usize,
    end: usize,
    is_warm_up: bool,
    index: usize,
}

impl Asker {
    async fn ask(&self, shared: &Shared, answers: &mpsc::UnboundedSender<Iteration>) -> Result<(), Ended> {
        let settings = &shared.settings;
        let mut channel = Channel::new(settings, self.index);
        while !shared.is_over.load(Ordering::Relaxed) {
            let next = shared.batches.lock().next(self.end, settings.batch.max(1));
            let Some(next) = next else { break };
            let (number, rows) = next.map_err(Ended::Table)?;
            let batch = shared.layout.batch(&rows).map_err(Ended::Table)?;
            let request = PredictRequest {
                model_spec: Some(ModelSpec {
                    name: settings.model.clone(),
                    signature_name: settings.signature.clone(),
                    ..ModelSpec::default()
                }),
                inputs: batch.inputs,
                output_filter: vec![shared.layout.output.clone()],
            };
            // With a rate the clock starts when the request was due, so that a slow server cannot hide how slow it is.
            let from = match settings.rate {
                None => Instant::now(),
                Some(rate) => {
                    let due = self.started + Duration::from_secs_f64((number - 1 - self.first) as f64 / rate);
                    tokio::time::sleep_until(due.into()).await;
                    due
                }
            };
            let answered = channel.call::<PredictResponse>(PREDICT, &request).await;
            let took = from.elapsed();
            let failed = |cause: Failure| Ended::Server(channel.server().to_string(), cause);
            let answered = answered.map_err(failed)?;
            let correct = judged(&answered.message, &shared.layout.output, &batch.labels).map_err(failed)?;
            let iteration = Iteration {
                number,
                rows: rows.len(),
                correct,
                took,
                attempts: answered.attempts,
                is_warm_up: self.is_warm_up,
            };
            // Whoever measures is there until all have ended.
            let _ = answers.send(iteration);
        }
        Ok(())
    }
}

fn judged(answer: &PredictResponse, output: &str, labels: &[i64]) -> Outcome<usize> {
    let wrong = |what: &str| {
        Failure::new(
            Code::FailedPrecondition,
            format!("the answer's `{output}` {what}"),
        )
    };
    let wire: &TensorProto = answer.outputs.get(output).ok_or_else(|| wrong("is missing"))?;
    let tensor = Tensor::try_from(wire).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    correct(&tensor, labels)
        .ok_or_else(|| wrong("has not one class, or the same number of scores, for each row"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Rows;

    fn batches(text: &'static str) -> Batches {
        Batches {
            rows: Box::new(Rows::new(text.as_bytes())),
            taken: 0,
            ran_out: false,
        }
    }

    #[test]
    fn the_last_batch_may_be_short_and_then_there_are_none() {
        let mut batches = batches("1,a\n1,b\n1,c\n");
        let mut next = |end: usize| {
            batches
                .next(end, 2)
                .map(|batch| batch.unwrap())
                .map(|(number, rows)| (number, rows.len()))
        };
        assert_eq!(next(1), Some((1, 2)));
        assert_eq!(next(1), None);
        assert_eq!(next(9), Some((2, 1)));
        assert_eq!(next(9), None);
        assert!(batches.ran_out);
    }

    #[test]
    fn data_that_is_just_enough_did_not_run_out() {
        let mut batches = batches("1,a\n1,b\n");
        assert!(batches.next(2, 1).is_some() && batches.next(2, 1).is_some() && batches.next(2, 1).is_none());
        assert!(!batches.ran_out);
    }
}
