//! Where a walk over a value is. A chain of borrowed steps: nothing is allocated unless there is
//! something to complain about, and then the steps are spelled out.

use manifests::field::Path;

#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    Root,
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

#[derive(Clone, Copy)]
pub(crate) struct Trail<'a> {
    parent: Option<&'a Trail<'a>>,
    step: Step<'a>,
}

impl<'a> Trail<'a> {
    pub(crate) const ROOT: Trail<'static> = Trail {
        parent: None,
        step: Step::Root,
    };

    pub(crate) fn field(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    pub(crate) fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    pub(crate) fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        matches!(self.step, Step::Root)
    }

    /// The path with map keys in brackets: `data[key].items[0]`.
    pub(crate) fn path(&self, base: &Path) -> Path {
        let parent = match self.parent {
            Some(parent) => parent.path(base),
            None => base.clone(),
        };
        match self.step {
            Step::Root => parent,
            Step::Field(name) => parent.child(name),
            Step::Key(key) => parent.key(key),
            Step::Index(index) => parent.index(index),
        }
    }

    /// The path with map keys as if they were fields: `data.key.items[0]`.
    pub(crate) fn dotted(&self) -> String {
        self.undistinguished().as_str().to_owned()
    }

    fn undistinguished(&self) -> Path {
        let parent = self.parent.map_or_else(Path::root, Trail::undistinguished);
        match self.step {
            Step::Root => parent,
            Step::Field(name) | Step::Key(name) => parent.child(name),
            Step::Index(index) => parent.index(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_spells_out_its_steps() {
        let root = Trail::ROOT;
        let data = root.field("data");
        let key = data.key("a.b");
        let item = key.index(3);
        assert_eq!(item.path(&Path::root()).as_str(), "data[a.b][3]");
        assert_eq!(item.path(&Path::new("status")).as_str(), "status.data[a.b][3]");
        assert_eq!(item.dotted(), "data.a.b[3]");
    }
}
