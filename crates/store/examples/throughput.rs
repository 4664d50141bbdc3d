//! How fast the store is, and what it costs: `cargo run --release --example throughput [directory]`.

#![expect(clippy::print_stdout, reason = "a benchmark is there to print")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use store::{Body, Collection, Key, Options, Store};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome {
    let directory = std::env::args()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let path = directory.join(format!("throughput-{}.db", std::process::id()));
    let bare = resident_kilobytes();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let result = runtime.block_on(measure(&path, bare));
    std::fs::remove_file(&path)?;
    result
}

async fn measure(path: &Path, bare: u64) -> Outcome {
    let with_runtime = resident_kilobytes();
    let store = Store::open(path, Options::default())?;
    let empty = resident_kilobytes();
    println!(
        "empty store: {} KB over the {with_runtime} KB of a bare process with tokio ({bare} KB before)",
        empty - with_runtime
    );

    creates(&store, "single", 1, 4_000).await?;
    creates(&store, "crowd", 16, 60_000).await?;
    println!(
        "resident: {} KB for {} objects of 2 KB",
        resident_kilobytes(),
        count(&store)
    );
    list(&store, "single");
    fan_out(&store, 50, 10_000).await?;
    store.close().await;
    drop(store);

    let started = Instant::now();
    let store = Store::open(path, Options::default())?;
    println!(
        "reopened {} objects in {:?}, file {} KB",
        count(&store),
        started.elapsed(),
        std::fs::metadata(path)?.len() / 1024
    );
    idle_watchers(&store, 10_000).await?;
    store.close().await;
    Ok(())
}

async fn creates(store: &Store, name: &str, writers: usize, total: usize) -> Outcome {
    let started = Instant::now();
    let mut tasks = Vec::new();
    for writer in 0..writers {
        let (store, collection) = (store.clone(), Collection::new("", name));
        tasks.push(tokio::spawn(async move {
            let mut latencies = Vec::with_capacity(total / writers);
            for number in 0..total / writers {
                let key = Key::new("default", &format!("{writer}-{number}"));
                let asked = Instant::now();
                store.create(&collection, key, body()).await?;
                latencies.push(asked.elapsed());
            }
            Outcome::Ok(latencies)
        }));
    }
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await??);
    }
    println!(
        "{writers} writers: {:.0} creates/s, {}",
        rate(total, started),
        quantiles(latencies)
    );
    Ok(())
}

fn list(store: &Store, name: &str) {
    let started = Instant::now();
    let list = store.list(&Collection::new("", name), None, None, None);
    println!("list of {}: {:?}", list.items.len(), started.elapsed());
}

/// Every watcher sees every create of 16 writers; latency is from the call to the event.
async fn fan_out(store: &Store, watchers: usize, total: usize) -> Outcome {
    let collection = Collection::new("", "watched");
    let started = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..watchers {
        let mut watcher = store.watch(&collection, None, store.revision())?;
        tasks.push(tokio::spawn(async move {
            let mut latencies = Vec::with_capacity(total);
            while latencies.len() < total {
                let events = watcher.next().await?;
                let seen = started.elapsed();
                latencies.extend(
                    events
                        .iter()
                        .map(|event| seen.saturating_sub(sent_at(event.key()))),
                );
            }
            Outcome::Ok(latencies)
        }));
    }
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let (store, collection) = (store.clone(), collection.clone());
            tokio::spawn(async move {
                for _ in 0..total / 16 {
                    let key = Key::new(&format!("{writer}"), &started.elapsed().as_nanos().to_string());
                    store.create(&collection, key, body()).await?;
                }
                Outcome::Ok(())
            })
        })
        .collect();
    for writer in writers {
        writer.await??;
    }
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await??);
    }
    let written = rate(total, started);
    println!(
        "{watchers} watchers, 16 writers: {written:.0} creates/s, {:.0} deliveries/s, create to seen {}",
        written * watchers as f64,
        quantiles(latencies)
    );
    Ok(())
}

/// What watchers cost that nothing happens to, and whether other writes notice them.
async fn idle_watchers(store: &Store, watchers: usize) -> Outcome {
    let before = resident_kilobytes();
    let collection = Collection::new("", "crowd");
    let mut tasks = Vec::new();
    for number in 0..watchers {
        let mut watcher = store.watch(&collection, Some(&format!("quiet-{number}")), store.revision())?;
        tasks.push(tokio::spawn(async move { watcher.next().await.is_ok() }));
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    println!("{watchers} idle watchers: {} KB", resident_kilobytes() - before);
    creates(store, "crowd-beside", 16, 16_000).await?;
    creates_in_busy_namespace(store, &collection).await?;
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(())
}

async fn creates_in_busy_namespace(store: &Store, collection: &Collection) -> Outcome {
    let started = Instant::now();
    for number in 0..2_000 {
        store
            .create(collection, Key::new("busy", &number.to_string()), body())
            .await?;
    }
    println!(
        "1 writer in the collection they watch: {:.0} creates/s",
        rate(2_000, started)
    );
    Ok(())
}

fn body() -> Body {
    let before = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":""#;
    let json = format!(r#"{before}"}},"spec":"{}"}}"#, "x".repeat(1900));
    Body::new(json.into_bytes(), before.len())
}

fn sent_at(key: &Key) -> Duration {
    Duration::from_nanos(key.name().parse().unwrap_or(0))
}

fn count(store: &Store) -> usize {
    store
        .collections()
        .iter()
        .map(|collection| store.list(collection, None, None, None).items.len())
        .sum()
}

fn rate(total: usize, started: Instant) -> f64 {
    total as f64 / started.elapsed().as_secs_f64()
}

fn quantiles(mut latencies: Vec<Duration>) -> String {
    latencies.sort_unstable();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    format!("p50 {:?}, p99 {:?}", at(0.5), at(0.99))
}

fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}
