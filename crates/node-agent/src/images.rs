//! What a container's image gives it: a root, and how to run on it what is there.

use std::path::PathBuf;

use containers::spec::Root;

/// The image that stands for this machine's own file system.
const HOST: &str = "host";

/// An image that is ready to be run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    /// For the status of the container.
    pub(crate) id: String,
    pub(crate) root: Root,
    pub(crate) entrypoint: Vec<String>,
    pub(crate) command: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) working_directory: Option<PathBuf>,
    /// As the image words it: `USER[:GROUP]`, by names or numbers.
    pub(crate) user: String,
    pub(crate) stop_signal: Option<String>,
}

/// Why an image cannot be used, with the reason users know.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Unusable {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// Where images come from.
#[derive(Clone, Debug)]
pub(crate) struct Images {
    pub(crate) data_dir: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) host_only: bool,
}

impl Images {
    pub(crate) fn find(&self, name: &str) -> Result<Image, Unusable> {
        if self.host_only || name == HOST {
            return Ok(self.host());
        }
        Err(Unusable {
            reason: "ErrImageNeverPull",
            message: format!("Container image \"{name}\" is not present with pull policy of Never"),
        })
    }

    fn host(&self) -> Image {
        Image {
            id: HOST.to_owned(),
            root: Root::host(vec![self.data_dir.clone()], self.home.clone()),
            ..Image::default()
        }
    }
}
