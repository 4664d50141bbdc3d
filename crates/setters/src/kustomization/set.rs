//! `edit set`, of fields that are a value or a list of names.

use manifests::names;

use super::file::File;
use crate::{Problem, document::Fragment};

pub(super) fn namespace(file: &mut File, values: &[String]) -> Result<bool, Problem> {
    let [namespace] = values else {
        return Err(Problem::new("must specify exactly one namespace value"));
    };
    let problems = names::dns_label(namespace);
    if !problems.is_empty() {
        let problems = problems.join(";");
        let message = format!("{namespace:?} is not a valid namespace name: {problems}");
        return Err(Problem::new(message));
    }
    file.put(&["namespace"], Fragment::text(namespace))?;
    Ok(true)
}

pub(super) fn name_part(
    file: &mut File,
    field: &str,
    what: &str,
    values: &[String],
) -> Result<bool, Problem> {
    let [value] = values else {
        return Err(Problem::new(format!("must specify exactly one {what} value")));
    };
    if value.is_empty() {
        file.remove(&[field])?;
    } else {
        file.put(&[field], Fragment::text(value))?;
    }
    Ok(true)
}

pub(super) fn replicas(file: &mut File, arguments: &[String]) -> Result<bool, Problem> {
    if arguments.is_empty() {
        return Err(Problem::new("no replicas specified"));
    }
    let mut wanted = Vec::new();
    for argument in arguments {
        let count = |(name, count): (&str, &str)| Some((name.to_owned(), count.parse::<i64>().ok()?));
        let Some(replica) = argument.split_once('=').and_then(count) else {
            return Err(Problem::new(
                "invalid format of replica, use the following format: <name>=<count>",
            ));
        };
        wanted.push(replica);
    }
    for (name, count) in wanted {
        let count = Fragment::Plain(count.to_string());
        let named = |item: &usize| file.document().text_at(*item, &["name"]) == name;
        if let Some(item) = file.items("replicas").into_iter().find(named) {
            file.put_below(item, &["count"], count)?;
        } else {
            let replica = Fragment::map([("name", Some(Fragment::text(name))), ("count", Some(count))]);
            file.append("replicas", replica)?;
        }
    }
    sort_by_name(file, "replicas")?;
    Ok(true)
}

/// The elements of a list by their names; of those with one name, the last.
pub(super) fn sort_by_name(file: &mut File, field: &str) -> Result<(), Problem> {
    loop {
        let names = names_of(file, field);
        let is_repeated = |index: &usize| names[index + 1..].contains(&names[*index]);
        match (0..names.len()).find(is_repeated) {
            Some(index) => file.remove_item(field, index)?,
            None => break,
        }
    }
    let names = names_of(file, field);
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|index| &names[*index]);
    file.reorder(field, &order)
}

fn names_of(file: &File, field: &str) -> Vec<String> {
    let document = file.document();
    let items = file.items(field).into_iter();
    items
        .map(|item| document.text_at(item, &["name"]).to_owned())
        .collect()
}

/// Options of `buildMetadata`, with commas between them.
pub(super) fn build_options(arguments: &[String]) -> Result<Vec<String>, Problem> {
    const KNOWN: [&str; 3] = ["originAnnotations", "transformerAnnotations", "managedByLabel"];
    let [argument] = arguments else {
        let message = match arguments.len() {
            0 => "must specify a buildMetadata option".to_owned(),
            _ => format!(
                "too many arguments: {}; to provide multiple buildMetadata options, please separate options by comma",
                arguments.join(" ")
            ),
        };
        return Err(Problem::new(message));
    };
    let options: Vec<String> = argument.split(',').map(str::to_owned).collect();
    for option in &options {
        if !KNOWN.contains(&option.as_str()) {
            let known = KNOWN.join(" ");
            let message = format!("invalid buildMetadata option: {option}; must be one of [{known}]");
            return Err(Problem::new(message));
        }
    }
    Ok(options)
}

pub(super) fn build_metadata(file: &mut File, arguments: &[String]) -> Result<bool, Problem> {
    let options = build_options(arguments)?;
    file.put(&["buildMetadata"], Fragment::texts(options))?;
    Ok(true)
}
