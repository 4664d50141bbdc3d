//! `edit set image`: other names, tags and digests for images.

use super::{file::File, set::sort_by_name};
use crate::{Problem, document::Fragment};

const USAGE: &str = "invalid format of image, use one of the following options:
- <image>=<newimage>:<newtag>
- <image>=<newimage>@<digest>
- <image>=<newimage>:<newtag>@<digest>
- <image>=<newimage>
- <image>:<newtag>
- <image>:<newtag>@<digest>
- <image>@<digest>";

/// As a new value: what is there stays.
const KEEP: &str = "*";

/// An element of `images`; what is empty is not given.
#[derive(Debug, PartialEq, Eq)]
struct Image {
    name: String,
    new_name: String,
    new_tag: String,
    digest: String,
}

pub(super) fn set(file: &mut File, arguments: &[String]) -> Result<bool, Problem> {
    if arguments.is_empty() {
        return Err(Problem::new("no image specified"));
    }
    let images: Vec<Image> = arguments
        .iter()
        .map(|argument| parse(argument))
        .collect::<Result<_, _>>()?;
    // Of an image that is named twice the last word counts, and `*` is what the file has, not the word before.
    let is_last = |(place, image): &(usize, &Image)| {
        let mut later = images[place + 1..].iter();
        later.all(|other| other.name != image.name)
    };
    for (_, image) in images.iter().enumerate().filter(is_last) {
        sort_by_name(file, "images")?;
        let named = |file: &File| {
            let mut items = file.items("images").into_iter();
            items.find(|item| file.document().text_at(*item, &["name"]) == image.name)
        };
        if named(file).is_none() {
            file.append(
                "images",
                Fragment::map([("name", Some(Fragment::text(&image.name)))]),
            )?;
        }
        let parts = [
            ("newName", &image.new_name),
            ("newTag", &image.new_tag),
            ("digest", &image.digest),
        ];
        for (field, value) in parts {
            let Some(item) = named(file) else { break };
            match value.as_str() {
                KEEP => {}
                "" => file.remove_below(item, field)?,
                value => file.put_below(item, &[field], Fragment::text(value))?,
            }
        }
    }
    sort_by_name(file, "images")?;
    Ok(true)
}

fn parse(argument: &str) -> Result<Image, Problem> {
    let (key, value) = match argument.split_once('=') {
        Some((key, value)) => (Some(key), value),
        None => (None, argument),
    };
    let (name, tag, digest) = split(value);
    if name == argument {
        return Err(Problem::new(USAGE));
    }
    let (name, new_name) = match key {
        Some(key) => (key, name),
        None => (name, ""),
    };
    Ok(Image {
        name: name.to_owned(),
        new_name: new_name.to_owned(),
        new_tag: tag.to_owned(),
        digest: digest.to_owned(),
    })
}

/// Name, tag and digest; the colon of a port belongs to the name.
fn split(image: &str) -> (&str, &str, &str) {
    let (rest, digest) = image.split_once('@').unwrap_or((image, ""));
    let path = rest.find('/').unwrap_or(0);
    match rest[path..].find(':') {
        Some(colon) => (&rest[..path + colon], &rest[path + colon + 1..], digest),
        None => (rest, "", digest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(argument: &str) -> [String; 4] {
        let image = parse(argument).unwrap();
        [image.name, image.new_name, image.new_tag, image.digest]
    }

    #[test]
    fn images_are_named_in_many_ways() {
        assert_eq!(parsed("a:1"), ["a", "", "1", ""]);
        assert_eq!(parsed("a=b"), ["a", "b", "", ""]);
        assert_eq!(
            parsed("a=localhost:5000/b:1@sha256:00"),
            ["a", "localhost:5000/b", "1", "sha256:00"]
        );
        assert_eq!(parsed("a@sha256:00"), ["a", "", "", "sha256:00"]);
        assert!(parse("a").is_err());
    }
}
