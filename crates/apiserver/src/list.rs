//! Reading a collection: whole, by selector, in pages, now or at a revision.

use std::{sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt;
use jiff::Timestamp;
use manifests::field::{FieldError, Path};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Key, Object};

use crate::{
    aside::step_aside,
    call::Call,
    conversion,
    error::{ApiError, Result},
    kind::Kind,
    negotiate::{Encoding, Form},
    object,
    query::Query,
    response::{self, Answer},
    rows::{self, IncludeObject},
    selection::Selection,
};

/// How long a read waits for a revision that is not there yet.
const REVISION_PATIENCE: Duration = Duration::from_secs(3);

/// Answers are cut into pieces of about this size, so that a huge list never lies in memory twice.
const CHUNK: usize = 128 * 1024;

/// Making rows of more objects than this would let others wait.
pub(crate) const MANY: usize = 500;

/// What a list or watch asks of time: which revision, and how exactly.
#[derive(Debug, Default)]
pub(crate) struct ListOptions {
    pub limit: usize,
    pub start: Option<Continue>,
    pub revision: Option<u64>,
    pub exact: bool,
}

/// The place where a page ended: the revision of the whole list and the last key shown.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Continue {
    v: String,
    pub rv: u64,
    pub start: String,
}

impl Continue {
    const VERSION: &str = "meta.k8s.io/v1";

    fn encode(revision: u64, last: &Key) -> String {
        let token = Self {
            v: Self::VERSION.to_owned(),
            rv: revision,
            start: format!("{}/{}\u{0}", last.namespace(), last.name()),
        };
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
    }

    fn decode(text: &str) -> Result<Self> {
        let invalid = |why: &str| {
            ApiError::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = BASE64_URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .map_err(|error| invalid(&error.to_string()))?;
        let parsed = manifests::json::parse(&bytes).map_err(|error| invalid(&error.to_string()))?;
        let token: Self =
            serde_json::from_value(parsed.value).map_err(|error| invalid(&error.to_string()))?;
        if token.v != Self::VERSION || token.rv == 0 || !token.start.contains('/') {
            return Err(invalid("incorrect encoded start or resource version"));
        }
        Ok(token)
    }

    fn key(&self) -> Key {
        let (namespace, name) = self.start.split_once('/').unwrap_or_default();
        Key::new(namespace, name.trim_end_matches('\u{0}'))
    }
}

impl ListOptions {
    pub(crate) fn read(query: &Query) -> Result<Self> {
        check_options(query)?;
        // A list ends by itself, but what it is asked must make sense.
        query.int("timeoutSeconds")?;
        let limit = query.int("limit")?.unwrap_or(0).max(0) as usize;
        let start = query.text("continue").map(Continue::decode).transpose()?;
        let revision = query
            .text("resourceVersion")
            .map(parse_revision)
            .transpose()
            .map_err(|why| ApiError::bad_request(format!("invalid resource version: {why}")))?;
        let exact = query.get("resourceVersionMatch") == Some("Exact")
            // A limited list at a revision means that revision, for clients older than the parameter.
            || (limit > 0 && revision.is_some_and(|r| r > 0) && query.text("resourceVersionMatch").is_none());
        if start.is_some() && revision.is_some_and(|revision| revision > 0) {
            return Err(ApiError::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        // `resourceVersion=0` means "anything you have at hand": the whole list.
        let limit = if revision == Some(0) && start.is_none() {
            0
        } else {
            limit
        };
        Ok(Self {
            limit,
            start,
            revision,
            exact,
        })
    }
}

pub(crate) fn parse_revision(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax")
    })
}

/// Parameters that contradict each other.
pub(crate) fn check_options(query: &Query) -> Result<()> {
    let errors = if query.flag("watch") {
        contradictions_of_watch(query)
    } else {
        contradictions_of_list(query)
    };
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &errors))
    }
}

fn contradictions_of_list(query: &Query) -> Vec<FieldError> {
    let path = Path::new("resourceVersionMatch");
    let mut errors = Vec::new();
    if let Some(value) = query.text("resourceVersionMatch") {
        let mut forbid = |why: &str| errors.push(FieldError::forbidden(&path, why));
        if query.text("resourceVersion").is_none() {
            forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if query.text("continue").is_some() {
            forbid("resourceVersionMatch is forbidden when continue is provided");
        }
        if value == "Exact" && query.text("resourceVersion") == Some("0") {
            forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
        if !matches!(value, "Exact" | "NotOlderThan") {
            let known = ["Exact", "NotOlderThan", ""];
            errors.push(FieldError::not_supported(&path, &json!(value), &known));
        }
    }
    if query.optional_flag("sendInitialEvents").is_some() {
        errors.push(FieldError::forbidden(
            &Path::new("sendInitialEvents"),
            "sendInitialEvents is forbidden for list",
        ));
    }
    errors
}

fn contradictions_of_watch(query: &Query) -> Vec<FieldError> {
    let path = Path::new("resourceVersionMatch");
    let sends_initial_events = query.optional_flag("sendInitialEvents").is_some();
    let value = query.text("resourceVersionMatch");
    let mut errors = Vec::new();
    if sends_initial_events && value != Some("NotOlderThan") {
        errors.push(FieldError::forbidden(
            &path,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    let Some(value) = value else {
        return errors;
    };
    if !sends_initial_events {
        errors.push(FieldError::forbidden(
            &path,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ));
    }
    if value != "NotOlderThan" {
        errors.push(FieldError::not_supported(&path, &json!(value), &["NotOlderThan"]));
    }
    if query.text("continue").is_some() {
        errors.push(FieldError::forbidden(
            &path,
            "resourceVersionMatch is forbidden when continue is provided",
        ));
    }
    errors
}

/// Waits a moment for a revision; a client that is ahead of us for longer is told so.
pub(crate) async fn check_revision_exists(call: &Call, revision: u64) -> Result<()> {
    match call.api.store.wait_for(revision, REVISION_PATIENCE).await {
        Ok(_) => Ok(()),
        Err(too_new) => Err(ApiError::revision_too_large(revision, too_new.current)),
    }
}

/// One page of a collection.
#[derive(Default)]
struct Page {
    objects: Vec<Arc<Object>>,
    revision: u64,
    token: Option<String>,
    remaining: Option<u64>,
}

pub(crate) async fn list(call: &Call) -> Result<Answer> {
    let options = ListOptions::read(&call.query)?;
    let selection = Selection::read(&call.query, &call.kind)?;
    if let Some(revision) = options.revision {
        check_revision_exists(call, revision).await?;
    }
    let page = read_page(call, &options, &selection).await?;
    if call.representation.form == Form::Object && call.representation.encoding == Encoding::Json {
        return Ok(stream(&call.kind, page));
    }
    step_aside(page.objects.len() > MANY, || in_form(call, &page))
}

/// A page in a form that has to be made of its objects.
fn in_form(call: &Call, page: &Page) -> Result<Answer> {
    let metadata = match call.representation.form {
        Form::Object => object_list_metadata(&call.kind, page),
        _ => list_metadata(page),
    };
    let values = page.objects.iter().map(|stored| object::parse(stored));
    show(call, metadata, values.collect::<Result<Vec<_>>>()?)
}

/// A list of values in the form the client asked for.
pub(crate) fn show(call: &Call, metadata: Value, values: Vec<Value>) -> Result<Answer> {
    let shown = match call.representation.form {
        Form::Object => json!({
            "kind": call.kind.list_kind, "apiVersion": call.kind.api_version, "metadata": metadata,
            "items": values,
        }),
        Form::Metadata => json!({
            "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            "items": values.iter().map(rows::metadata).collect::<Vec<_>>(),
        }),
        Form::Table(version) => {
            let include = IncludeObject::read(&call.query)?;
            let now = Timestamp::now();
            let rows = values
                .into_iter()
                .map(|value| rows::row(&call.kind, value, include, now))
                .collect();
            rows::table(version, &call.kind, metadata, rows, true)
        }
    };
    Ok(response::value(StatusCode::OK, call.representation, &shown))
}

async fn read_page(call: &Call, options: &ListOptions, selection: &Selection) -> Result<Page> {
    let limit = if options.limit == 0 {
        usize::MAX
    } else {
        options.limit
    };
    // Without a selector one read is the page; with one, reads go on until the page is full.
    let at_a_time = if selection.is_empty() {
        limit
    } else {
        limit.max(MANY)
    };
    let wanted = (options.limit > 0).then_some(at_a_time);
    let mut after = options.start.as_ref().map(Continue::key);
    let mut revision = options.start.as_ref().map(|start| start.rv);
    let mut page = Page::default();
    loop {
        let list = read(call, options, revision, after.as_ref(), wanted)?;
        page.revision = list.revision;
        revision = Some(list.revision);
        after = list.items.last().map(|object| object.key().clone());
        let shown = conversion::shown(&call.api, &call.kind, list.items).await?;
        let left = list.remaining + page.fill(&call.kind, selection, limit, shown)?;
        if page.objects.len() == limit || left == 0 {
            page.end(left, selection);
            return Ok(page);
        }
    }
}

impl Page {
    /// Adds what is asked for until the page is full; how many objects were not looked at.
    fn fill(
        &mut self,
        kind: &Kind,
        selection: &Selection,
        limit: usize,
        objects: Vec<Arc<Object>>,
    ) -> Result<usize> {
        let mut objects = objects.into_iter();
        while self.objects.len() < limit
            && let Some(object) = objects.next()
        {
            if selection.matches(kind, &object)? {
                self.objects.push(object);
            }
        }
        Ok(objects.len())
    }

    /// Says where to go on, if something is left.
    fn end(&mut self, left: usize, selection: &Selection) {
        let Some(last) = self.objects.last().filter(|_| left > 0) else {
            return;
        };
        self.token = Some(Continue::encode(self.revision, last.key()));
        // What a selector would find in the rest is not counted.
        self.remaining = selection.is_empty().then_some(left as u64);
    }
}

/// One read of the collection: now, or as it was at the revision of the page before.
fn read(
    call: &Call,
    options: &ListOptions,
    revision: Option<u64>,
    after: Option<&Key>,
    limit: Option<usize>,
) -> Result<store::List> {
    let (store, collection, namespace) = (&call.api.store, &call.kind.collection, call.namespace());
    let exact = options.revision.filter(|_| options.exact);
    let Some(at) = revision.or(exact) else {
        return Ok(store.list(collection, namespace, after, limit));
    };
    store.list_at(at, collection, namespace, after, limit).map_err(|too_old| {
        ApiError::expired(if exact.is_some() {
            format!("The resourceVersion for the provided list is too old. ({at} < {})", too_old.oldest)
        } else {
            "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.".to_owned()
        })
    })
}

/// The metadata of a list in its own form: lists of custom resources always say where to go on.
fn object_list_metadata(kind: &Kind, page: &Page) -> Value {
    let mut metadata = list_metadata(page);
    if kind.is_custom() && page.token.is_none() {
        metadata["continue"] = "".into();
    }
    metadata
}

fn list_metadata(page: &Page) -> Value {
    let mut metadata = json!({ "resourceVersion": page.revision.to_string() });
    if let Some(token) = &page.token {
        metadata["continue"] = token.as_str().into();
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    metadata
}

/// A list as JSON, copied from the stored bytes piece by piece.
fn stream(kind: &Arc<Kind>, page: Page) -> Answer {
    let head = format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
        kind.list_kind,
        kind.api_version,
        object_list_metadata(kind, &page)
    );
    let estimate = page
        .objects
        .iter()
        .map(|object| object.json().len() + 1)
        .sum::<usize>()
        + head.len()
        + 2;
    let mut writer = ListWriter {
        kind: kind.clone(),
        objects: page.objects.into_iter(),
        has_items: false,
        is_complete: false,
    };
    let mut first = Vec::with_capacity(estimate.min(CHUNK + CHUNK / 4));
    first.extend_from_slice(head.as_bytes());
    writer.fill(&mut first);
    if writer.is_complete {
        return response::json_bytes(StatusCode::OK, first);
    }
    let rest = futures_util::stream::iter(
        std::iter::once(Bytes::from(first))
            .chain(writer)
            .map(|chunk| Ok(http_body::Frame::data(chunk))),
    );
    response::with_type(
        StatusCode::OK,
        "application/json",
        http_body_util::StreamBody::new(rest).boxed_unsync(),
    )
}

/// Writes the items of a list, a chunk at a time.
struct ListWriter {
    kind: Arc<Kind>,
    objects: std::vec::IntoIter<Arc<Object>>,
    /// Whether the next item follows another.
    has_items: bool,
    is_complete: bool,
}

impl ListWriter {
    /// Adds items up to the size of a chunk, and the end of the list after the last.
    fn fill(&mut self, chunk: &mut Vec<u8>) {
        while chunk.len() < CHUNK {
            let Some(object) = self.objects.next() else {
                chunk.extend_from_slice(b"]}");
                self.is_complete = true;
                return;
            };
            if std::mem::replace(&mut self.has_items, true) {
                chunk.push(b',');
            }
            let json = object.json();
            if self.kind.is_custom() {
                chunk.extend_from_slice(json);
            } else {
                // Items of typed lists carry no type of their own.
                chunk.push(b'{');
                chunk.extend_from_slice(&json[self.kind.prefix.len()..]);
            }
        }
    }
}

impl Iterator for ListWriter {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.is_complete {
            return None;
        }
        let mut chunk = Vec::with_capacity(CHUNK + CHUNK / 4);
        self.fill(&mut chunk);
        Some(chunk.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: &[&str]) {
        let causes = match check_options(&Query::parse(Some(query))) {
            Ok(()) => Vec::new(),
            Err(error) => error.details.unwrap()["causes"].as_array().unwrap().clone(),
        };
        let messages: Vec<_> = causes
            .iter()
            .map(|cause| cause["message"].as_str().unwrap())
            .collect();
        assert_eq!(messages, expected, "for {query}");
    }

    #[test]
    fn options_that_contradict_each_other_are_all_named() {
        let unsupported = "Unsupported value: \"Exact\": supported values: \"NotOlderThan\"";
        let required = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        check("resourceVersionMatch=Exact&resourceVersion=5", &[]);
        check(
            "watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan",
            &[],
        );
        check("watch=1&sendInitialEvents=1", &[required]);
        check(
            "watch=1&sendInitialEvents=1&resourceVersionMatch=Exact",
            &[required, unsupported],
        );
        check(
            "watch=1&resourceVersionMatch=Exact",
            &[
                "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                unsupported,
            ],
        );
        check(
            "sendInitialEvents=1&resourceVersionMatch=Exact&continue=x",
            &[
                "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
                "Forbidden: resourceVersionMatch is forbidden when continue is provided",
                "Forbidden: sendInitialEvents is forbidden for list",
            ],
        );
    }
}
