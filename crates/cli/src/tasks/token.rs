//! `trainyard token`: who may use the task service.

use std::process::ExitCode;

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use super::{
    carry_out,
    place::{self, Place},
    rest::escaped,
    shown::{self, text},
};
use crate::{Answer, Surroundings};

/// Make and revoke tokens of the task service
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard token create ada --role submitter --in team-a --days 90
  trainyard token list
  trainyard token revoke 0f3b6c1d2e4a5b69"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Create(CreateArguments),
    List(ListArguments),
    Revoke(RevokeArguments),
}

/// Make a token, and print it this once
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard token create ada --role submitter --in team-a --days 90
  trainyard token create ci --role viewer --in '*' -o json | jq -r .token"))]
struct CreateArguments {
    /// Who holds it: the creator of what is made with it
    name: String,

    /// What they may
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "submitter", "template-admin", "admin"])]
    role: String,

    /// Where they may; `*` is all namespaces; can be given several times
    #[arg(long = "in", value_name = "NAMESPACE", required = true)]
    namespaces: Vec<String>,

    /// How long it holds [default: until it is revoked]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: Option<u32>,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// List tokens, without their text
#[derive(Debug, clap::Args)]
struct ListArguments {
    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// Revoke a token
#[derive(Debug, clap::Args)]
struct RevokeArguments {
    /// The id of the token, as `token list` shows it
    id: String,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    match &arguments.command {
        Command::Create(arguments) => create(arguments, surroundings),
        Command::List(arguments) => list(arguments, surroundings),
        Command::Revoke(arguments) => revoke(arguments, surroundings),
    }
}

fn create(arguments: &CreateArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let grants = arguments.namespaces.iter();
    let grants: Vec<Value> = grants
        .map(|namespace| json!({"role": arguments.role, "namespace": namespace}))
        .collect();
    let mut body = json!({"name": arguments.name, "grants": grants});
    if let Some(days) = arguments.days {
        body["expires_in_seconds"] = json!(u64::from(days) * 86_400);
    }
    carry_out(&arguments.place, surroundings, async |rest| {
        let token = rest
            .ask(Method::POST, "/v1/tokens", &[], &[], Some(&body))
            .await?
            .body;
        Ok(shown::one(arguments.answer, &token, |token| {
            text(token, "token") + "\n"
        }))
    })
}

fn list(arguments: &ListArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest| {
        let namespace = arguments.place.namespace().unwrap_or("*");
        let tokens = rest.list("/v1/tokens", &[("namespace", namespace)], None).await?;
        Ok(shown::list(
            arguments.answer,
            tokens,
            ["ID", "NAME", "MAY", "ENDS"],
            row,
            "there are no tokens",
        ))
    })
}

fn row(token: &Value) -> [String; 4] {
    let grants = token["grants"].as_array().into_iter().flatten();
    let grants: Vec<String> = grants
        .map(|grant| format!("{} in {}", text(grant, "role"), text(grant, "namespace")))
        .collect();
    let end = text(token, "expires_at");
    let end = if end.is_empty() { "never".to_owned() } else { end };
    [text(token, "id"), text(token, "name"), grants.join(", "), end]
}

fn revoke(arguments: &RevokeArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest| {
        let path = format!("/v1/tokens/{}", escaped(&arguments.id));
        rest.ask(Method::DELETE, &path, &[], &[], None).await?;
        println!("{} revoked", arguments.id);
        Ok(ExitCode::SUCCESS)
    })
}
