//! Keys and contents for ConfigMaps and Secrets: lines of files, literals, and whole files, in this order.

use std::collections::BTreeMap;

use super::super::{
    decode::Text,
    kustomization::GeneratorArgs,
    node::At,
    problem::{Outcome, Problem},
    root::Root,
};

type Pair = (String, Vec<u8>, At);

pub(super) fn load(root: &Root<'_, '_>, args: &GeneratorArgs) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let mut pairs = Vec::new();
    for path in &args.envs {
        lines(root, path, &mut pairs)?;
    }
    for text in &args.literals {
        pairs.push(literal(text)?);
    }
    for source in &args.files {
        pairs.push(file(root, source)?);
    }
    let mut all = BTreeMap::new();
    for (key, content, at) in pairs {
        if all.contains_key(&key) {
            return Err(Problem::new(format!("`{}` has the key `{key}` twice", args.name))
                .at(at)
                .help("remove one of them, or give the file another key: `key=path`"));
        }
        all.insert(key, content);
    }
    Ok(all)
}

/// `KEY=value` in each line of a file.
fn lines(root: &Root<'_, '_>, path: &Text, pairs: &mut Vec<Pair>) -> Outcome {
    let file = root.file(path)?;
    let content = root.read(path)?;
    for (number, line) in content.split(|byte| *byte == b'\n').enumerate() {
        let at = At {
            line: number as u32 + 1,
            column: 1,
            ..root.session.start_of(&file)
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = str::from_utf8(line).map_err(|_| {
            Problem::new("the line is not UTF-8")
                .at(at)
                .help("use `files` for what is no text")
        })?;
        let line = match number {
            0 => line.strip_prefix('\u{FEFF}').unwrap_or(line),
            _ => line,
        };
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if !key.is_empty() {
            pairs.push((key.to_owned(), value.as_bytes().to_vec(), at));
        }
    }
    Ok(())
}

fn literal(text: &Text) -> Outcome<Pair> {
    match text.text.split_once('=') {
        Some((key, value)) if !key.is_empty() => {
            Ok((key.to_owned(), without_quotes(value).as_bytes().to_vec(), text.at))
        }
        _ => Err(Problem::new(format!("`{}` is not a literal", text.text))
            .at(text.at)
            .help("write `key=value`")),
    }
}

fn without_quotes(text: &str) -> &str {
    let pairs = ['"', '\''];
    let inner = pairs
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(text)
}

/// `path`, whose key is the name of the file, or `key=path`.
fn file(root: &Root<'_, '_>, source: &Text) -> Outcome<Pair> {
    let (key, path) = match source.text.split('=').collect::<Vec<_>>().as_slice() {
        [path] => (
            path.trim_end_matches('/').rsplit('/').next().unwrap_or(path),
            *path,
        ),
        [key, path] if !key.is_empty() && !path.is_empty() => (*key, *path),
        _ => {
            return Err(Problem::new(format!("`{}` does not name a file", source.text))
                .at(source.at)
                .help("write `path` or `key=path`"));
        }
    };
    let path = Text {
        text: path.to_owned(),
        at: source.at,
    };
    Ok((key.to_owned(), root.read(&path)?, source.at))
}
