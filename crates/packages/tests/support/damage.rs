//! Breaks a package in one way, as people and programs do: half-written YAML, wrong types, names of nothing.

use std::collections::BTreeMap;

use fastrand::Rng;

use crate::generator::Package;

/// Files that may be no text any more.
pub(crate) type Damaged = BTreeMap<String, Vec<u8>>;

/// What YAML has a meaning for, or has not.
const SIGNS: &[&str] = &[
    ": ", "- ", "{", "}", "[", "]", "\"", "'", "|", ">", "&a ", "*a", "!!str ", "!x ", "\t", "%", "@", "`",
    "#", " #", "? ", "---\n", "...\n", "\u{7}", "\u{85}", "<<: ", ",",
];
const WRONG: &[&str] = &[
    "1", "true", "null", "~", "[]", "{}", "[a]", "{a: b}", "text", "\"1\"", "1.5", "", "[1]", "- a",
    "absent", "../..",
];
const POINTERS: &[&str] = &[
    "/",
    "spec",
    "\"\"",
    "/metadata/none/deep",
    "/metadata/name/deep",
    "/spec/template/spec/containers/9",
    "/spec/template/spec/containers/-1",
    "/spec/template/spec/containers/01",
    "/spec/template/spec/containers/x",
    "/metadata/annotations/~2",
    "/kind/~0/x",
];
const UNKNOWN: &[&str] = &[
    "nonsense: 1",
    "Resources: [a]",
    "namePrefx: a-",
    "spec: {}",
    "resources: []",
];

/// One way to damage a text; it may not apply.
type Way = fn(&str, &mut Rng) -> Option<Vec<u8>>;

/// The package with one thing wrong, and what that is.
pub(crate) fn damaged(package: &Package, seed: u64) -> (Damaged, String) {
    let mut random = Rng::with_seed(seed);
    let mut files: Damaged = package
        .iter()
        .map(|(path, text)| (path.clone(), text.clone().into_bytes()))
        .collect();
    let paths: Vec<&String> = package.keys().collect();
    let kustomizations: Vec<&String> = paths
        .iter()
        .filter(|path| path.ends_with("kustomization.yaml"))
        .copied()
        .collect();
    // Most mistakes are made in kustomizations.
    let path = if random.bool() {
        kustomizations[random.usize(0..kustomizations.len())]
    } else {
        paths[random.usize(0..paths.len())]
    };
    let text = &package[path];
    let ways: [Way; 13] = [
        |text, random| Some(at_random(text, "", 1, random)),
        |text, random| Some(at_random(text, pick(SIGNS, random), 0, random)),
        |text, random| Some(text.as_bytes()[..random.usize(0..=text.len())].to_vec()),
        |text, random| on_line(text, random, |line| Some(format!("{line}\n{line}"))),
        |text, random| on_line(text, random, |_| Some(String::new())),
        |text, random| on_line(text, random, |line| Some(format!(" {line}"))),
        |text, random| on_line(text, random, |line| line.strip_prefix(' ').map(str::to_owned)),
        |text, random| Some(no_text(text, random)),
        |text, random| wrong_value(text, pick(WRONG, random), random),
        |text, random| wrong_value(text, pick(WRONG, random), random),
        |text, random| wrong_pointer(text, pick(POINTERS, random), random),
        |text, random| misspelled(text, random),
        |text, random| Some(format!("{text}{}\n", pick(UNKNOWN, random)).into_bytes()),
    ];
    match random.usize(0..ways.len() + 3) {
        0 => {
            files.remove(path);
            (files, format!("{path} is missing"))
        }
        1 => {
            let base = pick(&["../top", ".", "../absent", "all.yaml"], &mut random);
            let path = kustomizations[random.usize(0..kustomizations.len())];
            let with = package[path].replacen("resources:\n", &format!("resources:\n- {base}\n"), 1);
            files.insert(path.clone(), with.into_bytes());
            (files, format!("{path} has {base} as a base"))
        }
        2 => {
            let twice = format!("{text}---\n{text}");
            files.insert(path.clone(), twice.into_bytes());
            (files, format!("{path} is there twice"))
        }
        chosen => {
            let way = chosen - 3;
            if let Some(text) = ways[way](text, &mut random) {
                files.insert(path.clone(), text);
            }
            (files, format!("{path}, way {way}"))
        }
    }
}

fn pick<'a>(from: &[&'a str], random: &mut Rng) -> &'a str {
    from[random.usize(0..from.len())]
}

/// Puts something in, or takes so many characters out.
fn at_random(text: &str, put: &str, take: usize, random: &mut Rng) -> Vec<u8> {
    let characters: Vec<char> = text.chars().collect();
    let at = random.usize(0..=characters.len());
    let before = characters[..at].iter();
    let after = characters[at..].iter().skip(take);
    let changed: String = before.copied().chain(put.chars()).chain(after.copied()).collect();
    changed.into_bytes()
}

/// Something that is not UTF-8.
fn no_text(text: &str, random: &mut Rng) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    let at = random.usize(0..=bytes.len());
    bytes.splice(
        at..at,
        [[0xff, b'x'], [0xc3, 0x28], [0xed, 0xa0]][random.usize(0..3)],
    );
    bytes
}

fn on_line(text: &str, random: &mut Rng, change: impl Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let chosen = random.usize(0..lines.len().max(1));
    let line = lines.get_mut(chosen)?;
    *line = change(line)?;
    lines.retain(|line| !line.is_empty());
    Some((lines.join("\n") + "\n").into_bytes())
}

/// Another value for a field.
fn wrong_value(text: &str, value: &str, random: &mut Rng) -> Option<Vec<u8>> {
    on_line(text, random, |line| {
        let (key, _) = line.split_once(':')?;
        Some(format!("{key}: {value}"))
    })
}

fn wrong_pointer(text: &str, pointer: &str, random: &mut Rng) -> Option<Vec<u8>> {
    let pointers: Vec<(usize, &str)> = text.match_indices("path: /").collect();
    let (at, _) = pointers.get(random.usize(0..pointers.len().max(1)))?;
    let end = text[*at..].find('\n')? + at;
    Some(format!("{}path: {pointer}{}", &text[..*at], &text[end..]).into_bytes())
}

/// Two letters of a key changed places.
fn misspelled(text: &str, random: &mut Rng) -> Option<Vec<u8>> {
    on_line(text, random, |line| {
        let (key, value) = line.split_once(':')?;
        let mut letters: Vec<char> = key.chars().collect();
        let last = letters.len().checked_sub(1)?;
        letters.swap(last, last.checked_sub(1)?);
        Some(format!("{}:{value}", letters.into_iter().collect::<String>()))
    })
}
