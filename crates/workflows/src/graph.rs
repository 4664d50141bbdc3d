//! The tasks of a DAG: found by their names, what each waits for, and which of those it speaks of. DAGs may have
//! thousands of tasks, so nothing here looks through all of them for one.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    depends::{self, Condition},
    model::Task,
};

/// Tasks by their names; of several that share one, the first.
pub struct Tasks<'a> {
    all: &'a [Task],
    places: HashMap<&'a str, usize>,
}

impl<'a> Tasks<'a> {
    pub fn of(all: &'a [Task]) -> Self {
        let mut places = HashMap::new();
        for (place, task) in all.iter().enumerate() {
            places.entry(task.name.as_str()).or_insert(place);
        }
        Self { all, places }
    }

    pub fn all(&self) -> &'a [Task] {
        self.all
    }

    pub fn get(&self, name: &str) -> Option<&'a Task> {
        self.place(name).map(|place| &self.all[place])
    }

    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }
}

/// What waits for what.
pub(crate) struct Graph<'a> {
    pub(crate) tasks: Tasks<'a>,
    /// By the places of tasks, as are the others.
    conditions: Vec<Result<Condition, String>>,
    dependencies: Vec<Vec<String>>,
}

impl<'a> Graph<'a> {
    pub(crate) fn of(tasks: &'a [Task]) -> Self {
        let tasks = Tasks::of(tasks);
        let conditions: Vec<_> = tasks
            .all
            .iter()
            .map(|task| depends::of_task(task, &tasks))
            .collect();
        let named = |condition: &Result<Condition, String>| {
            let names = condition.as_ref().map(Condition::tasks).unwrap_or_default();
            names.into_iter().map(str::to_owned).collect()
        };
        Self {
            dependencies: conditions.iter().map(named).collect(),
            tasks,
            conditions,
        }
    }

    /// What a task waits for, where that can be read.
    pub(crate) fn condition(&self, task: &str) -> Option<&Condition> {
        let place = self.tasks.place(task)?;
        self.conditions[place].as_ref().ok()
    }

    /// The first thing that is wrong with how a condition is written.
    pub(crate) fn problem(&self) -> Option<&str> {
        (0..self.conditions.len()).find_map(|place| self.problem_at(place))
    }

    pub(crate) fn problem_at(&self, place: usize) -> Option<&str> {
        self.conditions[place].as_ref().err().map(String::as_str)
    }

    pub(crate) fn dependencies_at(&self, place: usize) -> &[String] {
        &self.dependencies[place]
    }

    /// The tasks that a task waits for itself.
    pub(crate) fn dependencies(&self, task: &str) -> &[String] {
        let place = self.tasks.place(task);
        place.map(|place| self.dependencies_at(place)).unwrap_or_default()
    }

    /// Tasks that no other one waits for.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = &'a Task> {
        let waited_for: HashSet<&str> = self.dependencies.iter().flatten().map(String::as_str).collect();
        let is_leaf = |task: &&Task| !waited_for.contains(task.name.as_str());
        let leaves: Vec<&Task> = self.tasks.all.iter().filter(is_leaf).collect();
        leaves.into_iter()
    }

    /// Targets and everything they wait for, each after what it waits for. Chains of tasks may be longer than a stack.
    pub(crate) fn in_order(&self, targets: &[String]) -> Vec<String> {
        let (mut order, mut seen) = (Vec::new(), HashSet::new());
        for target in targets {
            let mut open: Vec<(&str, bool)> = vec![(target, false)];
            while let Some((task, is_ready)) = open.pop() {
                if is_ready {
                    order.push(task.to_owned());
                } else if seen.insert(task) {
                    open.push((task, true));
                    let dependencies = self.dependencies(task).iter().rev();
                    open.extend(dependencies.map(|dependency| (dependency.as_str(), false)));
                }
            }
        }
        order
    }

    /// Of the tasks that a task waits for, however far away, those it speaks of.
    pub(crate) fn spoken_of(&self, task: &Task) -> Vec<&'a Task> {
        let mut wanted = mentioned(task);
        if let Mentioned::These(names) = &mut wanted {
            names.retain(|name| *name != task.name && self.tasks.place(name).is_some());
        }
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let mut open: Vec<&str> = vec![&task.name];
        while let Some(name) = open.pop() {
            for dependency in self.dependencies(name) {
                if matches!(&wanted, Mentioned::These(names) if names.is_empty()) {
                    return found;
                }
                if !seen.insert(dependency.as_str()) {
                    continue;
                }
                open.push(dependency);
                let is_wanted = match &mut wanted {
                    Mentioned::All => true,
                    Mentioned::These(names) => names.remove(dependency),
                };
                found.extend(self.tasks.get(dependency).filter(|_| is_wanted));
            }
        }
        found
    }
}

/// Which tasks the texts of a task may speak of.
#[derive(Debug, PartialEq, Eq)]
enum Mentioned {
    All,
    These(BTreeSet<String>),
}

/// Rather one too many than one too few: `{{tasks.a.outputs.result}}`, `{{=tasks['a'].status}}`, and everything where
/// an expression might speak of any.
fn mentioned(task: &Task) -> Mentioned {
    const WORD: &str = "tasks";
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    let text = serde_json::to_string(task).unwrap_or_default();
    let has_expressions = text.contains("{{=") || text.contains("xpression\":");
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices(WORD) {
        if text[..at].ends_with(is_part) {
            continue;
        }
        let after = &text[at + WORD.len()..];
        let begins = [".", "?.", "['", "[\\\""]
            .iter()
            .find_map(|sign| after.strip_prefix(sign));
        let name = begins.map(|rest| &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())]);
        match name.filter(|name| !name.is_empty()) {
            Some(name) => {
                // In an expression `a-b` is a difference.
                let shorter = name.match_indices('-').map(|(end, _)| name[..end].to_owned());
                names.extend(shorter);
                names.insert(name.to_owned());
            }
            None if has_expressions && !after.starts_with(is_part) => return Mentioned::All,
            None => {}
        }
    }
    Mentioned::These(names)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn task(written: Value) -> Task {
        serde_json::from_value(written).unwrap()
    }

    fn said(text: &str) -> Mentioned {
        mentioned(&task(json!({"name": "t", "when": text})))
    }

    fn these(names: &[&str]) -> Mentioned {
        Mentioned::These(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn texts_tell_which_tasks_they_speak_of() {
        assert_eq!(
            said("{{tasks.a.outputs.result}} == {{tasks.b_1.status}}"),
            these(&["a", "b_1"])
        );
        assert_eq!(said("{{=tasks['a-b'].status}}"), these(&["a", "a-b"]));
        assert_eq!(
            said("{{=tasks[\"a\"].status + tasks?.c.status}}"),
            these(&["a", "c"])
        );
        assert_eq!(said("the tasks of subtasks.x"), these(&[]));
        assert_eq!(said("{{=toJson(tasks)}}"), Mentioned::All);
        assert_eq!(said("{{=tasks[inputs.parameters.x].status}}"), Mentioned::All);
        let hooked = json!({"name": "t", "hooks": {"h": {"template": "x", "expression": "len(tasks) > 1"}}});
        assert_eq!(mentioned(&task(hooked)), Mentioned::All);
    }

    #[test]
    fn only_what_a_task_waits_for_counts() {
        let tasks = [
            task(json!({"name": "a"})),
            task(json!({"name": "b", "depends": "a"})),
            task(
                json!({"name": "c", "depends": "b", "when": "{{tasks.a.status}} {{tasks.d.status}} {{tasks.c.status}}"}),
            ),
            task(json!({"name": "d", "depends": "c", "when": "{{=toJson(tasks)}}"})),
        ];
        let graph = Graph::of(&tasks);
        let names = |place: usize| -> Vec<&str> {
            let found = graph.spoken_of(&tasks[place]);
            found.iter().map(|task| task.name.as_str()).collect()
        };
        assert_eq!(names(1), Vec::<&str>::new());
        assert_eq!(names(2), ["a"]);
        assert_eq!(names(3), ["c", "b", "a"]);
        assert_eq!(graph.in_order(&["d".to_owned()]), ["a", "b", "c", "d"]);
        assert_eq!(
            graph.leaves().map(|task| task.name.as_str()).collect::<Vec<_>>(),
            ["d"]
        );
    }
}
