//! Counts and lists in sentences: `containers "a", "b"`.

/// `one` for one, `many` for all other counts.
pub(super) fn plural<'a>(one: &'a str, many: &'a str, count: usize) -> &'a str {
    if count == 1 { one } else { many }
}

/// Each in quotes, without escapes.
pub(super) fn quoted<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let quoted: Vec<String> = items
        .into_iter()
        .map(|item| format!("\"{}\"", item.as_ref()))
        .collect();
    quoted.join(", ")
}

pub(super) fn containers(names: &[&str]) -> String {
    format!(
        "{} {}",
        plural("container", "containers", names.len()),
        quoted(names)
    )
}
