//! `trainyard bench-serving`: how right and how fast a model server answers.

mod bar;
mod report;

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result};
use serving::{
    ClientFiles, ClientTls,
    bench::{self, BenchError, Endpoint, Report, Rows, Settings, Shuffled},
};

use crate::{Answer, Output, Surroundings, advised, trainer::part};
use bar::Bar;

/// Rows are drawn by chance from so many.
const SHUFFLED: usize = 20_000;

/// Measure a model server: accuracy, latency and throughput over the rows of a table
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard bench-serving -d eval.csv
                                  the wide and deep model on localhost:8500, 40 requests of one row, 10 of them to warm up
  trainyard bench-serving -s node:30501 -d eval.csv -b 256 -n 400 -w 20 -c 8
                                  larger batches, eight at a time
  trainyard bench-serving -d exam.csv --model digits --signature serving_default -o json
                                  another model, for programs
  trainyard bench-serving -d eval.csv -n 2000 -c 64 --rate 500
                                  500 requests a second, whether or not the server keeps up
  trainyard bench-serving -s https://models.example.org:8500 --tls-ca ca.crt -d eval.csv
                                  a server that speaks TLS

The table has no header: the label, then the columns. Those of the wide and deep model are I1 to I13 (numbers, 0 where
missing) and C1 to C26 (text, a space where missing). For other models, --columns names them or one input takes all.
Any server of TensorFlow Serving's gRPC will do. A server that is away is asked again, up to --retries times.

Exit codes: 0 measured; 1 below --target-accuracy; 2 it could not be measured to the end")]
pub(crate) struct Arguments {
    /// The server, with https:// before it where it speaks TLS; several with commas between them are asked in turn
    #[arg(short, long, value_name = "HOST:PORT", default_value = "localhost:8500", value_delimiter = ',', value_parser = server)]
    server: Vec<Server>,

    /// The table
    #[arg(short, long, value_name = "FILE", alias = "data_file")]
    data_file: PathBuf,

    /// Rows of a request
    #[arg(short, long, value_name = "ROWS", default_value_t = 1, aliases = ["batch_size", "b"], value_parser = clap::value_parser!(u32).range(1..))]
    batch_size: u32,

    /// Requests in all, those to warm up included
    #[arg(short, long, value_name = "COUNT", default_value_t = 40, alias = "num_iteration", value_parser = clap::value_parser!(u32).range(1..))]
    num_iteration: u32,

    /// Requests at the start whose time does not count
    #[arg(
        short,
        long,
        value_name = "COUNT",
        default_value_t = 10,
        alias = "warm_up_iteration"
    )]
    warm_up_iteration: u32,

    /// Requests that are open at a time
    #[arg(short, long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,

    /// Requests a second, however long answers take; latency counts from when a request was due
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    rate: Option<f64>,

    /// The model
    #[arg(long, value_name = "NAME", default_value = "wide-deep-large-ds-fp32-training")]
    model: String,

    /// Its signature
    #[arg(long, value_name = "NAME", default_value = "predict")]
    signature: String,

    /// The output to compare with the labels: scores of classes, or classes; otherwise `probabilities` or the only one
    #[arg(long, value_name = "NAME")]
    output_name: Option<String>,

    /// What the columns after the label are called, as the inputs of the model are
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    columns: Vec<String>,

    /// Take rows in their order instead of an order of chance
    #[arg(long)]
    no_shuffle: bool,

    /// Another order of chance
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        conflicts_with = "no_shuffle"
    )]
    seed: u64,

    /// How long one answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = timeout)]
    timeout: f64,

    /// How often a request is sent again to a server that is away
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    retries: u32,

    /// Believe servers by the authorities in this file of PEM, too; servers speak TLS where they do not say http://
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    tls_ca: Option<PathBuf>,

    /// The certificate to show to servers that want to know who asks, in PEM
    #[arg(long, value_name = "FILE", help_heading = "TLS", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The key of that certificate
    #[arg(long, value_name = "FILE", help_heading = "TLS", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// What the certificate of the server is for, where it is reached by another name
    #[arg(long, value_name = "NAME", help_heading = "TLS")]
    tls_name: Option<String>,

    /// Fail where fewer rows are answered right, as a part of 1
    #[arg(long, value_name = "PART", value_parser = part)]
    target_accuracy: Option<f64>,

    /// Print no line for each request
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    answer: Answer,
}

/// A server as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Server {
    address: String,
    /// What was said before it, if anything.
    is_encrypted: Option<bool>,
}

fn server(text: &str) -> Result<Server, String> {
    let wrong = || "a host and a port are meant, such as localhost:8500".to_owned();
    let (is_encrypted, address) = match text.split_once("://") {
        None => (None, text),
        Some(("http", address)) => (Some(false), address),
        Some(("https", address)) => (Some(true), address),
        Some(_) => return Err(wrong()),
    };
    let address = address.trim_end_matches('/');
    let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    if host.is_empty() || host.contains(['/', '@', ' ']) || !is_port {
        return Err(wrong());
    }
    Ok(Server {
        address: address.to_owned(),
        is_encrypted,
    })
}

fn endpoints(arguments: &Arguments) -> Vec<Endpoint> {
    // Who says how to speak TLS means to.
    let means_tls =
        arguments.tls_ca.is_some() || arguments.tls_cert.is_some() || arguments.tls_name.is_some();
    let each = arguments.server.iter().map(|server| Endpoint {
        address: server.address.clone(),
        is_encrypted: server.is_encrypted.unwrap_or(means_tls),
    });
    each.collect()
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.001..=1e6).contains(&rate) => Ok(rate),
        _ => Err("a number of requests a second is meant".to_owned()),
    }
}

fn timeout(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds up to 3600 is meant".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let rows = rows(arguments)?;
    let settings = settings(arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(crate::up::workers())
        .thread_stack_size(crate::up::STACK)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let is_text = arguments.answer.output == Output::Text;
    if is_text {
        println!("{}", report::banner(arguments));
    }
    let mut bar = Bar::new(arguments.num_iteration as usize);
    let measured = runtime.block_on(bench::run(settings, rows, |iteration| {
        if is_text && !arguments.quiet {
            bar.clear();
            println!("{}", report::line(iteration));
        }
        bar.show(iteration);
    }));
    bar.clear();
    runtime.shutdown_timeout(Duration::from_secs(1));
    let report = measured.map_err(|error| explained(error, arguments, surroundings))?;
    if is_text {
        print!("{}", report::text(arguments, &report));
    } else {
        println!("{:#}", report::json(arguments, &report));
    }
    Ok(verdict(arguments, &report))
}

fn rows(arguments: &Arguments) -> Result<bench::Source> {
    let path: &Path = &arguments.data_file;
    let unreadable = || format!("cannot read the data `{}`", path.display());
    let file = File::open(path).with_context(unreadable)?;
    if file.metadata().with_context(unreadable)?.is_dir() {
        return Err(advised(
            format!("`{}` is a folder, not a table", path.display()),
            "-d names a file of lines with commas between the cells",
        ));
    }
    let rows = Rows::new(BufReader::with_capacity(1 << 16, file));
    Ok(if arguments.no_shuffle {
        Box::new(rows)
    } else {
        Box::new(Shuffled::new(rows, SHUFFLED, arguments.seed))
    })
}

fn settings(arguments: &Arguments) -> Result<Settings> {
    let servers = endpoints(arguments);
    let tls = if servers.iter().any(|server| server.is_encrypted) {
        let identity = arguments.tls_cert.clone().zip(arguments.tls_key.clone());
        let files = ClientFiles {
            authorities: arguments.tls_ca.clone(),
            identity,
            name: arguments.tls_name.clone(),
        };
        Some(ClientTls::load(&files)?)
    } else {
        None
    };
    Ok(Settings {
        servers,
        tls,
        model: arguments.model.clone(),
        signature: arguments.signature.clone(),
        output: arguments.output_name.clone(),
        columns: (!arguments.columns.is_empty()).then(|| arguments.columns.clone()),
        batch: arguments.batch_size as usize,
        iterations: arguments.num_iteration as usize,
        warm_up: arguments.warm_up_iteration as usize,
        concurrency: arguments.concurrency.into(),
        rate: arguments.rate,
        timeout: Duration::from_secs_f64(arguments.timeout),
        retries: arguments.retries,
    })
}

fn verdict(arguments: &Arguments, report: &Report) -> ExitCode {
    if let Some(failure) = &report.failure {
        eprintln!(
            "error: the server stopped answering after {} of {} requests\n  because: {failure}",
            report.summary.iterations, arguments.num_iteration
        );
        return ExitCode::from(2);
    }
    let accuracy = report.summary.accuracy().unwrap_or_default() / 100.0;
    match arguments.target_accuracy {
        Some(target) if accuracy < target => {
            eprintln!("error: the accuracy is {accuracy:.4}, below the target of {target}");
            ExitCode::from(1)
        }
        _ => ExitCode::SUCCESS,
    }
}

fn explained(error: BenchError, arguments: &Arguments, surroundings: &Surroundings) -> anyhow::Error {
    let program = surroundings.program();
    let hint = match &error {
        BenchError::Server { cause, .. } if cause.code == serving::Code::DeadlineExceeded => {
            "it may be slow, or no model server: --timeout gives it more time".to_owned()
        }
        BenchError::Server { cause, .. } if cause.code == serving::Code::Unauthenticated => {
            "--tls-ca names the authority of its certificate, --tls-name whom it is for; http:// speaks without TLS"
                .to_owned()
        }
        BenchError::Server { .. } => format!(
            "-s names the gRPC port of a model server (https://HOST:PORT where it speaks TLS); `{program} serve DIR` is one"
        ),
        BenchError::Refused { .. } => {
            "--model and --signature say what to ask; `curl http://HOST:PORT/v1/models/NAME` shows what is served"
                .to_owned()
        }
        BenchError::Signature { .. } => "--signature names one of them".to_owned(),
        BenchError::Table(_) | BenchError::NoRows => format!(
            "`{}` needs lines of cells with commas between them, the label first and no header",
            arguments.data_file.display()
        ),
        BenchError::Layout { .. } => {
            "--columns names the columns after the label as the model's inputs are; --output-name says what to compare"
                .to_owned()
        }
    };
    let words = error.to_string();
    anyhow::Error::from(error).context(crate::Advised { message: words, hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_a_host_and_a_port() {
        let read = |text| server(text).map(|server| (server.address, server.is_encrypted));
        assert_eq!(read("localhost:8500"), Ok(("localhost:8500".to_owned(), None)));
        assert_eq!(
            read("http://[::1]:8500/"),
            Ok(("[::1]:8500".to_owned(), Some(false)))
        );
        assert_eq!(read("https://a:1"), Ok(("a:1".to_owned(), Some(true))));
        for wrong in [
            "localhost",
            ":8500",
            "a:0",
            "a:x",
            "a/b:8500",
            "https://a:1/x",
            "ftp://a:1",
        ] {
            assert!(server(wrong).is_err(), "{wrong}");
        }
    }
}
