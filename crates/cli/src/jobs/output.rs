//! What a replica prints, line by line, while it prints it or afterwards.

use std::time::Duration;

use futures_util::{AsyncBufRead, AsyncBufReadExt as _};

use super::{
    api::{Api, ApiError, escaped},
    job::Job,
    replicas::Replica,
};

/// Which part of the output is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    /// Only so many of the last lines.
    pub(crate) tail: Option<u64>,
    /// Only what is not older.
    pub(crate) since: Option<Duration>,
    /// Those of the run before, where the program was started again.
    pub(crate) previous: bool,
    /// Go on until the program ends.
    pub(crate) follow: bool,
}

/// Opens the output of a replica's program.
pub(crate) async fn open(
    api: &Api,
    job: &Job,
    replica: &Replica,
    part: Part,
) -> Result<impl AsyncBufRead + Send + Unpin + use<>, ApiError> {
    let stream = api.stream(&path(job, replica, part)).await?;
    Ok(Box::pin(stream))
}

fn path(job: &Job, replica: &Replica, part: Part) -> String {
    let mut path = format!(
        "/api/v1/namespaces/{}/pods/{}/log?container={}",
        escaped(job.namespace()),
        escaped(replica.pod_name()),
        escaped(replica.container(job)),
    );
    if part.follow {
        path += "&follow=true";
    }
    if part.previous {
        path += "&previous=true";
    }
    if let Some(age) = part.since {
        path += &format!("&sinceSeconds={}", age.as_secs().max(1));
    }
    if let Some(lines) = part.tail {
        path += &format!("&tailLines={lines}");
    }
    path
}

/// The next line with its end; none after the last one. What a program leaves unfinished is a line, too.
pub(crate) async fn next_line(output: &mut (impl AsyncBufRead + Unpin)) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    // A connection that breaks ends the output: whoever follows looks for the job itself.
    match output.read_until(b'\n', &mut line).await {
        Ok(_) | Err(_) if !line.is_empty() => Some(line),
        _ => None,
    }
}
