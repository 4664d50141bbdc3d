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
    let expanded = |words: &Option<Vec<String>>| -> Option<Vec<String>> {
        let words = words.as_ref().filter(|words| !words.is_empty())?;
        let words = words
            .iter()
            .map(|word| expand(word, |name| environment.get(name)));
        Some(words.collect())
    };
    let (command, arguments) = (expanded(&container.command), expanded(&container.args));
    // An image's arguments belong to its own program.
    let own_program = command.is_some();
    let mut argv = command.unwrap_or_else(|| image.entrypoint.clone());
    match arguments {
        Some(arguments) => argv.extend(arguments),
        None if own_program => {}
        None => argv.extend(image.command.iter().cloned()),
    }
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
    for (name, value) in image.environment.iter().cloned().chain(environment.into_pairs()) {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => all.push((name, value)),
        }
    }
    all
}
