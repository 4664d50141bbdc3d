//! The parameters of operations: which query parameters each takes, and how a document lists them.

use serde_json::{Value, json};

use super::Dialect;

/// A parameter of a path or a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    name: &'static str,
    ty: &'static str,
    is_in_path: bool,
}

pub(super) const NAME: Parameter = in_path("name");
pub(super) const NAMESPACE: Parameter = in_path("namespace");
pub(super) const PATH: Parameter = in_path("path");
pub(super) const PRETTY: Parameter = string("pretty");

pub(super) const GET: &[Parameter] = &[string("resourceVersion")];

pub(super) const LIST: &[Parameter] = &[
    boolean("allowWatchBookmarks"),
    string("continue"),
    string("fieldSelector"),
    string("labelSelector"),
    integer("limit"),
    string("resourceVersion"),
    string("resourceVersionMatch"),
    boolean("sendInitialEvents"),
    integer("timeoutSeconds"),
    boolean("watch"),
];

/// Of creations and updates.
pub(super) const WRITE: &[Parameter] = &[
    string("dryRun"),
    string("fieldManager"),
    string("fieldValidation"),
];

pub(super) const PATCH: &[Parameter] = &[
    string("dryRun"),
    string("fieldManager"),
    string("fieldValidation"),
    boolean("force"),
];

pub(super) const DELETE: &[Parameter] = &[
    string("dryRun"),
    integer("gracePeriodSeconds"),
    boolean("ignoreStoreReadErrorWithClusterBreakingPotential"),
    boolean("orphanDependents"),
    string("propagationPolicy"),
];

pub(super) const DELETE_COLLECTION: &[Parameter] = &[
    string("continue"),
    string("dryRun"),
    string("fieldSelector"),
    integer("gracePeriodSeconds"),
    boolean("ignoreStoreReadErrorWithClusterBreakingPotential"),
    string("labelSelector"),
    integer("limit"),
    boolean("orphanDependents"),
    string("propagationPolicy"),
    string("resourceVersion"),
    string("resourceVersionMatch"),
    boolean("sendInitialEvents"),
    integer("timeoutSeconds"),
];

pub(super) const LOG: &[Parameter] = &[
    string("container"),
    boolean("follow"),
    boolean("insecureSkipTLSVerifyBackend"),
    integer("limitBytes"),
    boolean("previous"),
    integer("sinceSeconds"),
    string("stream"),
    integer("tailLines"),
    boolean("timestamps"),
];

const ATTACH: &[Parameter] = &[
    string("container"),
    boolean("stderr"),
    boolean("stdin"),
    boolean("stdout"),
    boolean("tty"),
];

const EXEC: &[Parameter] = &[
    string("command"),
    string("container"),
    boolean("stderr"),
    boolean("stdin"),
    boolean("stdout"),
    boolean("tty"),
];

const PORT_FORWARD: &[Parameter] = &[integer("ports")];

const PROXY: &[Parameter] = &[string("path")];

/// The query of a connection, which is described by a kind of its own.
pub(super) fn of_connection(kind: &str) -> &'static [Parameter] {
    match kind {
        "PodAttachOptions" => ATTACH,
        "PodExecOptions" => EXEC,
        "PodPortForwardOptions" => PORT_FORWARD,
        "NodeProxyOptions" | "PodProxyOptions" | "ServiceProxyOptions" => PROXY,
        _ => &[],
    }
}

impl Parameter {
    /// `kind` is whose name a name is.
    pub(super) fn to_value(self, kind: &str, dialect: Dialect) -> Value {
        let place = if self.is_in_path { "path" } else { "query" };
        let mut parameter = match dialect {
            Dialect::V2 => {
                json!({"name": self.name, "in": place, "type": self.ty, "uniqueItems": true})
            }
            Dialect::V3 => {
                json!({"name": self.name, "in": place, "schema": {"type": self.ty, "uniqueItems": true}})
            }
        };
        if self.is_in_path {
            parameter["required"] = json!(true);
        }
        if self.name == "name" {
            parameter["description"] = json!(format!("name of the {kind}"));
        }
        parameter
    }
}

const fn in_path(name: &'static str) -> Parameter {
    Parameter {
        name,
        ty: "string",
        is_in_path: true,
    }
}

const fn in_query(name: &'static str, ty: &'static str) -> Parameter {
    Parameter {
        name,
        ty,
        is_in_path: false,
    }
}

const fn string(name: &'static str) -> Parameter {
    in_query(name, "string")
}

const fn integer(name: &'static str) -> Parameter {
    in_query(name, "integer")
}

const fn boolean(name: &'static str) -> Parameter {
    in_query(name, "boolean")
}
