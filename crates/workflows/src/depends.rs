//! What a task waits for: `depends` conditions over the results of other tasks, and the older `dependencies`,
//! which are one of them.

use std::collections::HashSet;

use crate::{
    graph::Tasks,
    model::Task,
    node::{Node, Phase},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// No condition at all.
    Always,
    /// Whether a task has this result.
    Is(String, TaskResult),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskResult {
    Succeeded,
    Failed,
    Errored,
    Skipped,
    Omitted,
    Daemoned,
    AnySucceeded,
    AllFailed,
}

impl TaskResult {
    const ALL: [(&'static str, Self); 8] = [
        ("Succeeded", Self::Succeeded),
        ("Failed", Self::Failed),
        ("Errored", Self::Errored),
        ("Skipped", Self::Skipped),
        ("Omitted", Self::Omitted),
        ("Daemoned", Self::Daemoned),
        ("AnySucceeded", Self::AnySucceeded),
        ("AllFailed", Self::AllFailed),
    ];

    fn read(text: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, result)| *result)
    }

    /// Whether a task that came to this node, and to these items where it is a loop, has this result.
    pub fn holds(self, node: &Node, items: &[&Node]) -> bool {
        let count = |phase: Phase| items.iter().filter(|item| item.phase == phase).count();
        match self {
            Self::Succeeded => node.phase == Phase::Succeeded,
            Self::Failed => node.phase == Phase::Failed,
            Self::Errored => node.phase == Phase::Error,
            Self::Skipped => node.phase == Phase::Skipped,
            Self::Omitted => node.phase == Phase::Omitted,
            Self::Daemoned => node.is_daemoned() && node.phase != Phase::Pending,
            Self::AnySucceeded => count(Phase::Succeeded) > 0,
            Self::AllFailed => !items.is_empty() && count(Phase::Failed) == items.len(),
        }
    }
}

/// What a task waits for. `dependencies` continue over failures where the other task says so.
pub fn of_task(task: &Task, tasks: &Tasks<'_>) -> Result<Condition, String> {
    if !task.depends.trim().is_empty() {
        return read(&task.depends, tasks);
    }
    let mut all = Condition::Always;
    for name in &task.dependencies {
        let one = done(name, tasks);
        all = match all {
            Condition::Always => one,
            before => Condition::And(Box::new(before), Box::new(one)),
        };
    }
    Ok(all)
}

impl Condition {
    /// The tasks it speaks of, each once, in the order in which they are named.
    pub fn tasks(&self) -> Vec<&str> {
        let (mut names, mut known) = (Vec::new(), HashSet::new());
        self.collect(&mut |name| {
            if known.insert(name) {
                names.push(name);
            }
        });
        names
    }

    fn collect<'a>(&'a self, take: &mut impl FnMut(&'a str)) {
        match self {
            Self::Always => {}
            Self::Is(name, _) => take(name),
            Self::Not(inner) => inner.collect(take),
            Self::And(left, right) | Self::Or(left, right) => {
                left.collect(take);
                right.collect(take);
            }
        }
    }

    pub fn holds(&self, is: &impl Fn(&str, TaskResult) -> bool) -> bool {
        match self {
            Self::Always => true,
            Self::Is(name, result) => is(name, *result),
            Self::Not(inner) => !inner.holds(is),
            Self::And(left, right) => left.holds(is) && right.holds(is),
            Self::Or(left, right) => left.holds(is) || right.holds(is),
        }
    }
}

fn or(left: Condition, right: Condition) -> Condition {
    Condition::Or(Box::new(left), Box::new(right))
}

/// A task named without a result: it is done, in one of the ways that let others go on.
fn done(name: &str, tasks: &Tasks<'_>) -> Condition {
    let is = |result| Condition::Is(name.to_owned(), result);
    let mut condition = or(
        or(is(TaskResult::Succeeded), is(TaskResult::Skipped)),
        is(TaskResult::Daemoned),
    );
    if let Some(task) = tasks.get(name) {
        for (phase, result) in [
            (Phase::Error, TaskResult::Errored),
            (Phase::Failed, TaskResult::Failed),
        ] {
            if task.continues_on(phase) {
                condition = or(condition, is(result));
            }
        }
    }
    condition
}

/// Reads a `depends` condition.
pub fn read(text: &str, tasks: &Tasks<'_>) -> Result<Condition, String> {
    let mut reader = Reader {
        rest: text,
        whole: text,
        tasks,
    };
    let condition = reader.any()?;
    reader.skip();
    if reader.rest.is_empty() {
        return Ok(condition);
    }
    Err(format!(
        "`{}` was not expected at character {}",
        reader.rest.chars().next().unwrap_or(' '),
        reader.at()
    ))
}

struct Reader<'a> {
    rest: &'a str,
    whole: &'a str,
    tasks: &'a Tasks<'a>,
}

impl Reader<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn at(&self) -> usize {
        self.whole.len() - self.rest.len() + 1
    }

    fn take(&mut self, sign: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(sign) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    fn any(&mut self) -> Result<Condition, String> {
        let mut left = self.all()?;
        while self.take("||") {
            left = or(left, self.all()?);
        }
        Ok(left)
    }

    fn all(&mut self) -> Result<Condition, String> {
        let mut left = self.one()?;
        while self.take("&&") {
            left = Condition::And(Box::new(left), Box::new(self.one()?));
        }
        Ok(left)
    }

    fn one(&mut self) -> Result<Condition, String> {
        if self.take("!") {
            return self.one().map(|inner| Condition::Not(Box::new(inner)));
        }
        if self.take("(") {
            let inner = self.any()?;
            if !self.take(")") {
                return Err(format!("`)` was expected at character {}", self.at()));
            }
            return Ok(inner);
        }
        self.task()
    }

    fn task(&mut self) -> Result<Condition, String> {
        self.skip();
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
        let end = self
            .rest
            .find(|letter| !is_part(letter))
            .unwrap_or(self.rest.len());
        if end == 0 {
            return Err(format!("a task was expected at character {}", self.at()));
        }
        let name = self.rest[..end].to_owned();
        self.rest = &self.rest[end..];
        if !self.rest.starts_with('.') {
            return Ok(done(&name, self.tasks));
        }
        let after = &self.rest[1..];
        let end = after.find(|letter| !is_part(letter)).unwrap_or(after.len());
        let result = TaskResult::read(&after[..end]).ok_or_else(|| {
            let known: Vec<&str> = TaskResult::ALL.iter().map(|(name, _)| *name).collect();
            format!(
                "`{}` is no result of a task; there are {}",
                &after[..end],
                known.join(", ")
            )
        })?;
        self.rest = &after[end..];
        Ok(Condition::Is(name, result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(text: &str) -> Result<Condition, String> {
        read(text, &Tasks::of(&[]))
    }

    fn holds(text: &str, true_ones: &[(&str, TaskResult)]) -> bool {
        let condition = alone(text).unwrap();
        condition.holds(&|name, result| true_ones.contains(&(name, result)))
    }

    #[test]
    fn a_task_alone_is_done_when_it_let_others_go_on() {
        for result in [TaskResult::Succeeded, TaskResult::Skipped, TaskResult::Daemoned] {
            assert!(holds("A", &[("A", result)]));
        }
        assert!(!holds("A", &[("A", TaskResult::Failed)]));
    }

    #[test]
    fn results_are_combined() {
        let failed = [("a-b", TaskResult::Failed), ("C", TaskResult::Succeeded)];
        assert!(holds("a-b.Failed && C", &failed));
        assert!(holds("(a-b || C.Succeeded) && !D.Omitted", &failed));
        assert!(!holds("a-b && C || D", &failed));
    }

    #[test]
    fn tasks_are_named_once() {
        let condition = alone("A.Failed || B && (A || !C.Skipped)").unwrap();
        assert_eq!(condition.tasks(), ["A", "B", "C"]);
    }

    #[test]
    fn older_dependencies_go_on_over_failures_where_that_is_said() {
        let task = |value| serde_json::from_value::<Task>(value).unwrap();
        let tasks = [
            task(serde_json::json!({"name": "A", "continueOn": {"failed": true}})),
            task(serde_json::json!({"name": "B", "dependencies": ["A"]})),
        ];
        let condition = of_task(&tasks[1], &Tasks::of(&tasks)).unwrap();
        assert!(condition.holds(&|name, result| (name, result) == ("A", TaskResult::Failed)));
        assert!(!condition.holds(&|name, result| (name, result) == ("A", TaskResult::Errored)));
    }

    #[test]
    fn mistakes_say_where_they_are() {
        assert_eq!(
            alone("A &&"),
            Err("a task was expected at character 5".to_owned())
        );
        assert_eq!(alone("(A"), Err("`)` was expected at character 3".to_owned()));
        assert_eq!(
            alone("A B"),
            Err("`B` was not expected at character 3".to_owned())
        );
        assert!(
            alone("A.Suceeded")
                .unwrap_err()
                .starts_with("`Suceeded` is no result")
        );
    }
}
