//! Names for jobs that were given none.

const LONGEST_STEM: usize = 20;
/// Without those that are mistaken for others.
const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";

/// A name after the program: `train-x7k2` for `python train.py`.
pub(super) fn after(command: &[String]) -> String {
    format!("{}-{}", stem(command), short_random())
}

/// Four letters that tell jobs of the same program apart.
pub(crate) fn short_random() -> String {
    let letter = || char::from(LETTERS[fastrand::usize(..LETTERS.len())]);
    (0..4).map(|_| letter()).collect()
}

/// What the program is called: the script, where an interpreter runs one.
fn stem(command: &[String]) -> String {
    let is_script = |word: &&String| {
        [".py", ".sh", ".jl", ".R", ".pl", ".rb"]
            .iter()
            .any(|ending| word.ends_with(ending))
    };
    let word = command.iter().find(is_script).or_else(|| command.first());
    let file = word.map_or("", |word| word.rsplit('/').next().unwrap_or_default());
    let stem = file.split('.').next().unwrap_or_default();
    let letters = stem.chars().map(|c| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    });
    let name: String = letters.take(LONGEST_STEM).collect();
    let name = name.trim_matches(|c: char| c == '-');
    // A name begins with a letter.
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name.to_owned(),
        _ => "job".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &str) {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        assert_eq!(stem(&words), expected);
        let name = after(&words);
        assert!(manifests::names::dns1035_label(&name).is_empty(), "{name}");
    }

    #[test]
    fn a_job_is_called_after_its_program() {
        check("python3 src/train_MNIST.py --epochs 3", "train-mnist");
        check("./Ring", "ring");
        check("/usr/bin/torchrun --nnodes 2 fit.py", "fit");
        check("9to5", "job");
        check("a-name-that-is-much-too-long-for-this", "a-name-that-is-much");
    }
}
