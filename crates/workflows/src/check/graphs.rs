//! Steps and tasks: their names, their loops, and what waits for what.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Check;
use crate::{
    depends,
    model::{Dag, Step, Task, Template},
    tags,
};

/// Names that mean something else in variables.
const RESERVED: [&str; 2] = ["inputs", "outputs"];

impl Check<'_> {
    pub(super) fn steps(&mut self, template: &Template, field: &str) {
        let mut names = BTreeSet::new();
        for (group_index, group) in template.steps.iter().flatten().enumerate() {
            for (index, step) in group.0.iter().enumerate() {
                let at = format!("{field}[{group_index}][{index}]");
                if step.name.is_empty() {
                    self.problem(format!("{at}.name"), "name is required");
                    continue;
                }
                if !names.insert(step.name.clone()) {
                    self.problem(
                        format!("{at}.name"),
                        format!("name '{}' is not unique", step.name),
                    );
                }
                self.name(&step.name, &format!("{at}.name"), false);
                self.loops(step, &at);
            }
        }
    }

    fn loops(&mut self, step: &Step, field: &str) {
        let given = [
            ("withItems", step.with_items.is_some()),
            ("withParam", !step.with_param.is_empty()),
            ("withSequence", step.with_sequence.is_some()),
        ];
        let given: Vec<&str> = given
            .iter()
            .filter(|(_, is_given)| *is_given)
            .map(|(name, _)| *name)
            .collect();
        if given.len() > 1 {
            self.problem(field, format!("only one of {} may be given", given.join(", ")));
        }
        if let Some(sequence) = &step.with_sequence {
            match (&sequence.count, &sequence.end) {
                (None, None) => {
                    self.problem(format!("{field}.withSequence"), "must have one of count or end");
                }
                (Some(_), Some(_)) => {
                    self.problem(
                        format!("{field}.withSequence"),
                        "only one of count or end can be defined",
                    );
                }
                _ => {}
            }
        }
        if !step.with_param.is_empty()
            && !tags::has_tags(&step.with_param)
            && !matches!(serde_json::from_str(&step.with_param), Ok(Value::Array(_)))
        {
            self.problem(
                format!("{field}.withParam"),
                "withParam must be a JSON list, or a variable that holds one",
            );
        }
        if !tags::has_tags(&step.when)
            && let Err(error) = crate::when::holds(&step.when)
        {
            self.problem(format!("{field}.when"), error.to_string());
        }
    }

    pub(super) fn dag(&mut self, template: &Template, field: &str) {
        let Some(dag) = &template.dag else { return };
        if dag.tasks.is_empty() {
            return self.problem(format!("{field}.tasks"), "a DAG needs at least one task");
        }
        let mut is_readable = true;
        for index in 0..dag.tasks.len() {
            let at = format!("{field}.tasks[{index}]");
            self.task(&dag.tasks, index, &at);
            is_readable &= self.dependencies(&dag.tasks, index, &at);
        }
        self.targets(dag, field);
        if is_readable {
            self.circles(&dag.tasks, field);
        }
    }

    fn task(&mut self, tasks: &[Task], index: usize, at: &str) {
        let task = &tasks[index];
        if task.name.is_empty() {
            return self.problem(format!("{at}.name"), "name is required");
        }
        let uses_depends = tasks.iter().any(|task| !task.depends.is_empty());
        if tasks[..index].iter().any(|other| other.name == task.name) {
            self.problem(
                format!("{at}.name"),
                format!("name '{}' is not unique", task.name),
            );
        }
        self.name(&task.name, &format!("{at}.name"), false);
        if uses_depends && task.name.starts_with(|letter: char| letter.is_ascii_digit()) {
            self.problem(
                format!("{at}.name"),
                format!(
                    "task name '{}' cannot begin with a digit when using 'depends'",
                    task.name
                ),
            );
        }
        if RESERVED.contains(&task.name.as_str()) {
            self.problem(format!("{at}.name"), format!("name '{}' is reserved", task.name));
        }
        if !task.depends.is_empty() && !task.dependencies.is_empty() {
            self.problem(at, "a task cannot have both 'depends' and 'dependencies'");
        } else if uses_depends && !task.dependencies.is_empty() {
            self.problem(
                format!("{at}.dependencies"),
                "templates cannot use both 'depends' and 'dependencies' in the same DAG template",
            );
        }
        if uses_depends && task.continue_on.is_some() {
            self.problem(
                format!("{at}.continueOn"),
                "cannot use 'continueOn' when using 'depends'; use 'depends: X.Failed' instead",
            );
        }
        self.loops(task, at);
    }

    /// Whether what a task waits for can be read; all of it must be there.
    fn dependencies(&mut self, tasks: &[Task], index: usize, at: &str) -> bool {
        let task = &tasks[index];
        let condition = match depends::of_task(task, tasks) {
            Ok(condition) => condition,
            Err(message) => {
                self.problem(format!("{at}.depends"), message);
                return false;
            }
        };
        let at = if task.depends.is_empty() {
            format!("{at}.dependencies")
        } else {
            format!("{at}.depends")
        };
        let names = || tasks.iter().map(|task| task.name.as_str());
        for dependency in condition.tasks() {
            if dependency == task.name {
                self.problem(at.clone(), format!("task '{dependency}' depends on itself"));
            } else if !names().any(|name| name == dependency) {
                let meant = super::meant(dependency, names());
                let hint = meant.map_or_else(String::new, |meant| format!("; did you mean '{meant}'?"));
                self.problem(at.clone(), format!("dependency '{dependency}' not defined{hint}"));
            }
        }
        true
    }

    fn targets(&mut self, dag: &Dag, field: &str) {
        if tags::has_tags(&dag.target) {
            return;
        }
        for target in dag.target.split_whitespace() {
            if !dag.tasks.iter().any(|task| task.name == target) {
                self.problem(
                    format!("{field}.target"),
                    format!("target '{target}' is not defined"),
                );
            }
        }
    }

    fn circles(&mut self, tasks: &[Task], field: &str) {
        let edges = |name: &str| {
            let task = tasks.iter().find(|task| task.name == name);
            let condition = task.and_then(|task| depends::of_task(task, tasks).ok());
            let names = condition
                .as_ref()
                .map(|condition| condition.tasks())
                .unwrap_or_default();
            names.into_iter().map(str::to_owned).collect()
        };
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        if let Some(cycle) = find_cycle(&names, &edges) {
            self.problem(
                format!("{field}.tasks"),
                format!("dependency cycle detected: {cycle}"),
            );
        }
    }
}

/// Names that lead back to where they began: `A -> B -> A`.
pub(super) fn find_cycle(names: &[&str], edges: &impl Fn(&str) -> Vec<String>) -> Option<String> {
    fn visit(
        name: &str,
        edges: &impl Fn(&str) -> Vec<String>,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<String> {
        if let Some(at) = path.iter().position(|known| known == name) {
            let mut cycle = path[at..].to_vec();
            cycle.push(name.to_owned());
            return Some(cycle.join(" -> "));
        }
        if !done.insert(name.to_owned()) {
            return None;
        }
        path.push(name.to_owned());
        let found = edges(name).iter().find_map(|next| visit(next, edges, path, done));
        path.pop();
        found
    }
    let mut done = BTreeSet::new();
    names
        .iter()
        .find_map(|name| visit(name, edges, &mut Vec::new(), &mut done))
}
