//! What runs, and with which variables.

use k8s_openapi::api::core::v1::Container;

use crate::{
    environment::{Environment, expand},
    images::Image,
};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no command specified")]
pub(crate) struct NoCommand;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The program and its arguments: the container's own, or the image's.
pub(super) fn argv(
    container: &Container,
    image: &Image,
    environment: &Environment,
) -> Result<Vec<String>, NoCommand> {
    let expanded = |words: &Option<Vec<String>>| -> Vec<String> {
        let words = words.iter().flatten();
        words
            .map(|word| expand(word, |name| environment.get(name)))
            .collect()
    };
    let (command, arguments) = (expanded(&container.command), expanded(&container.args));
    let argv = images::argv(&command, &arguments, &image.config);
    if argv.is_empty() { Err(NoCommand) } else { Ok(argv) }
}

/// The image's variables, then the container's over them, and what every program may rely on.
pub(super) fn variables(
    container: &Container,
    image: &Image,
    environment: Environment,
    hostname: &str,
) -> Vec<(String, String)> {
    let mut all = vec![
        ("PATH".to_owned(), PATH.to_owned()),
        ("HOSTNAME".to_owned(), hostname.to_owned()),
    ];
    if container.tty == Some(true) {
        all.push(("TERM".to_owned(), "xterm".to_owned()));
    }
    let of_image = image.config.environment();
    let of_image = of_image.map(|(name, value)| (name.to_owned(), value.to_owned()));
    replace(&mut all, of_image);
    replace(&mut all, environment.into_pairs());
    all
}

/// Sets variables, in the place of those of the same name.
pub(super) fn replace(all: &mut Vec<(String, String)>, by: impl IntoIterator<Item = (String, String)>) {
    for (name, value) in by {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => all.push((name, value)),
        }
    }
}
