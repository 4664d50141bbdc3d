//! `trainyard serve --server-program`: a server of another make behind the same ports.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::json;
use serving::External;

use super::{Arguments, Stopped, explained, named, protocol, tell, tls};
use crate::Output;

pub(super) async fn serve(arguments: &Arguments, program: &str, stopped: &mut Stopped) -> Result<()> {
    let options = options(arguments, program)?;
    let name = options.name.clone();
    let running = tokio::select! {
        running = serving::start_external(options) => running.map_err(explained)?,
        () = stopped.wait() => return Ok(()),
    };
    tell(&started(arguments, &name, program, running.addresses()));
    stopped.wait().await;
    if arguments.answer.output == Output::Text {
        tell("stopping");
    }
    running.stop().await;
    Ok(())
}

fn options(arguments: &Arguments, program: &str) -> Result<External> {
    // Other servers have other places than folders, such as `s3://bucket/model`.
    let given = &arguments.model_dir;
    let base = if given.to_string_lossy().contains("://") {
        given.clone()
    } else {
        std::path::absolute(given).with_context(|| format!("`{}` is no path", given.display()))?
    };
    let this: PathBuf = std::env::current_exe().context("cannot find this program")?;
    Ok(External {
        // It must not stay behind where this one is killed.
        program: vec![
            this.display().to_string(),
            "__tethered".to_owned(),
            program.to_owned(),
        ],
        shown: program.to_owned(),
        words: arguments.server_words.clone(),
        name: named(arguments, &base)?,
        base,
        listen: arguments
            .ports
            .iter()
            .map(|port| SocketAddr::new(arguments.listen, *port))
            .collect(),
        tls: tls(arguments),
        waits: arguments.wait,
        patience: Duration::from_secs(arguments.start_timeout),
        grace: Duration::from_secs(arguments.grace),
    })
}

fn started(arguments: &Arguments, name: &str, program: &str, addresses: &[SocketAddr]) -> String {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    if arguments.answer.output == Output::Json {
        let block = json!({
            "model": name,
            "serverProgram": program,
            "addresses": addresses,
            "tls": arguments.tls_cert.is_some(),
        });
        return format!("{block:#}");
    }
    format!(
        "`{program}` answers for the model `{name}`, gRPC and {} on {}",
        protocol(arguments),
        addresses.join(" and ")
    )
}
