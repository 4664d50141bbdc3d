//! What a probe or hook asks, with names resolved. Pure.

use k8s_openapi::{
    api::core::v1::{Container, HTTPGetAction, Probe},
    apimachinery::pkg::util::intstr::IntOrString,
};

use crate::environment::expand;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    Exec(Vec<String>),
    Http(HttpGet),
    Tcp { host: Option<String>, port: u16 },
    Grpc { port: u16, service: String },
}

/// A request; without a host it goes to the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGet {
    pub is_encrypted: bool,
    pub host: Option<String>,
    pub port: u16,
    /// With its query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub user_agent: &'static str,
}

impl Check {
    /// What a probe asks; otherwise why it cannot be asked.
    pub fn of(probe: &Probe, container: &Container) -> Result<Self, String> {
        if let Some(action) = &probe.exec {
            return Ok(Self::Exec(command(action.command.as_deref(), container)));
        }
        if let Some(action) = &probe.http_get {
            return http(action, container, "kube-probe/1.34").map(Self::Http);
        }
        if let Some(action) = &probe.tcp_socket {
            return Ok(Self::Tcp {
                host: action.host.clone().filter(|host| !host.is_empty()),
                port: port(&action.port, container)?,
            });
        }
        if let Some(action) = &probe.grpc {
            return Ok(Self::Grpc {
                port: checked(i64::from(action.port))?,
                service: action.service.clone().unwrap_or_default(),
            });
        }
        Err(format!("missing probe handler for {}", container.name))
    }
}

/// The request of a `postStart` or `preStop` hook.
pub fn lifecycle_get(action: &HTTPGetAction, container: &Container) -> Result<HttpGet, String> {
    http(action, container, "kube-lifecycle/1.34")
}

fn http(action: &HTTPGetAction, container: &Container, user_agent: &'static str) -> Result<HttpGet, String> {
    let path = action.path.as_deref().unwrap_or_default();
    let headers = action.http_headers.iter().flatten();
    Ok(HttpGet {
        is_encrypted: action
            .scheme
            .as_deref()
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")),
        host: action.host.clone().filter(|host| !host.is_empty()),
        port: port(&action.port, container)?,
        path: if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        },
        headers: headers
            .map(|header| (header.name.clone(), header.value.clone()))
            .collect(),
        user_agent,
    })
}

/// Only variables with plain values are known to a probe.
fn command(command: Option<&[String]>, container: &Container) -> Vec<String> {
    let value = |name: &str| {
        let mut variables = container.env.iter().flatten();
        variables
            .find(|variable| variable.name == name && variable.value_from.is_none())
            .map(|variable| variable.value.as_deref().unwrap_or_default())
    };
    let words = command.unwrap_or_default().iter();
    words.map(|word| expand(word, value)).collect()
}

fn port(port: &IntOrString, container: &Container) -> Result<u16, String> {
    match port {
        IntOrString::Int(number) => checked(i64::from(*number)),
        IntOrString::String(name) => {
            let mut ports = container.ports.iter().flatten();
            match ports.find(|port| port.name.as_deref() == Some(name)) {
                Some(port) => checked(i64::from(port.container_port)),
                None => checked(name.parse().map_err(|_| format!("port {name} not found"))?),
            }
        }
    }
}

fn checked(number: i64) -> Result<u16, String> {
    let port = u16::try_from(number).ok().filter(|port| *port > 0);
    port.ok_or_else(|| format!("invalid port number: {number}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(probe: Value) -> Result<Check, String> {
        let container = json!({
            "name": "c", "ports": [{"name": "web", "containerPort": 8080}],
            "env": [{"name": "FILE", "value": "/tmp/x"}, {"name": "LATE", "valueFrom": {}}],
        });
        let container = serde_json::from_value(container).unwrap();
        Check::of(&serde_json::from_value(probe).unwrap(), &container)
    }

    #[test]
    fn ports_are_found_by_name_or_number() {
        let tcp = |port: Value| check(json!({"tcpSocket": {"port": port}}));
        assert_eq!(
            tcp(json!("web")).unwrap(),
            Check::Tcp {
                host: None,
                port: 8080
            }
        );
        assert_eq!(tcp(json!("81")).unwrap(), Check::Tcp { host: None, port: 81 });
        assert_eq!(tcp(json!("db")).unwrap_err(), "port db not found");
        assert_eq!(tcp(json!(70000)).unwrap_err(), "invalid port number: 70000");
    }

    #[test]
    fn commands_know_plain_variables_only() {
        let exec = check(json!({"exec": {"command": ["cat", "$(FILE)", "$(LATE)"]}})).unwrap();
        let expected = ["cat", "/tmp/x", "$(LATE)"].map(str::to_owned);
        assert_eq!(exec, Check::Exec(expected.to_vec()));
    }

    #[test]
    fn a_request_keeps_its_path_query_and_headers() {
        let probe = json!({"httpGet": {
            "path": "health?deep=1", "port": "web", "scheme": "HTTPS", "httpHeaders": [{"name": "X-A", "value": "1"}],
        }});
        let Check::Http(get) = check(probe).unwrap() else {
            panic!("not a request");
        };
        assert!(get.is_encrypted && get.host.is_none());
        assert_eq!((get.port, get.path.as_str()), (8080, "/health?deep=1"));
        assert_eq!(get.headers, [("X-A".to_owned(), "1".to_owned())]);
    }
}
