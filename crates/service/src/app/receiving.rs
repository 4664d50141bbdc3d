//! Bodies: whole, of a size that is right for values, in a form that can be read, within a time.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;

use crate::problem::{Code, Outcome, Problem};

/// The largest body: values, templates and definitions are far smaller.
pub(crate) const LIMIT: usize = 1024 * 1024;
/// Of one that is too large so much is taken in all the same: clients read the answer once they have sent theirs.
const DISCARDED: usize = 16 * 1024 * 1024;
/// A body must be there within this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether the body is JSON, or does not say what it is.
pub(crate) fn check_form(headers: &HeaderMap) -> Outcome<()> {
    let Some(form) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let form = form.to_str().unwrap_or_default();
    let kind = form
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")) {
        return Ok(());
    }
    Err(Problem::new(
        Code::NotThisForm,
        "send JSON, with `Content-Type: application/json`; with curl: `--json @FILE`",
    ))
}

/// The whole body.
pub(crate) async fn receive(headers: &HeaderMap, body: Incoming) -> Outcome<Bytes> {
    match timeout(PATIENCE, collect(headers, body)).await {
        Ok(received) => received,
        Err(_) => Err(Problem::new(
            Code::TooSlow,
            format!("the body was not there within {} seconds", PATIENCE.as_secs()),
        )),
    }
}

async fn collect(headers: &HeaderMap, mut body: Incoming) -> Outcome<Bytes> {
    let too_large = || Problem::new(Code::TooLarge, format!("the body has more than {LIMIT} bytes"));
    if body.size_hint().lower() > LIMIT as u64 {
        // Whoever asks before sending need not send.
        if !headers.contains_key(header::EXPECT) {
            discard(body, 0).await;
        }
        return Err(too_large());
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::new(Code::BadRequest, "the body ended before its end"))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > LIMIT {
            discard(body, bytes.len()).await;
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

async fn discard(mut body: Incoming, mut length: usize) {
    while length < DISCARDED
        && let Some(Ok(frame)) = body.frame().await
    {
        length += frame.data_ref().map_or(0, Bytes::len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_and_nothing_else() {
        let check = |form: &str| {
            check_form(&HeaderMap::from_iter([(
                header::CONTENT_TYPE,
                form.parse().unwrap(),
            )]))
        };
        assert_eq!(check("application/json; charset=utf-8"), Ok(()));
        assert_eq!(check("application/merge-patch+json"), Ok(()));
        assert_eq!(check_form(&HeaderMap::new()), Ok(()));
        for form in [
            "application/x-www-form-urlencoded",
            "text/plain",
            "application/jsonx",
        ] {
            assert_eq!(check(form).unwrap_err().code, Code::NotThisForm, "{form}");
        }
    }
}
