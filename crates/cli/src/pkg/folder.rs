//! A package on disk: what is read of it, and how what a command says becomes files again.

use std::{
    collections::BTreeMap,
    fs, io,
    io::{IsTerminal as _, Read as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, anyhow};
use setters::{Outcome, Package, Problem};

use super::{
    build::absolute,
    complaint::Complaint,
    replace::{self, Found, Replacements},
};
use crate::advised;

/// A folder with the texts of its files.
#[derive(Debug)]
pub(super) struct Folder {
    /// What its user puts before the names of its files; of what is in no folder, nothing.
    name: String,
    /// Where it is, without links.
    root: PathBuf,
    package: Package,
}

/// Runs a command on everything in a folder.
pub(super) fn carry_out(dir: &Path, command: impl FnOnce(&Package) -> Outcome) -> Result<ExitCode> {
    let folder = Folder::whole(dir)?;
    let outcome = command(&folder.package);
    folder.conclude(outcome)
}

/// Runs a command on a folder, a file, or what another program says.
pub(super) fn carry_out_on(
    path: Option<&Path>,
    command: impl FnOnce(&Package) -> Outcome,
) -> Result<ExitCode> {
    let folder = Folder::at(path)?;
    let outcome = command(&folder.package);
    folder.conclude(outcome)
}

/// Whether a command could be run there; nothing comes of it.
pub(super) fn check(path: &Path, command: impl FnOnce(&Package) -> Outcome) -> Result<()> {
    let folder = Folder::at(Some(path))?;
    match command(&folder.package).problem {
        Some(problem) => Err(folder.complain(&problem)),
        None => Ok(()),
    }
}

impl Folder {
    /// A folder, a file, or what another program says. Nobody types manifests: in a terminal, the working directory is
    /// meant.
    fn at(path: Option<&Path>) -> Result<Self> {
        match path {
            Some(path) if path.is_file() => Self::of_file(path),
            Some(path) => Self::whole(path),
            None if io::stdin().is_terminal() => Self::whole(Path::new(".")),
            None => Self::of_standard_input(),
        }
    }

    /// A folder with everything in it.
    fn whole(dir: &Path) -> Result<Self> {
        let root = resolve(dir)?;
        let mut contents = Contents::default();
        contents.collect(&root, &root)?;
        if !contents.begun.is_empty() {
            let begun = std::mem::take(&mut contents).begun;
            for folder in &begun {
                finish(folder);
            }
            contents.collect(&root, &root)?;
        }
        Self::new(dir, dir, root, contents.files)
    }

    /// A folder of which only some files matter, and only those of them that are there.
    pub(super) fn with(dir: &Path, names: &[&str]) -> Result<Self> {
        let root = resolve(dir)?;
        finish(&root);
        let mut files = BTreeMap::new();
        for name in names {
            let path = root.join(name);
            if path.exists() {
                files.insert((*name).to_owned(), read(&root, &path)?);
            }
        }
        Self::new(dir, dir, root, files)
    }

    /// The folder of a file, as if it had no other.
    fn of_file(path: &Path) -> Result<Self> {
        let unreadable = || format!("cannot read `{}`", path.display());
        let file = fs::canonicalize(path).with_context(unreadable)?;
        let (Some(root), Some(name)) = (file.parent(), file.file_name().and_then(|name| name.to_str()))
        else {
            return Err(anyhow!("the name of `{}` is not UTF-8", path.display()));
        };
        finish(root);
        let files = BTreeMap::from([(name.to_owned(), fs::read(&file).with_context(unreadable)?)]);
        Self::new(path, path.parent().unwrap_or(path), root.to_owned(), files)
    }

    /// What is only printed again, and never written.
    fn of_standard_input() -> Result<Self> {
        let mut bytes = Vec::new();
        let read = io::stdin().read_to_end(&mut bytes);
        read.context("cannot read standard input")?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let package = Package::stream(bytes).map_err(|problem| complain("", &problem, Some(&text)))?;
        Ok(Self {
            name: String::new(),
            root: PathBuf::new(),
            package,
        })
    }

    /// `shown` is what the user asks for, `name` the folder of the files.
    fn new(shown: &Path, name: &Path, root: PathBuf, files: BTreeMap<String, Vec<u8>>) -> Result<Self> {
        let name = name.display().to_string();
        match Package::new(&shown.display().to_string(), files) {
            Ok(package) => Ok(Self { name, root, package }),
            Err(problem) => {
                // A file that is no text is not in any package, so it is looked at once more.
                let bytes = problem
                    .file
                    .as_ref()
                    .and_then(|file| fs::read(root.join(file)).ok());
                let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                Err(complain(&name, &problem, text.as_deref()))
            }
        }
    }

    pub(super) fn package(&self) -> &Package {
        &self.package
    }

    /// Writes what is to be written, and only then says that it was.
    pub(super) fn conclude(&self, outcome: Outcome) -> Result<ExitCode> {
        for note in &outcome.notes {
            eprintln!("{note}");
        }
        if let Some(problem) = &outcome.problem {
            print!("{}", outcome.output);
            return Err(self.complain(problem));
        }
        self.write(&outcome.edits)?;
        print!("{}", outcome.output);
        Ok(if outcome.is_success() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(1)
        })
    }

    fn complain(&self, problem: &Problem) -> anyhow::Error {
        let text = problem.file.as_deref().and_then(|file| self.package.text(file));
        complain(&self.name, problem, text)
    }

    fn write(&self, edits: &BTreeMap<String, String>) -> Result<()> {
        let mut targets: BTreeMap<PathBuf, (&str, &String)> = BTreeMap::new();
        for (path, text) in edits {
            // Through a link, what it leads to is changed, and the link stays.
            let target = match self.package.text(path) {
                Some(_) => within(&self.root, &self.root.join(path))?,
                None => self.root.join(path),
            };
            let first = targets.entry(target).or_insert((path, text));
            if first.1 != text {
                let other = first.0;
                return Err(anyhow!(
                    "`{path}` and `{other}` are one file, and would have to be two"
                ));
            }
        }
        let mut replacements = Replacements::default();
        for (target, (path, text)) in targets {
            replacements.add(&target, self.package.text(path), text)?;
        }
        replacements.commit()
    }
}

fn complain(folder: &str, problem: &Problem, text: Option<&str>) -> anyhow::Error {
    let shown = |file: &String| {
        let path = Path::new(folder).join(file);
        path.strip_prefix(".").unwrap_or(&path).display().to_string()
    };
    Complaint {
        message: problem.message.clone(),
        file: problem.file.as_ref().map(shown),
        place: problem.place,
        text,
        hint: problem.hint.clone(),
    }
    .into_error()
}

fn resolve(dir: &Path) -> Result<PathBuf> {
    let root =
        fs::canonicalize(absolute(dir)?).with_context(|| format!("cannot open `{}`", dir.display()))?;
    if root.is_dir() {
        return Ok(root);
    }
    Err(advised(
        format!("`{}` is a file", dir.display()),
        "name the folder of the package",
    ))
}

/// Everything below a folder that a command may ask for.
#[derive(Debug, Default)]
struct Contents {
    files: BTreeMap<String, Vec<u8>>,
    /// Folders in which an earlier command was at work, or somebody is.
    begun: Vec<PathBuf>,
}

impl Contents {
    /// Links to folders are not followed, as in kustomize.
    fn collect(&mut self, root: &Path, folder: &Path) -> Result<()> {
        let unreadable = || format!("cannot read the folder `{}`", folder.display());
        for entry in fs::read_dir(folder).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?;
            let path = entry.path();
            if entry.file_type().with_context(unreadable)?.is_dir() {
                self.collect(root, &path)?;
                continue;
            }
            if entry.file_name() == replace::JOURNAL {
                self.begun.push(folder.to_owned());
                continue;
            }
            let name = path.strip_prefix(root).unwrap_or(&path);
            if !Package::wants(&name.to_string_lossy()) || path.is_dir() {
                continue;
            }
            let Some(name) = name.to_str() else {
                return Err(anyhow!("the name of `{}` is not UTF-8", path.display()));
            };
            self.files.insert(name.to_owned(), read(root, &path)?);
        }
        Ok(())
    }
}

/// Finishes what a command that was killed had begun in a folder, and says so. Where that cannot be, files are what
/// they are: whoever wants to change them is told then.
fn finish(folder: &Path) {
    let shown = folder.display();
    match replace::recover(folder) {
        Ok(Found::Nothing | Found::Busy) => {}
        Ok(Found::Undone) => eprintln!(
            "note: an earlier command was interrupted in `{shown}` before it changed any file; what it left is removed"
        ),
        Ok(Found::Finished(files)) => eprintln!(
            "note: an earlier command was interrupted in `{shown}` while it changed files; the {files} that were left are changed now"
        ),
        Err(error) => eprintln!("warning: {error:#}"),
    }
}

fn read(root: &Path, path: &Path) -> Result<Vec<u8>> {
    let file = within(root, path)?;
    if !file.is_file() {
        return Err(anyhow!("`{}` is no regular file", path.display()));
    }
    fs::read(&file).with_context(|| format!("cannot read `{}`", path.display()))
}

/// Where a path leads; out of the package it may not.
fn within(root: &Path, path: &Path) -> Result<PathBuf> {
    let file = fs::canonicalize(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    if file.starts_with(root) {
        return Ok(file);
    }
    Err(advised(
        format!(
            "security: `{}` leads to `{}`, which is not in or below `{}`",
            path.display(),
            file.display(),
            root.display()
        ),
        "put the file itself in the place of the link",
    ))
}
