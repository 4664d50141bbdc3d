//! Callbacks: `/v1/deliveries` and `/v1/signing-key`; and `/v1/node-groups`, which tasks wait for.

use http::Method;

use super::{
    Content::Json,
    Operation as Op, Route, parameters as p,
    row::{may, row},
};
use crate::roles::{
    Resource::{Deliveries, NodeGroups, Tasks},
    Verb::{Create, Get, List, Update},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        row(
            Op::ListDeliveries,
            "listDeliveries",
            Method::GET,
            "/v1/deliveries",
            may(List, Deliveries),
            "List callbacks, the latest first",
        )
        .with(p::namespace_or_all())
        .with(p::filter("task", "Those of this task"))
        .with(p::delivery_phase())
        .pages("DeliveryPage"),
        row(
            Op::GetDelivery,
            "getDelivery",
            Method::GET,
            "/v1/deliveries/{delivery}",
            may(Get, Deliveries),
            "Show a callback and every attempt to deliver it",
        )
        .with(p::namespace())
        .answers(200, Json("Delivery"))
        .fails(&[404]),
        row(
            Op::ReplayDelivery,
            "replayDelivery",
            Method::POST,
            "/v1/deliveries/{delivery}:replay",
            may(Update, Deliveries),
            "Deliver a callback once more",
        )
        .with(p::namespace())
        .answers(202, Json("Delivery"))
        .fails(&[404, 409, 412]),
        row(
            Op::GetSigningKey,
            "getSigningKey",
            Method::GET,
            "/v1/signing-key",
            may(Create, Tasks),
            "What receivers check the signatures of a namespace's callbacks with",
        )
        .with(p::namespace())
        .answers(200, Json("SigningKey"))
        .fails(&[404]),
        row(
            Op::ListNodeGroups,
            "listNodeGroups",
            Method::GET,
            "/v1/node-groups",
            may(List, NodeGroups),
            "List groups of nodes that tasks wait for",
        )
        .pages("NodeGroupPage"),
    ]
}
