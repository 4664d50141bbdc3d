//! A tree as lines.

/// A line and what is below it.
pub(super) struct Branch {
    line: String,
    pub(super) children: Vec<Branch>,
}

impl Branch {
    pub(super) fn new(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            children: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, child: Branch) -> &mut Branch {
        let index = self.children.len();
        self.children.push(child);
        &mut self.children[index]
    }

    /// The branch that numbers lead to.
    pub(super) fn at(&mut self, path: &[usize]) -> &mut Branch {
        path.iter()
            .fold(self, |branch, index| &mut branch.children[*index])
    }

    pub(super) fn draw(&self) -> String {
        let mut lines = format!("{}\n", self.line);
        self.draw_below("", &mut lines);
        lines
    }

    fn draw_below(&self, margin: &str, lines: &mut String) {
        for (index, child) in self.children.iter().enumerate() {
            let is_last = index + 1 == self.children.len();
            let (edge, below) = if is_last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            lines.push_str(&format!("{margin}{edge}{}\n", child.line));
            child.draw_below(&format!("{margin}{below}"), lines);
        }
    }
}
