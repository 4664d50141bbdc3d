//! Endless updates must not make the file or the process grow:
//! `cargo run --release --example endurance [directory] [updates]`.

#![expect(clippy::print_stdout, reason = "a measurement is there to print")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use store::{Body, Collection, Key, Options, Store};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const KEYS: usize = 5_000;
const WRITERS: usize = 50;
const REPORTS: usize = 10;

#[tokio::main(worker_threads = 2)]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let updates: usize = arguments
        .next()
        .map_or(Ok(1_000_000), |updates| updates.parse())?;
    let path = directory.join(format!("endurance-{}.db", std::process::id()));
    let result = run(&path, updates).await;
    std::fs::remove_file(&path)?;
    result
}

async fn run(path: &Path, updates: usize) -> Outcome {
    let store = Store::open(path, Options::default())?;
    let started = Instant::now();
    for report in 0..REPORTS {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| tokio::spawn(update(store.clone(), writer, updates / REPORTS / WRITERS)))
            .collect();
        for writer in writers {
            writer.await??;
        }
        let file = std::fs::metadata(path)?.len() / 1024;
        println!(
            "{} updates after {:?}: file {file} KB, resident {}",
            (report + 1) * updates / REPORTS,
            started.elapsed(),
            resident()
        );
    }
    store.close().await;
    let reopening = Instant::now();
    let store = Store::open(path, Options::default())?;
    println!(
        "reopened at revision {} in {:?}",
        store.revision(),
        reopening.elapsed()
    );
    store.close().await;
    Ok(())
}

/// Updates this writer's share of the keys round and round.
async fn update(store: Store, writer: usize, updates: usize) -> Outcome {
    let collection = Collection::new("", "pods");
    for number in 0..updates {
        let name = format!("pod-{}", writer + WRITERS * (number % (KEYS / WRITERS)));
        let key = Key::new("default", &name);
        match store.get(&collection, "default", &name) {
            Some(current) => {
                store
                    .update(&collection, key, current.revision(), body(number))
                    .await?
            }
            None => store.create(&collection, key, body(number)).await?,
        };
    }
    Ok(())
}

fn body(number: usize) -> Body {
    let before = r#"{"metadata":{"resourceVersion":""#;
    let json = format!(r#"{before}"}},"spec":"{number:01950}"}}"#);
    Body::new(json.into_bytes(), before.len())
}

fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or("?")
        .trim()
        .to_owned()
}
