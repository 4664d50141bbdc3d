//! NetworkPolicy: which peers may talk to the selected pods, and over which ports.

use serde_json::{Value, json};

use super::{
    field::{Errors, Field},
    syntax,
};
use crate::{
    addresses::{self, Cidr},
    label_selector, read,
    strategy::Strategy,
};

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    validate,
    validate_update: |policy, _, errors| validate(policy, errors),
    warnings_on_create: warnings,
    warnings_on_update: |policy, _| warnings(policy),
    ..Strategy::NONE
};

/// The two directions, and what each calls its peers.
const DIRECTIONS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

fn default(policy: &mut Value) {
    let spec = super::spec_mut(policy);
    if read::list(spec, "policyTypes").is_empty() {
        let has_egress = !read::list(spec, "egress").is_empty();
        spec["policyTypes"] = if has_egress {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
    }
    for (direction, _) in DIRECTIONS {
        for rule in read::list_mut(spec, direction) {
            for port in read::list_mut(rule, "ports") {
                read::default(port, "protocol", "TCP");
            }
        }
    }
}

fn validate(policy: &Value, errors: &mut Errors) {
    let root = Field::root(policy);
    let spec = root.child("spec");
    let selector = spec.child("podSelector");
    label_selector::validate(selector.value, &selector.path(), errors);
    for (direction, peers) in DIRECTIONS {
        for rule in spec.child(direction).items() {
            for port in rule.child("ports").items() {
                validate_port(&port, errors);
            }
            for peer in rule.child(peers).items() {
                validate_peer(&peer, errors);
            }
        }
    }
    let types = spec.child("policyTypes");
    if types.list().len() > 2 {
        types.invalid("may not specify more than two policyTypes", errors);
        return;
    }
    for kind in types.items() {
        kind.one_of(&["Ingress", "Egress"], errors);
    }
}

fn validate_port(rule: &Field<'_>, errors: &mut Errors) {
    rule.child("protocol")
        .optional_one_of(&["TCP", "UDP", "SCTP"], errors);
    let (port, end) = (rule.child("port"), rule.child("endPort"));
    match port.value {
        Value::Null if end.is_set() => {
            end.invalid("may not be specified when `port` is not specified", errors);
        }
        Value::Null => {}
        Value::String(_) => {
            if end.is_set() {
                end.invalid("may not be specified when `port` is non-numeric", errors);
            }
            port.syntax(syntax::port_name, errors);
        }
        _ => {
            port.port_number(errors);
            if end.is_set() {
                if end.int() < port.int() {
                    end.invalid_as(
                        port.value.clone(),
                        "must be greater than or equal to `port`",
                        errors,
                    );
                }
                end.port_number(errors);
            }
        }
    }
}

fn validate_peer(peer: &Field<'_>, errors: &mut Errors) {
    let mut selectors = 0;
    for name in ["podSelector", "namespaceSelector"] {
        let selector = peer.child(name);
        if selector.is_set() {
            selectors += 1;
            label_selector::validate(selector.value, &selector.path(), errors);
        }
    }
    let block = peer.child("ipBlock");
    if block.is_set() {
        validate_ip_block(&block, errors);
    }
    match (selectors, block.is_set()) {
        (0, false) => peer.required_because("must specify a peer", errors),
        (1.., true) => peer.forbidden("may not specify both ipBlock and another peer", errors),
        _ => {}
    }
}

fn validate_ip_block(block: &Field<'_>, errors: &mut Errors) {
    let cidr = block.child("cidr");
    if !cidr.require(errors) || !addresses::validate_cidr(cidr.text(), &cidr.path(), errors) {
        return;
    }
    let Some(network) = Cidr::parse(cidr.text()) else {
        return;
    };
    for except in block.child("except").items() {
        let Some(hole) = Cidr::parse(except.text()) else {
            addresses::validate_cidr(except.text(), &except.path(), errors);
            continue;
        };
        if !network.contains(hole.masked().address) || network.prefix >= hole.prefix {
            except.invalid("must be a strict subset of `cidr`", errors);
        }
    }
}

fn warnings(policy: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    for (direction, peers) in DIRECTIONS {
        for rule in Field::root(policy).child("spec").child(direction).items() {
            for peer in rule.child(peers).items() {
                let cidr = peer.child("ipBlock.cidr");
                if cidr.is_set() {
                    warnings.extend(addresses::cidr_warnings(cidr.text(), &cidr.path()));
                }
                for except in peer.child("ipBlock.except").items() {
                    warnings.extend(addresses::cidr_warnings(except.text(), &except.path()));
                }
            }
        }
    }
    warnings
}
