//! What lasts for one build: files that were read, schemas in use, warnings.

use std::{
    cell::{RefCell, RefMut},
    collections::HashMap,
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    Options,
    node::{At, Documents, ReadProblem, read_documents},
    problem::{BuildError, Outcome, Problem},
    schema::{Definitions, Schemas},
};
use crate::files::{FileError, Files};

pub(super) struct Session<'f> {
    pub(super) files: &'f dyn Files,
    pub(super) options: &'f Options,
    /// Files by their numbers.
    names: RefCell<Names>,
    /// A base may be built many times; its files are parsed once.
    parsed: RefCell<HashMap<PathBuf, Rc<Documents>>>,
    warnings: RefCell<Vec<String>>,
    schemas: RefCell<Schemas>,
}

/// The files of a build. Those beyond what can be counted have no number, and no places.
#[derive(Default)]
struct Names {
    by_number: Vec<PathBuf>,
    numbers: HashMap<PathBuf, u16>,
}

impl Names {
    fn number(&mut self, path: &Path) -> u16 {
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        let number = u16::try_from(self.by_number.len()).unwrap_or(u16::MAX);
        if number < u16::MAX {
            self.by_number.push(path.to_owned());
            self.numbers.insert(path.to_owned(), number);
        }
        number
    }
}

impl<'f> Session<'f> {
    pub(super) fn new(files: &'f dyn Files, options: &'f Options) -> Self {
        Self {
            files,
            options,
            names: RefCell::default(),
            parsed: RefCell::default(),
            warnings: RefCell::default(),
            schemas: RefCell::default(),
        }
    }

    pub(super) fn warn(&self, warning: impl Into<String>) {
        self.warnings.borrow_mut().push(warning.into());
    }

    pub(super) fn take_warnings(&self) -> Vec<String> {
        self.warnings.take()
    }

    pub(super) fn schemas(&self) -> RefMut<'_, Schemas> {
        self.schemas.borrow_mut()
    }

    /// The definitions in use now.
    pub(super) fn definitions(&self) -> Definitions {
        self.schemas().in_use()
    }

    /// The beginning of a file.
    pub(super) fn start_of(&self, path: &Path) -> At {
        At {
            file: self.names.borrow_mut().number(path),
            line: 0,
            column: 0,
        }
    }

    /// The files by their numbers.
    pub(super) fn file_names(&self) -> Rc<[PathBuf]> {
        self.names.borrow().by_number.as_slice().into()
    }

    pub(super) fn error(&self, problem: Problem) -> BuildError {
        let names = self.names.borrow();
        problem.into_error(|file| names.by_number.get(usize::from(file)).map(PathBuf::as_path))
    }

    pub(super) fn read(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        self.files.read(path)
    }

    /// The text of a file.
    pub(super) fn read_text(&self, path: &Path, at: At) -> Outcome<String> {
        let bytes = self.read(path).map_err(|error| unreadable(path, &error).at(at))?;
        if let Some(text) = of_utf16(&bytes) {
            let problem = || {
                Problem::new("the file is UTF-16 with something missing")
                    .at(At {
                        line: 1,
                        column: 1,
                        ..self.start_of(path)
                    })
                    .help("save it as UTF-8")
            };
            return text.map_err(|_| problem());
        }
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let before = &error.as_bytes()[..valid];
            let line = before.split(|byte| *byte == b'\n').count();
            let column = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len);
            Problem::new("the file is not UTF-8")
                .at(At {
                    line: line as u32,
                    column: u16::try_from(column + 1).unwrap_or(u16::MAX),
                    ..self.start_of(path)
                })
                .help("save it as UTF-8; other bytes can be in files of a generator only")
        })
    }

    /// The documents of a file.
    pub(super) fn documents(&self, path: &Path, at: At) -> Outcome<Rc<Documents>> {
        if let Some(documents) = self.parsed.borrow().get(path) {
            return Ok(Rc::clone(documents));
        }
        let text = self.read_text(path, at)?;
        let file = self.start_of(path).file;
        let documents = Rc::new(read_documents(&text, file).map_err(malformed)?);
        let mut parsed = self.parsed.borrow_mut();
        parsed.insert(path.to_owned(), Rc::clone(&documents));
        Ok(documents)
    }
}

/// A character is cut off.
struct NotWhole;

/// The text of a file that begins as UTF-16 does, as some editors write it.
fn of_utf16(bytes: &[u8]) -> Option<Result<String, NotWhole>> {
    let (unit, bytes): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xFF, 0xFE, bytes @ ..] => (u16::from_le_bytes, bytes),
        [0xFE, 0xFF, bytes @ ..] => (u16::from_be_bytes, bytes),
        _ => return None,
    };
    let (units, rest) = bytes.as_chunks();
    let text = char::decode_utf16(units.iter().map(|bytes| unit(*bytes))).collect::<Result<String, _>>();
    let text = text.ok().filter(|_| rest.is_empty());
    Some(text.ok_or(NotWhole))
}

pub(super) fn malformed(problem: ReadProblem) -> Problem {
    Problem::new(format!("malformed YAML: {}", problem.message)).at(problem.at)
}

pub(super) fn unreadable(path: &Path, error: &FileError) -> Problem {
    Problem::new(format!("`{}`: {error}", path.display()))
}
