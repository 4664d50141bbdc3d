//! What a replica prints, line by line, while it prints it or afterwards.

mod position;

use std::io;

use futures_util::{AsyncBufRead, AsyncBufReadExt as _};
use jiff::Timestamp;

use super::{
    api::{Api, ApiError, escaped},
    job::Job,
    replicas::{Attempt, Replica, attempt},
};
pub(crate) use position::Position;
use position::Return;

/// A line that is longer comes in pieces, so that no line is too long to be heard.
const LONGEST_PIECE: usize = 64 << 10;

/// Which part of the output is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    /// Only so many of the last lines.
    pub(crate) tail: Option<u64>,
    /// Only what comes behind this.
    pub(crate) after: Position,
    /// That of the run before, where the program was started again.
    pub(crate) previous: bool,
    /// Go on until the program ends.
    pub(crate) follow: bool,
}

/// Whose output it is.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) replica: String,
    pub(crate) pod: String,
    pub(crate) container: String,
    namespace: String,
}

/// A line with its end, or a piece of one that is very long or that its program left unfinished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) time: Option<Timestamp>,
    pub(crate) text: Vec<u8>,
}

impl Source {
    pub(crate) fn of(job: &Job, replica: &Replica) -> Self {
        Self {
            replica: replica.name.clone(),
            pod: replica.pod_name().to_owned(),
            container: replica.container(job).to_owned(),
            namespace: job.namespace().to_owned(),
        }
    }

    /// Opens the output.
    pub(crate) async fn open(
        &self,
        api: &Api,
        part: Part,
    ) -> Result<Lines<impl AsyncBufRead + Send + Unpin + use<>>, ApiError> {
        let stream = api.stream(&self.path(part)).await?;
        Ok(Lines::new(Box::pin(stream), part.after))
    }

    /// The run that has begun last, as the cluster has it now; none where the pod is gone or has not begun.
    pub(crate) async fn attempt(&self, api: &Api) -> Result<Option<Attempt>, ApiError> {
        let pod = api.find(&self.pod_path()).await?;
        Ok(pod.and_then(|pod| attempt(&pod, &self.container)))
    }

    fn pod_path(&self) -> String {
        format!(
            "/api/v1/namespaces/{}/pods/{}",
            escaped(&self.namespace),
            escaped(&self.pod)
        )
    }

    fn path(&self, part: Part) -> String {
        let mut path = format!(
            "{}/log?container={}&timestamps=true",
            self.pod_path(),
            escaped(&self.container),
        );
        if part.follow {
            path += "&follow=true";
        }
        if part.previous {
            path += "&previous=true";
        }
        if let Some(since) = part.after.since() {
            path += &format!("&sinceTime={}", escaped(&since.to_string()));
        }
        if let Some(lines) = part.tail.filter(|_| part.after.is_start()) {
            path += &format!("&tailLines={lines}");
        }
        path
    }
}

/// Output that is being read.
pub(crate) struct Lines<R> {
    source: R,
    position: Position,
    back: Return,
    /// The line that has begun and not ended.
    begun: Option<Begun>,
}

#[derive(Clone, Copy)]
struct Begun {
    time: Option<Timestamp>,
    /// How much of what comes was heard before; none where all of it was.
    heard: Option<usize>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    fn new(source: R, position: Position) -> Self {
        Self {
            source,
            position,
            back: Return::to(position),
            begun: None,
        }
    }

    /// The place behind everything that was given.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// The next line; none when the output is over. What an error cuts off is not given, and comes whole
    /// when the output is opened again.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let piece = self.piece().await?;
            if piece.is_empty() {
                return Ok(None);
            }
            if let Some(line) = self.take(&piece) {
                return Ok(Some(line));
            }
        }
    }

    /// Bytes up to the end of the line, or as many as a piece may have.
    async fn piece(&mut self) -> io::Result<Vec<u8>> {
        let mut piece = Vec::new();
        while piece.len() < LONGEST_PIECE && !piece.ends_with(b"\n") {
            let there = self.source.fill_buf().await?;
            if there.is_empty() {
                break;
            }
            let there = &there[..there.len().min(LONGEST_PIECE - piece.len())];
            let end = there.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(there.len(), |end| end + 1);
            piece.extend_from_slice(&there[..count]);
            self.source.consume_unpin(count);
        }
        Ok(piece)
    }

    /// What of a piece is new.
    fn take(&mut self, piece: &[u8]) -> Option<Line> {
        let (begun, text) = if let Some(begun) = self.begun {
            (begun, piece)
        } else {
            let (time, text) = timed(piece);
            let heard = self.back.heard_of(time);
            (Begun { time, heard }, text)
        };
        let is_whole = text.ends_with(b"\n");
        let old = begun.heard.map(|heard| heard.min(text.len()));
        self.begun = (!is_whole).then(|| Begun {
            heard: begun.heard.zip(old).map(|(heard, old)| heard - old),
            ..begun
        });
        let text = text[old?..].to_vec();
        self.position.heard(begun.time, text.len(), is_whole);
        (!text.is_empty()).then_some(Line {
            time: begun.time,
            text,
        })
    }
}

/// A line begins with its time; a server that gives none is taken as it is.
fn timed(line: &[u8]) -> (Option<Timestamp>, &[u8]) {
    let end = line.iter().position(|byte| *byte == b' ');
    let parsed = end.and_then(|end| {
        let time = std::str::from_utf8(&line[..end]).ok()?;
        Some((time.parse().ok()?, &line[end + 1..]))
    });
    match parsed {
        Some((time, text)) => (Some(time), text),
        None => (None, line),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::io::Cursor;

    use super::*;

    const LOG: &str = "2026-01-01T00:00:01.5Z one\n2026-01-01T00:00:01.5Z one\n\
                       2026-01-01T00:00:01.7Z \n2026-01-01T00:00:02Z three four\n";

    async fn read(log: &[u8], after: Position) -> (String, Position) {
        let mut lines = Lines::new(Cursor::new(log), after);
        let mut text = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            text.extend(line.text);
        }
        (String::from_utf8(text).unwrap(), lines.position())
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(work)
    }

    #[test]
    fn output_that_is_cut_anywhere_is_heard_once_and_whole() {
        run(async {
            let (whole, _) = read(LOG.as_bytes(), Position::default()).await;
            assert_eq!(whole, "one\none\n\nthree four\n");
            let is_in_time = |cut: &usize| {
                let line = LOG[..*cut].rsplit('\n').next().unwrap_or_default();
                !line.is_empty() && !line.contains(' ')
            };
            for cut in (0..LOG.len()).filter(|cut| !is_in_time(cut)) {
                let (first, position) = read(&LOG.as_bytes()[..cut], Position::default()).await;
                let (rest, _) = read(LOG.as_bytes(), position).await;
                assert_eq!(first + &rest, whole, "cut at {cut}");
            }
        });
    }

    #[test]
    fn a_line_of_any_length_comes_in_pieces() {
        run(async {
            let long = "x".repeat(3 * LONGEST_PIECE + 7);
            let log = format!("2026-01-01T00:00:01Z {long}\n2026-01-01T00:00:02Z short\n");
            let mut lines = Lines::new(Cursor::new(log.as_bytes()), Position::default());
            let (mut pieces, mut text) = (0, Vec::new());
            while let Some(line) = lines.next().await.unwrap() {
                assert!(line.text.len() <= LONGEST_PIECE);
                assert!(line.time.is_some());
                pieces += 1;
                text.extend(line.text);
            }
            assert_eq!((pieces, text.len()), (5, long.len() + 7));
        });
    }

    #[test]
    fn what_was_heard_is_not_asked_for_again() {
        run(async {
            let source = Source {
                replica: "master-0".to_owned(),
                pod: "p".to_owned(),
                container: "c".to_owned(),
                namespace: "n".to_owned(),
            };
            let (_, after) = read(LOG.as_bytes(), Position::default()).await;
            let part = Part {
                tail: Some(5),
                follow: true,
                ..Part::default()
            };
            let log = "/api/v1/namespaces/n/pods/p/log?container=c&timestamps=true&follow=true";
            assert_eq!(source.path(part), format!("{log}&tailLines=5"));
            let later = source.path(Part { after, ..part });
            assert_eq!(later, format!("{log}&sinceTime=2026-01-01T00%3A00%3A02Z"));
        });
    }
}
