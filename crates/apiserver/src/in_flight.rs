//! How many requests are worked on at once. Beyond that clients are asked to come back: a flood costs
//! its sender time, and nobody else.

use std::{collections::HashMap, sync::Arc};

use http::{HeaderValue, StatusCode, header};
use parking_lot::Mutex;

use crate::{
    authentication::User,
    limits::Limits,
    request_info::RequestInfo,
    response::{self, Answer},
};

pub(crate) struct InFlight {
    reads: Arc<Pool>,
    writes: Arc<Pool>,
    /// The cluster's masters have places of their own, so that they get an answer when others do not.
    masters_reads: Arc<Pool>,
    masters_writes: Arc<Pool>,
}

/// Places for requests that are worked on, and for answers that are not taken yet.
struct Pool {
    places: usize,
    /// No user takes more than these, so that there is always something left for others.
    places_each: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_user: HashMap<String, usize>,
}

/// The right to work on a request, given back when it is dropped.
pub(crate) struct Slot {
    pool: Arc<Pool>,
    user: String,
}

/// There is no place left for the user.
#[derive(Debug)]
pub(crate) struct Full;

impl InFlight {
    pub(crate) fn new(limits: &Limits) -> Self {
        let shared = |places: usize| Pool::new(places, places.div_ceil(2));
        let masters = |places: usize| Pool::new(places, places);
        Self {
            reads: shared(limits.reads),
            writes: shared(limits.writes),
            masters_reads: masters(limits.reads),
            masters_writes: masters(limits.writes),
        }
    }

    /// A slot for a request, unless all are taken. Streams and health checks need none.
    pub(crate) fn enter(&self, user: &User, info: &RequestInfo) -> Result<Option<Slot>, Full> {
        if info.is_long_running() || info.is_health_check() {
            return Ok(None);
        }
        let pool = match (user.is_master(), info.is_write()) {
            (false, false) => &self.reads,
            (false, true) => &self.writes,
            (true, false) => &self.masters_reads,
            (true, true) => &self.masters_writes,
        };
        pool.take(&user.name).map(Some)
    }
}

impl Pool {
    fn new(places: usize, places_each: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            places_each,
            taken: Mutex::default(),
        })
    }

    fn take(self: &Arc<Self>, user: &str) -> Result<Slot, Full> {
        let mut taken = self.taken.lock();
        let by_user = taken.by_user.get(user).copied().unwrap_or_default();
        if taken.all >= self.places || by_user >= self.places_each {
            return Err(Full);
        }
        taken.all += 1;
        taken.by_user.insert(user.to_owned(), by_user + 1);
        Ok(Slot {
            pool: self.clone(),
            user: user.to_owned(),
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.pool.taken.lock();
        taken.all -= 1;
        if let Some(by_user) = taken.by_user.get_mut(&self.user) {
            *by_user -= 1;
            if *by_user == 0 {
                taken.by_user.remove(&self.user);
            }
        }
    }
}

/// What the real server says: plain text, which clients judge by its code.
pub(crate) fn too_many_requests() -> Answer {
    let mut answer = response::text(
        StatusCode::TOO_MANY_REQUESTS,
        "Too many requests, please try again later.\n",
    );
    let headers = answer.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    answer
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    const PODS: &str = "/api/v1/pods";

    fn in_flight(reads: usize, writes: usize) -> InFlight {
        InFlight::new(&Limits {
            reads,
            writes,
            ..Limits::default()
        })
    }

    fn read(path: &str) -> RequestInfo {
        RequestInfo::read(&Method::GET, path, false)
    }

    #[test]
    fn each_kind_of_request_has_its_own_limit_and_streams_have_none() {
        let (in_flight, user) = (in_flight(1, 1), User::new("ada", &[]));
        let write = |method: Method| RequestInfo::read(&method, PODS, false);
        let reading = in_flight.enter(&user, &read(PODS)).unwrap();
        assert!(in_flight.enter(&user, &read("/version")).is_err());
        let _writing = in_flight.enter(&user, &write(Method::DELETE)).unwrap();
        assert!(in_flight.enter(&user, &write(Method::POST)).is_err());
        let watch = RequestInfo::read(&Method::GET, PODS, true);
        assert!(in_flight.enter(&user, &watch).is_ok());
        assert!(in_flight.enter(&user, &read("/readyz")).is_ok());
        drop(reading);
        assert!(in_flight.enter(&user, &read(PODS)).is_ok());
    }

    #[test]
    fn nobody_takes_all_places_and_masters_have_their_own() {
        let in_flight = in_flight(4, 1);
        let enter = |user: &User| in_flight.enter(user, &read(PODS));
        let (ada, bob) = (User::new("ada", &[]), User::new("bob", &[]));
        let (_one, two) = (enter(&ada).unwrap(), enter(&ada).unwrap());
        assert!(enter(&ada).is_err());
        let _others = (enter(&bob).unwrap(), enter(&bob).unwrap());
        drop(two);
        let _again = enter(&ada).unwrap();
        assert!(enter(&User::new("eve", &[])).is_err());
        let masters: Vec<_> = (0..4).map(|_| enter(&User::admin()).unwrap()).collect();
        assert!(enter(&User::admin()).is_err());
        drop(masters);
        assert!(enter(&User::admin()).is_ok());
    }
}
