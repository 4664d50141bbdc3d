//! From a query to its answer, in the form of messages. Pure.

use hickory_proto::{
    op::{Edns, Message, MessageType, OpCode, Query, ResponseCode},
    rr::{
        Name, RData, Record, RecordType,
        rdata::{A, CNAME, PTR, SOA, SRV},
    },
};

use crate::table::names::{Data, Found, Names};

/// Seconds for which answers may be remembered; a pod's address may change any time.
const LIFETIME: u32 = 5;
/// What every client can receive, and what we say that we can.
const SMALLEST: u16 = 512;
const OURS: u16 = 1232;
const LARGEST: u16 = 4096;

pub(crate) enum Answer {
    Done(Vec<u8>),
    /// The name is not of the cluster. The message is for when nobody can be asked.
    Elsewhere(Vec<u8>),
    /// The name stands for one elsewhere: what to ask there, and what to add the answer to.
    Alias {
        query: Vec<u8>,
        partial: Message,
    },
}

/// Nothing is answered to what is no query.
pub(crate) fn answer(names: &Names, query: &[u8], tcp: bool) -> Option<Answer> {
    let message = Message::from_vec(query).ok()?;
    if message.metadata.message_type != MessageType::Query {
        return None;
    }
    let limit = limit_of(&message, tcp);
    let mut response = response_to(&message);
    let [question] = &message.queries[..] else {
        response.metadata.response_code = ResponseCode::FormErr;
        return encode(response, limit).map(Answer::Done);
    };
    if message.metadata.op_code != OpCode::Query {
        response.metadata.response_code = ResponseCode::NotImp;
        return encode(response, limit).map(Answer::Done);
    }
    let data = match names.find(&plain(&question.name)) {
        Found::Data(data) => data,
        Found::NoSuchName => {
            response.metadata.response_code = ResponseCode::NXDomain;
            Vec::new()
        }
        Found::NotOurs => {
            response.metadata.response_code = ResponseCode::ServFail;
            return encode(response, limit).map(Answer::Elsewhere);
        }
    };
    response.metadata.authoritative = true;
    if let [Data::Alias(target)] = &data[..] {
        return alias(names, question, target, response, limit);
    }
    add(&mut response, names, question, &data);
    if response.answers.is_empty() {
        response.add_authorities(authority(names));
    }
    encode(response, limit).map(Answer::Done)
}

/// Puts what was found out about an alias's target into the answer.
pub(crate) fn complete(partial: &mut Message, found: Option<&[u8]>) {
    let found = found.and_then(|bytes| Message::from_vec(bytes).ok());
    partial.add_answers(found.into_iter().flat_map(|message| message.answers));
}

/// The message in bytes. Of answers that do not fit, as many as do, with a sign that there are more.
pub(crate) fn encode(mut message: Message, limit: usize) -> Option<Vec<u8>> {
    let fits = |bytes: &Vec<u8>| bytes.len() <= limit;
    if let Some(bytes) = message.to_vec().ok().filter(fits) {
        return Some(bytes);
    }
    message.additionals.clear();
    if let Some(bytes) = message.to_vec().ok().filter(fits) {
        return Some(bytes);
    }
    message.metadata.truncation = true;
    let all = std::mem::take(&mut message.answers);
    let mut with = |count: usize| {
        message.answers = all[..count].to_vec();
        message.to_vec().ok().filter(fits)
    };
    let counts: Vec<usize> = (1..=all.len()).collect();
    let fitting = counts.partition_point(|count| with(*count).is_some());
    with(fitting)
}

/// How long an answer to this query may be.
pub(crate) fn limit(query: &[u8], tcp: bool) -> usize {
    Message::from_vec(query).map_or(SMALLEST.into(), |message| limit_of(&message, tcp))
}

fn limit_of(message: &Message, tcp: bool) -> usize {
    match (&message.edns, tcp) {
        (_, true) => u16::MAX.into(),
        (Some(edns), false) => edns.max_payload().clamp(SMALLEST, LARGEST).into(),
        (None, false) => SMALLEST.into(),
    }
}

fn response_to(query: &Message) -> Message {
    let mut response = Message::response(query.metadata.id, query.metadata.op_code);
    response.metadata.recursion_desired = query.metadata.recursion_desired;
    response.metadata.recursion_available = true;
    response.add_queries(query.queries.iter().cloned());
    if query.edns.is_some() {
        let mut edns = Edns::new();
        edns.set_max_payload(OURS);
        response.set_edns(edns);
    }
    response
}

/// The name in lower case and without the dot at the end.
fn plain(name: &Name) -> String {
    name.to_ascii().trim_end_matches('.').to_lowercase()
}

fn full(name: &str) -> Option<Name> {
    Name::from_ascii(format!("{name}.")).ok()
}

fn add(response: &mut Message, names: &Names, question: &Query, data: &[Data]) {
    let wanted = data
        .iter()
        .filter_map(record_data)
        .filter(|data| matches(data, question.query_type));
    let mut records: Vec<Record> = wanted
        .map(|data| Record::from_rdata(question.name.clone(), LIFETIME, data))
        .collect();
    // Clients that take the first address are spread over all.
    if !records.is_empty() {
        let first = usize::from(response.metadata.id) % records.len();
        records.rotate_left(first);
    }
    for record in &records {
        if let RData::SRV(location) = &record.data {
            response.add_additionals(addresses(names, &location.target));
        }
    }
    response.add_answers(records);
}

fn addresses(names: &Names, machine: &Name) -> Vec<Record> {
    let Found::Data(data) = names.find(&plain(machine)) else {
        return Vec::new();
    };
    let addresses = data.iter().filter_map(|data| match data {
        Data::Address(address) => Some(RData::A(A(*address))),
        _ => None,
    });
    addresses
        .map(|data| Record::from_rdata(machine.clone(), LIFETIME, data))
        .collect()
}

fn matches(data: &RData, kind: RecordType) -> bool {
    kind == RecordType::ANY || data.record_type() == kind
}

fn record_data(data: &Data) -> Option<RData> {
    Some(match data {
        Data::Address(address) => RData::A(A(*address)),
        Data::Alias(other) => RData::CNAME(CNAME(full(other)?)),
        Data::Location { port, machine } => RData::SRV(SRV::new(0, 100, *port, full(machine)?)),
        Data::Pointer(name) => RData::PTR(PTR(full(name)?)),
    })
}

fn alias(
    names: &Names,
    question: &Query,
    target: &str,
    mut response: Message,
    limit: usize,
) -> Option<Answer> {
    let record = Record::from_rdata(
        question.name.clone(),
        LIFETIME,
        RData::CNAME(CNAME(full(target)?)),
    );
    response.add_answer(record);
    if question.query_type == RecordType::CNAME {
        return encode(response, limit).map(Answer::Done);
    }
    let next = Query::query(full(target)?, question.query_type);
    match names.find(target) {
        Found::NotOurs => {
            let mut query = Message::query();
            query.metadata.recursion_desired = true;
            query.add_query(next);
            Some(Answer::Alias {
                query: query.to_vec().ok()?,
                partial: response,
            })
        }
        Found::NoSuchName => encode(response, limit).map(Answer::Done),
        Found::Data(data) => {
            let mut rest = Message::response(0, OpCode::Query);
            add(&mut rest, names, &next, &data);
            response.add_answers(rest.answers);
            encode(response, limit).map(Answer::Done)
        }
    }
}

/// Who says that there is nothing, and for how long to believe it.
fn authority(names: &Names) -> Option<Record> {
    let zone = full(names.domain())?;
    let server = full(&format!("ns.dns.{}", names.domain()))?;
    let mailbox = full(&format!("hostmaster.{}", names.domain()))?;
    let soa = SOA::new(server, mailbox, 1, 7200, 1800, 86_400, LIFETIME);
    Some(Record::from_rdata(zone, LIFETIME, RData::SOA(soa)))
}

#[cfg(test)]
mod tests;
