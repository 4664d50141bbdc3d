//! Documents as their readers use them: commands to paste, files to save, output to compare with.

use std::{fs, path::Path};

use crate::session::{expected, line_matches};

/// The fenced blocks of a Markdown page.
#[derive(Debug, Default)]
pub struct Page {
    /// Blocks of Python, by the file that the text before them says to save them as.
    pub files: Vec<(String, String)>,
    commands: Vec<Command>,
}

/// A command and the output that the page shows for it.
#[derive(Debug, PartialEq)]
struct Command {
    line: String,
    shown: Vec<String>,
}

impl Page {
    #[track_caller]
    pub fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file);
        Self::parse(&text.unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display())))
    }

    fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut lines = text.lines();
        let mut before = "";
        while let Some(line) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                page.add(language, &block, before);
            } else if !line.is_empty() {
                before = line;
            }
        }
        page
    }

    fn add(&mut self, language: &str, block: &[&str], before: &str) {
        match language {
            "sh" => {
                let lines = block
                    .iter()
                    .filter(|line| !line.is_empty() && !line.starts_with('#'));
                self.commands.extend(lines.map(|line| command(line)));
            }
            "console" => {
                for line in block {
                    match (line.strip_prefix("$ "), self.commands.last_mut()) {
                        (Some(line), _) => self.commands.push(command(line)),
                        (None, Some(last)) => last.shown.push((*line).to_owned()),
                        (None, None) => {}
                    }
                }
            }
            "python" => {
                let name = before.split('`').nth(1).unwrap_or_default();
                self.files.push((name.to_owned(), block.join("\n") + "\n"));
            }
            _ => {}
        }
    }

    /// Fails unless a session has the page's commands in their order, and prints what the page shows.
    #[track_caller]
    pub fn assert_played_by(&self, session: &Path) {
        let text = fs::read_to_string(session).expect("the session can be read");
        let steps = expected(&text);
        let mut rest = steps.iter();
        for command in &self.commands {
            let step = rest.find(|step| step.command == command.line);
            let step = step.unwrap_or_else(|| {
                panic!(
                    "{} does not have the command `{}` of the page, or not in its place",
                    session.display(),
                    command.line
                )
            });
            for shown in &command.shown {
                assert!(
                    step.lines.iter().any(|pattern| line_matches(pattern, shown)),
                    "{}: `{}` does not print `{shown}`, which the page shows",
                    session.display(),
                    command.line
                );
            }
        }
    }
}

/// A line to type, without the comment behind it.
fn command(line: &str) -> Command {
    let line = line.split("  #").next().unwrap_or_default().trim_end();
    Command {
        line: line.to_owned(),
        shown: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_output_and_files_are_read_from_a_page() {
        let page = Page::parse(
            "Type:\n\n```sh\nmake      # slowly\n\n# A comment.\ncd a\n```\n\
             Save this as `a.py`:\n\n```python\nprint(1)\n```\n\
             ```console\n$ python3 a.py\n1\n$ ls\n```\n```yaml\nno: command\n```\n",
        );
        let lines: Vec<_> = page.commands.iter().map(|one| one.line.as_str()).collect();
        assert_eq!(lines, ["make", "cd a", "python3 a.py", "ls"]);
        assert_eq!(page.commands[2].shown, ["1"]);
        assert_eq!(page.files, [("a.py".to_owned(), "print(1)\n".to_owned())]);
    }
}
