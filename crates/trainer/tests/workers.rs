//! Workers that train together, as threads that know of each other only by rank and address.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    io::Write as _,
    net::{TcpListener, TcpStream},
    path::Path,
    thread,
    time::Duration,
};

use trainer::{Course, Event, PeerError, Place, TrainError, train};

fn course() -> Course {
    Course {
        steps: 120,
        batch: 60,
        report_every: 40,
        exam: 500,
        target: None,
        checkpoints: None,
        exports: None,
        patience: Duration::from_secs(30),
    }
}

fn place(rank: usize, world: usize, port: u16) -> Place {
    Place {
        rank,
        world,
        host: "127.0.0.1".to_owned(),
        port,
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn work(course: &Course, place: &Place) -> (Vec<Event>, Result<(), TrainError>) {
    let mut events = Vec::new();
    let result = train(course, place, &mut |event| events.push(event));
    (events, result)
}

fn accuracy(events: &[Event]) -> f64 {
    let accuracy = events.iter().find_map(|event| match event {
        Event::Examined { accuracy, .. } => Some(*accuracy),
        _ => None,
    });
    accuracy.expect("there was an exam")
}

fn together(course: &Course, world: usize) -> Vec<(Vec<Event>, Result<(), TrainError>)> {
    let port = free_port();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..world)
            .map(|rank| scope.spawn(move || work(course, &place(rank, world, port))))
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

#[test]
fn one_worker_learns_to_read() {
    let (events, result) = work(&course(), &place(0, 1, 0));
    result.unwrap();
    assert!(accuracy(&events) > 0.85, "{events:?}");
}

#[test]
fn four_workers_learn_as_one_does() {
    let alone = accuracy(&work(&course(), &place(0, 1, 0)).0);
    for (events, result) in together(&course(), 4) {
        result.unwrap();
        assert!(
            (accuracy(&events) - alone).abs() < 0.02,
            "{events:?} beside {alone}"
        );
    }
}

#[test]
fn a_training_goes_on_from_its_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let whole = accuracy(&work(&course(), &place(0, 1, 0)).0);
    let with = |steps, path: &Path| Course {
        steps,
        checkpoints: Some(path.to_owned()),
        ..course()
    };
    work(&with(80, directory.path()), &place(0, 1, 0)).1.unwrap();
    // Only rank 0 has the directory's content; the other gets it from there.
    for (events, result) in together(&with(120, directory.path()), 2) {
        result.unwrap();
        assert!(events.contains(&Event::Resumed { step: 80 }), "{events:?}");
        assert!(
            (accuracy(&events) - whole).abs() < 0.02,
            "{events:?} beside {whole}"
        );
    }
}

#[test]
fn a_target_that_is_not_reached_is_a_failure() {
    let strict = Course {
        steps: 1,
        target: Some(0.99),
        ..course()
    };
    let error = work(&strict, &place(0, 1, 0)).1.unwrap_err();
    assert!(matches!(error, TrainError::BelowTarget { .. }), "{error}");
}

#[test]
fn strangers_at_the_door_do_not_disturb() {
    let port = free_port();
    let course = course();
    thread::scope(|scope| {
        let first = scope.spawn(|| work(&course, &place(0, 2, port)));
        let mut stranger = loop {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                break stream;
            }
        };
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let second = scope.spawn(|| work(&course, &place(1, 2, port)));
        first.join().unwrap().1.unwrap();
        second.join().unwrap().1.unwrap();
    });
}

#[test]
fn a_worker_of_another_job_is_told_why_it_is_refused() {
    let port = free_port();
    let course = Course { steps: 2, ..course() };
    thread::scope(|scope| {
        let first = scope.spawn(|| work(&course, &place(0, 2, port)));
        let error = work(&course, &place(1, 3, port)).1.unwrap_err();
        assert_eq!(
            error.to_string(),
            "rank 0 refuses this worker: rank 0 was told of 2 workers, this one of 3"
        );
        work(&course, &place(1, 2, port)).1.unwrap();
        first.join().unwrap().1.unwrap();
    });
}

#[test]
fn who_never_came_is_named() {
    let impatient = Course {
        patience: Duration::from_millis(50),
        ..course()
    };
    let error = work(&impatient, &place(0, 3, free_port())).1.unwrap_err();
    let TrainError::Peer(PeerError::Missing { rank, missing, world }) = error else {
        panic!("{error}")
    };
    assert_eq!((rank, missing, world), (1, 2, 3));
}
