//! Steps and tasks: their names, their loops, and what waits for what.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::Check;
use crate::{
    graph::Graph,
    model::{Dag, Step, Template},
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
        let graph = Graph::of(&dag.tasks);
        let uses_depends = dag.tasks.iter().any(|task| !task.depends.is_empty());
        for index in 0..dag.tasks.len() {
            let at = format!("{field}.tasks[{index}]");
            self.task(&graph, index, uses_depends, &at);
            self.dependencies(&graph, index, &at);
        }
        self.targets(dag, &graph, field);
        if graph.problem().is_none() {
            self.circles(&graph, field);
        }
    }

    fn task(&mut self, graph: &Graph<'_>, index: usize, uses_depends: bool, at: &str) {
        let task = &graph.tasks.all()[index];
        if task.name.is_empty() {
            return self.problem(format!("{at}.name"), "name is required");
        }
        if graph.tasks.place(&task.name) != Some(index) {
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

    /// What a task waits for can be read, and all of it must be there.
    fn dependencies(&mut self, graph: &Graph<'_>, index: usize, at: &str) {
        let task = &graph.tasks.all()[index];
        if let Some(message) = graph.problem_at(index) {
            return self.problem(format!("{at}.depends"), message);
        }
        let at = if task.depends.is_empty() {
            format!("{at}.dependencies")
        } else {
            format!("{at}.depends")
        };
        for dependency in graph.dependencies_at(index) {
            if *dependency == task.name {
                self.problem(at.clone(), format!("task '{dependency}' depends on itself"));
            } else if graph.tasks.place(dependency).is_none() {
                let names = graph.tasks.all().iter().map(|task| task.name.as_str());
                let meant = super::meant(dependency, names);
                let hint = meant.map_or_else(String::new, |meant| format!("; did you mean '{meant}'?"));
                self.problem(at.clone(), format!("dependency '{dependency}' not defined{hint}"));
            }
        }
    }

    fn targets(&mut self, dag: &Dag, graph: &Graph<'_>, field: &str) {
        if tags::has_tags(&dag.target) {
            return;
        }
        for target in dag.target.split_whitespace() {
            if graph.tasks.place(target).is_none() {
                self.problem(
                    format!("{field}.target"),
                    format!("target '{target}' is not defined"),
                );
            }
        }
    }

    fn circles(&mut self, graph: &Graph<'_>, field: &str) {
        let tasks = graph.tasks.all().iter();
        let names: Vec<&str> = tasks.map(|task| task.name.as_str()).collect();
        if let Some(cycle) = find_cycle(&names, &|name| graph.dependencies(name).to_vec()) {
            self.problem(
                format!("{field}.tasks"),
                format!("dependency cycle detected: {cycle}"),
            );
        }
    }
}

/// Names that lead back to where they began: `A -> B -> A`. The way there may be longer than a stack.
pub(super) fn find_cycle(names: &[&str], edges: &impl Fn(&str) -> Vec<String>) -> Option<String> {
    let mut seen: HashSet<String> = HashSet::new();
    for name in names {
        // Where we are: each name on the way here, with what is still to be looked at from there.
        let mut path: Vec<(String, std::vec::IntoIter<String>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut next = Some((*name).to_owned());
        loop {
            if let Some(name) = next.take() {
                if let Some(at) = places.get(&name) {
                    let mut cycle: Vec<&str> = path[*at..].iter().map(|(name, _)| name.as_str()).collect();
                    cycle.push(&name);
                    return Some(cycle.join(" -> "));
                }
                if seen.insert(name.clone()) {
                    places.insert(name.clone(), path.len());
                    let further = edges(&name).into_iter();
                    path.push((name, further));
                }
            }
            let Some((_, further)) = path.last_mut() else {
                break;
            };
            next = further.next();
            if next.is_none()
                && let Some((name, _)) = path.pop()
            {
                places.remove(&name);
            }
        }
    }
    None
}
