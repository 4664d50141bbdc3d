use std::{collections::BTreeMap, net::Ipv4Addr};

use super::*;
use crate::table::{Endpoint, Service, Table};

fn names(endpoints: u8) -> Names {
    let endpoint = |last: u8| Endpoint {
        address: Ipv4Addr::new(10, 244, 0, last),
        host: false,
        ready: true,
        hostname: Some(format!("w-{last}")),
        ports: BTreeMap::new(),
    };
    let job = Service {
        namespace: "ns".to_owned(),
        name: "job".to_owned(),
        endpoints: (2..2 + endpoints).map(endpoint).collect(),
        ..Service::default()
    };
    let alias = |name: &str, other: &str| Service {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        external_name: Some(other.to_owned()),
        ..Service::default()
    };
    let services = vec![
        job,
        alias("inside", "job.ns.svc.cluster.local"),
        alias("outside", "example.com"),
    ];
    let table = Table {
        number: 1,
        services,
        ..Table::default()
    };
    Names::new(&table, "cluster.local", &[])
}

fn query(name: &str, kind: RecordType, payload: Option<u16>) -> Vec<u8> {
    let mut message = Message::query();
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    if let Some(payload) = payload {
        let mut edns = Edns::new();
        edns.set_max_payload(payload);
        message.set_edns(edns);
    }
    message.to_vec().unwrap()
}

fn answered(names: &Names, query: &[u8], tcp: bool) -> Message {
    match answer(names, query, tcp) {
        Some(Answer::Done(bytes)) => Message::from_vec(&bytes).unwrap(),
        Some(Answer::Elsewhere(_)) => panic!("not of the cluster"),
        Some(Answer::Alias { .. }) => panic!("an alias"),
        None => panic!("no answer"),
    }
}

#[test]
fn an_answer_repeats_the_question_and_its_number() {
    let query = query("W-2.job.ns.svc.cluster.local.", RecordType::A, None);
    let message = answered(&names(1), &query, false);
    assert_eq!(
        message.metadata.id,
        Message::from_vec(&query).unwrap().metadata.id
    );
    assert_eq!(message.queries, Message::from_vec(&query).unwrap().queries);
    assert!(message.metadata.authoritative && message.metadata.recursion_available);
    assert_eq!(message.answers[0].data, RData::A(A(Ipv4Addr::new(10, 244, 0, 2))));
    assert_eq!(message.answers[0].ttl, 5);
}

#[test]
fn there_are_no_addresses_of_the_sixth_version_but_the_name_exists() {
    let message = answered(
        &names(1),
        &query("job.ns.svc.cluster.local.", RecordType::AAAA, None),
        false,
    );
    assert_eq!(message.metadata.response_code, ResponseCode::NoError);
    assert!(message.answers.is_empty());
    assert_eq!(message.authorities.len(), 1);
}

#[test]
fn a_name_that_is_not_there_is_denied_with_authority() {
    let query = query("example.com.ns.svc.cluster.local.", RecordType::A, None);
    let message = answered(&names(1), &query, false);
    assert_eq!(message.metadata.response_code, ResponseCode::NXDomain);
    assert_eq!(message.authorities.len(), 1);
}

#[test]
fn what_does_not_fit_is_cut_and_said_so() {
    let names = names(100);
    let name = "job.ns.svc.cluster.local.";
    for (payload, tcp, limit, cut) in [
        (None, false, 512, true),
        (Some(1232), false, 1232, true),
        (Some(4096), false, 4096, false),
        (None, true, 65_535, false),
    ] {
        let query = query(name, RecordType::A, payload);
        let Some(Answer::Done(bytes)) = answer(&names, &query, tcp) else {
            panic!("no answer")
        };
        assert!(bytes.len() <= limit);
        let message = Message::from_vec(&bytes).unwrap();
        assert_eq!(message.metadata.truncation, cut, "{payload:?} {tcp}");
        assert!(message.answers.len() > 25);
        assert_eq!(message.answers.len() == 100, !cut);
    }
}

#[test]
fn an_alias_inside_the_cluster_is_followed() {
    let message = answered(
        &names(2),
        &query("inside.ns.svc.cluster.local.", RecordType::A, None),
        false,
    );
    assert_eq!(message.answers.len(), 3);
    assert_eq!(message.answers[0].record_type(), RecordType::CNAME);
}

#[test]
fn an_alias_to_outside_says_what_to_ask() {
    let query = query("outside.ns.svc.cluster.local.", RecordType::A, None);
    let Some(Answer::Alias { query, partial }) = answer(&names(1), &query, false) else {
        panic!("no alias")
    };
    let asked = Message::from_vec(&query).unwrap();
    assert_eq!(asked.queries[0].name.to_ascii(), "example.com.");
    assert!(asked.metadata.recursion_desired);
    assert_eq!(partial.answers.len(), 1);
}

#[test]
fn other_names_are_for_others() {
    let query = query("example.com.", RecordType::A, None);
    assert!(matches!(
        answer(&names(1), &query, false),
        Some(Answer::Elsewhere(_))
    ));
}

#[test]
fn what_is_no_query_is_not_answered() {
    assert!(answer(&names(1), b"nonsense", false).is_none());
    let reply = Message::response(1, OpCode::Query).to_vec().unwrap();
    assert!(answer(&names(1), &reply, false).is_none());
}
