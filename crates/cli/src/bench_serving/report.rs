//! What was measured, in words that scripts of the original client find, and as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use serving::bench::{Iteration, Report};

use super::{Arguments, endpoints};

pub(super) fn banner(arguments: &Arguments) -> String {
    format!(
        "server {}, model {}, signature {}, data {}: {} requests of {} rows, {} of them to warm up",
        servers(arguments).join(","),
        arguments.model,
        arguments.signature,
        arguments.data_file.display(),
        arguments.num_iteration,
        arguments.batch_size,
        arguments.warm_up_iteration.min(arguments.num_iteration),
    )
}

pub(super) fn line(iteration: &Iteration) -> String {
    format!(
        "Iteration {}: {:.3} sec (accuracy: {:.2}%)",
        iteration.number,
        iteration.took.as_secs_f64(),
        iteration.accuracy()
    )
}

pub(super) fn text(arguments: &Arguments, report: &Report) -> String {
    let summary = &report.summary;
    let mut lines = Vec::new();
    if report.ran_out {
        lines.push(format!(
            "The data has {} rows: {} of {} requests were sent",
            summary.rows, summary.iterations, arguments.num_iteration
        ));
    }
    match &summary.latency {
        None => lines.push("No requests after the warm-up: no latency and no throughput".to_owned()),
        Some(latency) => {
            lines.push(format!("Average time: {:.3} sec", latency.mean.as_secs_f64()));
            lines.push(format!("Batch size = {}", arguments.batch_size));
            if arguments.batch_size == 1 {
                lines.push(format!("Latency: {:.3} ms", milliseconds(latency.mean)));
            }
            lines.push(format!(
                "Percentiles: p50 {:.3} ms, p90 {:.3} ms, p99 {:.3} ms, longest {:.3} ms",
                milliseconds(latency.p50),
                milliseconds(latency.p90),
                milliseconds(latency.p99),
                milliseconds(latency.longest)
            ));
        }
    }
    if let (Some(rows), Some(requests)) = (summary.throughput, summary.requests_per_second) {
        lines.push(format!(
            "Throughput: {rows:.3} examples/sec ({requests:.3} requests/sec)"
        ));
    }
    if let Some(accuracy) = summary.accuracy() {
        lines.push(format!(
            "Accuracy: {accuracy:.2}% ({} of {})",
            summary.correct, summary.rows
        ));
    }
    if summary.retries > 0 {
        lines.push(format!("Requests that were sent again: {}", summary.retries));
    }
    lines.join("\n") + "\n"
}

fn servers(arguments: &Arguments) -> Vec<String> {
    endpoints(arguments).iter().map(ToString::to_string).collect()
}

pub(super) fn json(arguments: &Arguments, report: &Report) -> Value {
    let summary = &report.summary;
    json!({
        "servers": servers(arguments),
        "model": arguments.model,
        "signature": arguments.signature,
        "output": report.output,
        "batchSize": arguments.batch_size,
        "concurrency": arguments.concurrency,
        "rate": arguments.rate,
        "iterations": summary.iterations,
        "measuredIterations": summary.measured,
        "dataRanOut": report.ran_out,
        "examples": summary.rows,
        "correct": summary.correct,
        "accuracy": summary.accuracy().map(|accuracy| accuracy / 100.0),
        "latencyMs": summary.latency.map(|latency| json!({
            "mean": milliseconds(latency.mean),
            "p50": milliseconds(latency.p50),
            "p90": milliseconds(latency.p90),
            "p99": milliseconds(latency.p99),
            "max": milliseconds(latency.longest),
        })),
        "examplesPerSecond": summary.throughput,
        "requestsPerSecond": summary.requests_per_second,
        "retries": summary.retries,
        "error": report.failure,
    })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
