//! The receivers of a task's callbacks: what of them is secret is taken out of the values before anybody sees
//! them.

use resources::tasks::names::{headers_key, labels, url_key};
use serde_json::{Map, Value, json};

use crate::problem::Mistake;

/// So many receivers a task may have.
const MOST: usize = 16;
/// Headers that a receiver may not set: they say how the body is sent and what it is.
const OURS: [&str; 6] = [
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "connection",
    "user-agent",
];

/// Values without secrets, and the secrets by the keys they are kept under.
pub(super) struct Parted {
    pub(super) values: Value,
    pub(super) headers: Vec<(String, String)>,
}

/// Takes the headers of receivers out of values.
pub(super) fn part(mut values: Value) -> Result<Parted, Vec<Mistake>> {
    let (mut headers, mut mistakes, mut receivers) = (Vec::new(), Vec::new(), 0);
    let endpoints = values.get_mut("endpoints").and_then(Value::as_array_mut);
    for (number, endpoint) in endpoints.into_iter().flatten().enumerate() {
        let place = format!("/endpoints/{number}");
        let is_receiver = endpoint["type"] == "event";
        if is_receiver {
            receivers += 1;
            mistakes.extend(check_address(&endpoint["endpoint"], &place));
        }
        let address = endpoint["endpoint"].as_str().unwrap_or_default().to_owned();
        let Some(endpoint) = endpoint.as_object_mut() else {
            continue;
        };
        let Some(given) = endpoint.remove("headers") else {
            continue;
        };
        match check_headers(&given, &place) {
            Err(wrong) => mistakes.extend(wrong),
            // Those of anything else are nobody's, and might be secrets all the same.
            Ok(given) if is_receiver && !given.is_empty() => {
                headers.push((headers_key(number), json!(given).to_string()));
                headers.push((url_key(number), address));
            }
            Ok(_) => {}
        }
    }
    if receivers > MOST {
        mistakes.push(Mistake::new(
            "/endpoints",
            format!("has {receivers} receivers; {MOST} is the most"),
        ));
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    Ok(Parted { values, headers })
}

fn check_address(address: &Value, place: &str) -> Option<Mistake> {
    let place = format!("{place}/endpoint");
    let Some(address) = address.as_str() else {
        return Some(Mistake::new(
            place,
            "is no text; the address of a receiver is meant",
        ));
    };
    let uri: Result<http::Uri, _> = address.parse();
    let is_right = uri.is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri
                .authority()
                .is_some_and(|authority| !authority.as_str().contains('@'))
    });
    (!is_right).then(|| {
        Mistake::new(
            place,
            "is no address of a receiver: `http://…` or `https://…`, without a password; secrets go into `headers`",
        )
    })
}

fn check_headers(given: &Value, place: &str) -> Result<Map<String, Value>, Vec<Mistake>> {
    let place = format!("{place}/headers");
    if given.is_null() {
        return Ok(Map::new());
    }
    let Some(given) = given.as_object() else {
        return Err(vec![Mistake::new(place, "is no object of names and values")]);
    };
    let mut mistakes = Vec::new();
    for (name, value) in given {
        let at = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
        if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            mistakes.push(Mistake::new(at, "is no name of a header"));
        } else if OURS.contains(&name.to_ascii_lowercase().as_str())
            || name.to_ascii_lowercase().starts_with("webhook-")
        {
            mistakes.push(Mistake::new(at, "is a header that the service sets itself"));
        } else if value
            .as_str()
            .is_none_or(|text| http::HeaderValue::from_str(text).is_err())
        {
            mistakes.push(Mistake::new(at, "is no value of a header: one line of text"));
        }
    }
    if mistakes.is_empty() {
        Ok(given.clone())
    } else {
        Err(mistakes)
    }
}

/// The Secret of a task's callbacks.
pub(super) fn secret(name: &str, namespace: &str, task: &str, headers: &[(String, String)]) -> Value {
    let data: Map<String, Value> = headers
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {labels::TASK: task},
        },
        "type": "trainyard.dev/callbacks",
        "stringData": data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(endpoints: Value) -> Value {
        json!({"taskDef": "m", "endpoints": endpoints})
    }

    #[test]
    fn headers_leave_the_values_and_are_kept_by_place() {
        let parted = part(values(json!([
            {"endpoint": "s3://bucket/data", "type": "dataset", "headers": {"x": "lost"}},
            {"endpoint": "https://there/callback", "type": "event", "headers": {"x-api-key": "k3y"}},
        ])))
        .ok()
        .unwrap();
        assert!(!parted.values.to_string().contains("k3y"));
        assert!(!parted.values.to_string().contains("lost"));
        assert_eq!(
            parted.headers,
            [
                (headers_key(1), r#"{"x-api-key":"k3y"}"#.to_owned()),
                (url_key(1), "https://there/callback".to_owned()),
            ]
        );
    }

    #[test]
    fn receivers_that_are_none_are_told_with_their_place() {
        for (endpoint, place) in [
            (
                json!({"type": "event", "endpoint": "file:///etc/passwd"}),
                "/endpoints/0/endpoint",
            ),
            (
                json!({"type": "event", "endpoint": "http://user:pass@there/"}),
                "/endpoints/0/endpoint",
            ),
            (json!({"type": "event"}), "/endpoints/0/endpoint"),
            (
                json!({"type": "event", "endpoint": "http://a", "headers": {"a\nb": "c"}}),
                "/endpoints/0/headers/a\nb",
            ),
            (
                json!({"type": "event", "endpoint": "http://a", "headers": {"x": "a\r\nb: c"}}),
                "/endpoints/0/headers/x",
            ),
            (
                json!({"type": "event", "endpoint": "http://a", "headers": {"Webhook-Signature": "v1,x"}}),
                "/endpoints/0/headers/Webhook-Signature",
            ),
            (
                json!({"type": "event", "endpoint": "http://a", "headers": "x"}),
                "/endpoints/0/headers",
            ),
        ] {
            let mistakes = part(values(json!([endpoint]))).err().unwrap();
            assert_eq!(mistakes[0].pointer, place);
        }
    }

    #[test]
    fn values_without_receivers_stay_as_they_are() {
        for endpoints in [json!(null), json!("x"), json!([]), json!([1, "a"])] {
            let given = values(endpoints);
            let parted = part(given.clone()).ok().unwrap();
            assert_eq!((parted.values, parted.headers.len()), (given, 0));
        }
    }
}
