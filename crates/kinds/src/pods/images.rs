//! Names of images: `registry/path/name:tag@digest`.

/// Images without a version change under one's feet, so they are always pulled.
pub(super) fn pull_policy(image: &str) -> &'static str {
    if is_latest(image) {
        "Always"
    } else {
        "IfNotPresent"
    }
}

fn is_latest(image: &str) -> bool {
    if !is_image_name(image) {
        return false;
    }
    let (name, has_digest) = image
        .split_once('@')
        .map_or((image, false), |(name, _)| (name, true));
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => !has_digest,
    }
}

/// Whether a text is the name of an image; nothing follows from one that is not.
fn is_image_name(image: &str) -> bool {
    let (name, digest) = image
        .split_once('@')
        .map_or((image, None), |(name, digest)| (name, Some(digest)));
    let (directory, last) = name
        .rsplit_once('/')
        .map_or(("", name), |(directory, last)| (directory, last));
    let (last, tag) = last
        .split_once(':')
        .map_or((last, None), |(last, tag)| (last, Some(tag)));
    let mut components: Vec<&str> = directory.split('/').filter(|_| !directory.is_empty()).collect();
    let has_domain = components.first().is_some_and(|first| {
        first.contains(['.', ':']) || *first == "localhost" || first.chars().any(|c| c.is_ascii_uppercase())
    });
    let domain = has_domain.then(|| components.remove(0));
    let identifier = last.len() == 64 && last.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    domain.is_none_or(is_domain)
        && components.iter().all(|component| is_component(component))
        && is_component(last)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest)
        && !(identifier && domain.is_none() && components.is_empty() && tag.is_none() && digest.is_none())
}

fn is_domain(domain: &str) -> bool {
    let (host, port) = match domain.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (domain, None),
    };
    let labels = host.split('.').all(|label| {
        let alphanumeric = |c: char| c.is_ascii_alphanumeric();
        label.starts_with(alphanumeric)
            && label.ends_with(alphanumeric)
            && label.chars().all(|c| alphanumeric(c) || c == '-')
    });
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let address = address.is_some_and(|host| host.chars().all(|c| c.is_ascii_hexdigit() || c == ':'));
    let port = port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    (labels || address) && port
}

/// Small letters and digits, joined by a dot, one or two underscores, or any number of dashes.
fn is_component(component: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separators = component
        .split(alphanumeric)
        .filter(|separator| !separator.is_empty());
    component.starts_with(alphanumeric)
        && component.ends_with(alphanumeric)
        && separators.into_iter().all(|separator| {
            matches!(separator, "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-')
        })
}

fn is_tag(tag: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=128).contains(&tag.len())
        && tag.starts_with(word)
        && tag.chars().all(|c| word(c) || matches!(c, '.' | '-'))
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, hex)| {
        let length = match algorithm {
            "sha256" => 64,
            "sha384" => 96,
            "sha512" => 128,
            _ => return false,
        };
        hex.len() == length && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_without_a_version_are_always_pulled() {
        for (image, expected) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("localhost:5000/team/app", "Always"),
            ("localhost:5000/team/app:v1", "IfNotPresent"),
            ("", "IfNotPresent"),
            ("Not An Image", "IfNotPresent"),
            (
                "app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                "IfNotPresent",
            ),
        ] {
            assert_eq!(pull_policy(image), expected, "for {image}");
        }
    }
}
