//! Where a webhook listens and whom it has to prove to be.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use rustls::ClientConfig;
use serde_json::Value;

use super::{connection::Pool, trust};

/// The address part of a client configuration, and the trust part of it.
pub(crate) struct Endpoint {
    pub place: Place,
    /// The path of the request, beginning with a slash.
    pub path: String,
    /// How to recognise the webhook. What is wrong with its certificates shows when it is called.
    pub tls: Result<Arc<ClientConfig>, String>,
    pub(super) pool: Pool,
}

pub(crate) enum Place {
    Host {
        host: String,
        port: u16,
    },
    Service {
        namespace: String,
        name: String,
        port: u16,
    },
    /// The configuration names no place that could be called.
    Nowhere(String),
}

impl Endpoint {
    pub(crate) fn read(config: &Value) -> Self {
        let (place, path) = match config.get("service") {
            Some(service) => of_service(service),
            None => of_url(kinds::read::text(config, "url")),
        };
        Self {
            place,
            path,
            tls: trust::client_config(&bundle(config)),
            pool: Pool::default(),
        }
    }

    /// The name the certificate has to be for; also the host of the request.
    pub(super) fn server_name(&self) -> String {
        match &self.place {
            Place::Host { host, .. } => host.clone(),
            Place::Service { namespace, name, .. } => format!("{name}.{namespace}.svc"),
            Place::Nowhere(_) => String::new(),
        }
    }

    /// Host and port as a URL has them.
    pub(super) fn authority(&self) -> String {
        let host = self.server_name();
        match self.place {
            Place::Host { port, .. } | Place::Service { port, .. } if host.contains(':') => {
                format!("[{host}]:{port}")
            }
            Place::Host { port: 443, .. } | Place::Nowhere(_) => host,
            Place::Host { port, .. } | Place::Service { port, .. } => format!("{host}:{port}"),
        }
    }
}

fn bundle(config: &Value) -> Vec<u8> {
    BASE64_STANDARD
        .decode(kinds::read::text(config, "caBundle"))
        .unwrap_or_default()
}

fn of_service(service: &Value) -> (Place, String) {
    let port = kinds::read::int(service, "port")
        .and_then(|port| u16::try_from(port).ok())
        .unwrap_or(443);
    let text = |field: &str| kinds::read::text(service, field).to_owned();
    let place = Place::Service {
        namespace: text("namespace"),
        name: text("name"),
        port,
    };
    (place, rooted(&text("path")))
}

fn of_url(url: &str) -> (Place, String) {
    let Ok(uri) = url.parse::<http::Uri>() else {
        return (
            Place::Nowhere("webhook configuration must have either service or URL".to_owned()),
            rooted(""),
        );
    };
    let Some(host) = uri.host() else {
        return (Place::Nowhere(format!("{url} names no host")), rooted(""));
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let place = Place::Host {
        host,
        port: uri.port_u16().unwrap_or(443),
    };
    (place, rooted(uri.path()))
}

fn rooted(path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(config: &Value, authority: &str, server_name: &str, path: &str) {
        let endpoint = Endpoint::read(config);
        assert_eq!(
            (&*endpoint.authority(), &*endpoint.server_name(), &*endpoint.path),
            (authority, server_name, path)
        );
    }

    #[test]
    fn webhooks_are_found_by_url_or_by_service() {
        check(
            &json!({ "url": "https://hooks.example.com/a/b" }),
            "hooks.example.com",
            "hooks.example.com",
            "/a/b",
        );
        check(
            &json!({ "url": "https://127.0.0.1:8443" }),
            "127.0.0.1:8443",
            "127.0.0.1",
            "/",
        );
        check(
            &json!({ "url": "https://[::1]:8443/x" }),
            "[::1]:8443",
            "::1",
            "/x",
        );
        let service = json!({ "namespace": "ns", "name": "hook", "port": 443, "path": "/validate" });
        check(
            &json!({ "service": service }),
            "hook.ns.svc:443",
            "hook.ns.svc",
            "/validate",
        );
        let service = json!({ "namespace": "ns", "name": "hook", "port": 8443 });
        check(
            &json!({ "service": service }),
            "hook.ns.svc:8443",
            "hook.ns.svc",
            "/",
        );
    }
}
