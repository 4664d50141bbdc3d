//! An image that is here: unpacked and ready to run.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs::File,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

use crate::{
    config::{Config, User, UserError, UserFiles},
    digest::Digest,
    unpack::Below,
};

/// The largest account file that is read.
const MAX_FILE: u64 = 16 << 20;
const MAX_LINKS: usize = 40;

#[derive(Debug, Clone)]
pub struct Image {
    /// The digest of the configuration: `imageID` in a pod's status, if no registry knows it.
    pub id: Digest,
    /// Whole names with tags.
    pub names: Vec<String>,
    /// Whole names with digests, as registries know it.
    pub digests: Vec<String>,
    /// From the top down, as overlayfs wants them.
    pub layers: Vec<PathBuf>,
    pub config: Config,
    /// Bytes as transferred.
    pub size: u64,
    /// When it came here, RFC 3339.
    pub added: String,
    /// Chain ids of the layers from the bottom up.
    pub(crate) chain: Vec<Digest>,
}

/// Why it is not known who runs.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("cannot read the image's users")]
    Read(#[source] io::Error),
    #[error(transparent)]
    User(#[from] UserError),
}

impl Image {
    /// What a pod's status calls `imageID`.
    pub fn image_id(&self) -> String {
        self.digests
            .first()
            .cloned()
            .unwrap_or_else(|| self.id.to_string())
    }

    /// The user `USER` of the image names.
    pub fn user(&self) -> Result<User, AccountError> {
        self.find_user(&self.config.config.user)
    }

    /// The user a text such as `ada:adm` or `1000` names in this image.
    pub fn find_user(&self, user: &str) -> Result<User, AccountError> {
        let read = |path| {
            let text = self.read(Path::new(path)).map_err(AccountError::Read)?;
            Ok::<_, AccountError>(String::from_utf8_lossy(&text.unwrap_or_default()).into_owned())
        };
        let (passwd, group) = (read("etc/passwd")?, read("etc/group")?);
        let files = UserFiles {
            passwd: &passwd,
            group: &group,
        };
        Ok(files.find(user)?)
    }

    /// A file of the image, as a process in it would find it.
    pub fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let layers = Below(&self.layers);
        let mut place = PathBuf::new();
        let mut left: VecDeque<OsString> = path.iter().map(OsString::from).collect();
        let mut links = 0;
        while let Some(name) = left.pop_front() {
            if name == ".." {
                place.pop();
                continue;
            }
            place.push(&name);
            let Some((found, metadata)) = layers.find(&place)? else {
                return Ok(None);
            };
            if metadata.is_symlink() {
                links += 1;
                if links > MAX_LINKS {
                    return Ok(None);
                }
                place.pop();
                follow(&std::fs::read_link(found)?, &mut place, &mut left);
            } else if left.is_empty() && metadata.is_file() {
                let mut bytes = Vec::new();
                File::open(found)?.take(MAX_FILE).read_to_end(&mut bytes)?;
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

/// Puts what a link says in front of what is left to walk; `..` above the root is the root.
pub(crate) fn follow(target: &Path, place: &mut PathBuf, left: &mut VecDeque<OsString>) {
    for component in target.components().rev() {
        match component {
            Component::Normal(name) => left.push_front(name.to_owned()),
            Component::ParentDir => left.push_front("..".into()),
            Component::RootDir => *place = PathBuf::new(),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
}
