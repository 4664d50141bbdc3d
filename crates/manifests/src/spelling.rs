//! What somebody may have meant who wrote a name that is not known.

/// The name nearest to one that is not known, when it is near enough to be meant.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let name = name.to_lowercase();
    let distances = known
        .into_iter()
        .map(|known| (distance(&name, &known.to_lowercase()), known));
    let (distance, found) = distances.min()?;
    (distance <= name.len().max(6) / 3).then_some(found)
}

/// How many letters must be added, removed or changed.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, a) in from.chars().enumerate() {
        let mut diagonal = line;
        row[0] = line + 1;
        for (column, b) in to.iter().enumerate() {
            let change = diagonal + usize::from(a != *b);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_meant_when_few_letters_differ() {
        let known = ["image", "imagePullPolicy", "name"];
        assert_eq!(nearest("imgae", known), Some("image"));
        assert_eq!(nearest("imagepullpolicy", known), Some("imagePullPolicy"));
        assert_eq!(nearest("resources", known), None);
    }
}
