//! The client that measures, against the server in this process.

use std::time::Duration;

use serving::bench::{self, BenchError, Endpoint, Report, Rows, Settings};

use crate::{models, start};

/// Five rows, four of which the model gets right.
const TABLE: &str = "0,1.0,0.5\n1,0.1,0.9\n1,0.2,0.3\n0,0.8,0.1\n1,0.9,0.1\n";

fn plain(address: &str) -> Endpoint {
    Endpoint {
        address: address.to_owned(),
        is_encrypted: false,
    }
}

fn settings(address: String) -> Settings {
    Settings {
        servers: vec![plain(&address)],
        tls: None,
        model: "model".to_owned(),
        signature: "predict".to_owned(),
        output: None,
        columns: None,
        batch: 1,
        iterations: 5,
        warm_up: 1,
        concurrency: 1,
        rate: None,
        timeout: Duration::from_secs(10),
        retries: 2,
    }
}

async fn measure(table: &'static str, settings: Settings) -> Result<Report, BenchError> {
    bench::run(settings, Box::new(Rows::new(table.as_bytes())), |_| {}).await
}

#[tokio::test]
async fn a_run_is_measured() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::larger());
    let server = start(base.path()).await;
    let address = server.addresses()[0].to_string();
    let report = measure(TABLE, settings(address.clone())).await.unwrap();
    let summary = report.summary;
    assert_eq!(
        (
            summary.iterations,
            summary.measured,
            summary.rows,
            summary.correct
        ),
        (5, 4, 5, 4)
    );
    assert!(!report.ran_out && report.failure.is_none() && summary.latency.is_some());
    // Fewer rows than were asked for, and a short last batch.
    let more = Settings {
        batch: 2,
        iterations: 40,
        concurrency: 3,
        ..settings(address.clone())
    };
    let report = measure(TABLE, more).await.unwrap();
    assert_eq!(
        (report.summary.iterations, report.summary.rows, report.ran_out),
        (3, 5, true)
    );
    // Nothing after the warm-up.
    let warm = Settings {
        warm_up: 5,
        ..settings(address.clone())
    };
    let report = measure(TABLE, warm).await.unwrap();
    assert_eq!((report.summary.measured, report.summary.correct), (0, 4));
    assert_eq!(report.summary.latency, None);
    // At a rate, it takes its time.
    let paced = Settings {
        rate: Some(100.0),
        warm_up: 0,
        ..settings(address)
    };
    let report = measure(TABLE, paced).await.unwrap();
    assert!(report.summary.requests_per_second.unwrap() < 126.0, "{report:?}");
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_measured_is_told() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::larger());
    let server = start(base.path()).await;
    let address = server.addresses()[0].to_string();
    let here = || settings(address.clone());
    for (table, settings, words) in [
        ("", here(), "the data has no rows"),
        (
            "0,1,2\n1,2\n",
            here(),
            "line 2 of the data has 2 cells, not 3 as the first",
        ),
        (
            "clicked,a,b\n",
            here(),
            "line 1 of the data: the label is \"clicked\", not a whole number",
        ),
        ("0,1,x\n", here(), "`x` is \"x\", not a number"),
        ("0,1\n", here(), "the data is not for the signature `predict`"),
        (
            TABLE,
            Settings {
                model: "other".to_owned(),
                ..here()
            },
            "refuses: there is no model `other` here",
        ),
        (
            TABLE,
            Settings {
                signature: "x".to_owned(),
                ..here()
            },
            "has no signature `x`; it has `predict`",
        ),
        (
            TABLE,
            Settings {
                servers: vec![plain("127.0.0.1:1")],
                ..here()
            },
            "127.0.0.1:1 does not answer",
        ),
    ] {
        let told = measure(table, settings).await.unwrap_err().to_string();
        assert!(told.contains(words), "{told}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    // It takes connections and says nothing.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = settings(silent.local_addr().unwrap().to_string());
    settings.timeout = Duration::from_millis(100);
    let told = measure(TABLE, settings).await.unwrap_err();
    let BenchError::Server { cause, .. } = told else {
        panic!("{told:?}")
    };
    assert!(cause.message.contains("did not answer within 100 ms"), "{cause}");
}

#[tokio::test]
async fn requests_go_to_the_servers_that_are_there() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::larger());
    let server = start(base.path()).await;
    let mut settings = settings(String::new());
    settings.servers = vec![plain("127.0.0.1:1"), plain(&server.addresses()[0].to_string())];
    let report = measure(TABLE, settings).await.unwrap();
    assert_eq!((report.summary.iterations, report.failure), (5, None));
    assert!(report.summary.retries > 0);
    server.stop().await;
}
