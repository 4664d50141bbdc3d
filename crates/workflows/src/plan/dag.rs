//! Tasks that wait for each other.

mod ending;

use std::collections::HashSet;

use super::{
    execute::{Caller, Options, Use},
    outputs::add_aggregate,
    walk::{Halt, NewNode, Walk},
};
use crate::{
    graph::Graph,
    items,
    model::Task,
    names,
    node::{Node, NodeType, Phase},
    scope::Scope,
    when,
};

/// A DAG while it is gone through.
struct Dag<'u, 'a> {
    used: &'u Use<'a>,
    graph: Graph<'a>,
    /// Tasks whose hooks or handlers are not done, or could not begin yet.
    handling: HashSet<String>,
    /// Ids of nodes that hang somewhere.
    linked: HashSet<String>,
    boundary: String,
    scope: String,
}

impl Dag<'_, '_> {
    fn node_name(&self, task: &str) -> String {
        names::child(self.used.name, task)
    }

    fn targets(&self) -> Vec<String> {
        let dag = self.used.template.dag.as_ref();
        let target = dag.map(|dag| dag.target.trim()).unwrap_or_default();
        if target.is_empty() {
            return self.graph.leaves().map(|task| task.name.clone()).collect();
        }
        target.split_whitespace().map(str::to_owned).collect()
    }

    fn skipped<'n>(&'n self, name: &'n str, task: &'n Task, phase: Phase, message: String) -> NewNode<'n> {
        NewNode {
            name,
            kind: NodeType::Skipped,
            step: Some(task),
            scope: &self.scope,
            boundary: &self.boundary,
            phase,
            flag: None,
            inputs: None,
            message,
        }
    }
}

impl Walk<'_> {
    pub(super) fn execute_dag(&mut self, used: &Use<'_>) -> Result<(), Halt> {
        if self.node(used.name).is_none() {
            self.add_node(used.new_node(NodeType::Dag, Phase::Running));
        }
        let outcome = self.go_through_tasks(used);
        let id = self.id(used.name);
        if self.node(used.name).is_some_and(|node| node.phase.is_fulfilled()) {
            self.kill_daemons(&id);
        }
        outcome
    }

    fn go_through_tasks(&mut self, used: &Use<'_>) -> Result<(), Halt> {
        let tasks = used
            .template
            .dag
            .as_ref()
            .map(|dag| dag.tasks.as_slice())
            .unwrap_or_default();
        let graph = Graph::of(tasks);
        if let Some(problem) = graph.problem() {
            return Err(Halt::Broken(problem.to_owned()));
        }
        let mut dag = Dag {
            used,
            graph,
            handling: HashSet::new(),
            linked: self.linked(used.name),
            boundary: self.id(used.name),
            scope: used.base.text(&self.name),
        };
        let targets = dag.targets();
        let order = dag.graph.in_order(&targets);
        for task in &order {
            self.visit_task(&mut dag, task)?;
            if self.node(used.name).is_some_and(|node| node.phase.is_fulfilled()) {
                return Ok(());
            }
        }
        let phase = self.assess_dag(&dag, &targets);
        if phase == Phase::Running || !dag.handling.is_empty() {
            return Ok(());
        }
        // What is tried again may still wait for its turn though all that comes after it has been done before.
        if phase == Phase::Succeeded && !self.are_fulfilled(&dag, &order) {
            return Ok(());
        }
        if phase.is_failure() {
            self.set_outbound(&dag, &targets);
            self.mark(used.name, phase, None);
            return Ok(());
        }
        let scope = self.scope_of_tasks(&dag)?;
        if let Some(outputs) = self.template_outputs(used.template, &scope)? {
            self.publish(&outputs);
            if let Some(node) = self.node_mut(used.name) {
                node.outputs = Some(outputs);
            }
        }
        self.set_outbound(&dag, &targets);
        self.mark(used.name, Phase::Succeeded, None);
        self.remember(used.name);
        Ok(())
    }

    /// What hangs below a node or something inside of it.
    fn linked(&self, name: &str) -> HashSet<String> {
        let inside = |node: &&Node| node.name.starts_with(name);
        let nodes = self.status.nodes.values().filter(inside);
        nodes.flat_map(|node| node.children.iter().cloned()).collect()
    }

    /// Executes a task; those it waits for were visited before.
    fn visit_task(&mut self, dag: &mut Dag<'_, '_>, name: &str) -> Result<(), Halt> {
        let Some(task) = dag.graph.tasks.get(name) else {
            return Err(Halt::Broken(format!("task '{name}' is not defined")));
        };
        let node_name = dag.node_name(name);
        let dependencies = dag.graph.dependencies(name).to_vec();
        let id = self.id(&node_name);
        let has_lost_its_place = self.status.nodes.contains_key(&id) && !dag.linked.contains(&id);
        if has_lost_its_place && self.are_fulfilled(dag, &dependencies) {
            // What it hung below was forgotten, and has been done again. Before that it would be taken for a part of it.
            self.connect(dag, &dependencies, &node_name, None);
        }
        if let Some(node) = self.node(&node_name).cloned()
            && (node.is_fulfilled() || node.phase == Phase::Running)
        {
            let is_done = self.hooks_of_task(dag, task, &node)?;
            if node.phase.is_fulfilled() {
                self.unlock(&node.name);
            }
            if !is_done || node.is_fulfilled() {
                // A daemon is still looked after.
                if node.phase == Phase::Running && node.is_daemoned() {
                    return self.run_task(dag, task, &node_name);
                }
                return Ok(());
            }
        }
        if !dependencies.is_empty() && self.node(&node_name).is_none() {
            let is_handled = |dependency: &String| !dag.handling.contains(dependency);
            if !self.are_fulfilled(dag, &dependencies) || !dependencies.iter().all(is_handled) {
                return Ok(());
            }
            if !self.holds(dag, name) {
                let message = "omitted: depends condition not met".to_owned();
                self.add_node(dag.skipped(&node_name, task, Phase::Omitted, message));
                self.connect(dag, &dependencies, &node_name, None);
                return Ok(());
            }
        }
        self.run_task(dag, task, &node_name)
    }

    fn are_fulfilled(&self, dag: &Dag<'_, '_>, tasks: &[String]) -> bool {
        let mut nodes = tasks.iter().map(|task| self.node(&dag.node_name(task)));
        nodes.all(|node| node.is_some_and(Node::is_fulfilled))
    }

    fn holds(&self, dag: &Dag<'_, '_>, name: &str) -> bool {
        let Some(condition) = dag.graph.condition(name) else {
            return true;
        };
        condition.holds(&|task, result| {
            let Some(node) = self.node(&dag.node_name(task)) else {
                return false;
            };
            let items: Vec<&Node> = if node.r#type == NodeType::TaskGroup {
                let children = node.children.iter().filter_map(|id| self.status.nodes.get(id));
                children.filter(|child| !child.is_hook()).collect()
            } else {
                Vec::new()
            };
            result.holds(node, &items)
        })
    }

    /// Whether nothing is left to do for a task that has ended or runs.
    fn hooks_of_task(&mut self, dag: &mut Dag<'_, '_>, task: &Task, node: &Node) -> Result<bool, Halt> {
        let exit_hook = task.exit_hook(&self.spec.arguments);
        if task.hooks.is_empty() && exit_hook.is_none() {
            return Ok(true);
        }
        // The items of a loop have hooks of their own.
        let nodes = if node.r#type == NodeType::TaskGroup {
            let children = self.children_of(&node.name);
            children.into_iter().filter(|child| !child.is_hook()).collect()
        } else {
            vec![node.clone()]
        };
        let prefix = format!("tasks.{}", task.name);
        let mut is_done = true;
        for node in nodes {
            let mut scope = self.scope_for_task(dag, task)?;
            scope.set(format!("{prefix}.status"), node.phase.text());
            is_done &= self.run_hooks(&task.hooks, &node, &dag.boundary, dag.used.base, &prefix, &scope)?;
            if node.is_fulfilled() && node.is_completed() {
                let hook = exit_hook.as_ref();
                is_done &= self.run_exit_hook(hook, &node, &dag.boundary, dag.used.base, &prefix, &scope)?;
            }
        }
        if !is_done {
            dag.handling.insert(task.name.clone());
        }
        Ok(is_done)
    }

    fn run_task(&mut self, dag: &mut Dag<'_, '_>, task: &Task, node_name: &str) -> Result<(), Halt> {
        let dependencies = dag.graph.dependencies(&task.name).to_vec();
        let scope = self.scope_for_task(dag, task)?;
        let whole = self.globals.with(&scope);
        let expanded = self
            .fill_in(task, &whole, dag.used)
            .and_then(|task| items::expand(&task, &whole).map_err(Halt::Broken));
        let expanded = match expanded {
            Ok(expanded) => expanded,
            Err(Halt::Broken(message)) => {
                if self.node(node_name).is_none() {
                    self.add_node(dag.skipped(node_name, task, Phase::Error, message));
                    self.connect(dag, &dependencies, node_name, None);
                } else {
                    self.mark(node_name, Phase::Error, Some(&message));
                }
                return Ok(());
            }
            Err(halt) => return Err(halt),
        };
        let mut group = None;
        if task.is_loop() {
            if expanded.is_empty() {
                let message = "Skipped, empty params".to_owned();
                self.add_node(dag.skipped(node_name, task, Phase::Skipped, message));
                self.connect(dag, &dependencies, node_name, None);
                return Ok(());
            }
            if self.node(node_name).is_none() {
                self.connect(dag, &dependencies, node_name, None);
                let mut new = dag.skipped(node_name, task, Phase::Running, String::new());
                new.kind = NodeType::TaskGroup;
                self.add_node(new);
                self.connect(dag, &dependencies, node_name, None);
            }
            group = Some(node_name.to_owned());
        }
        for item in &expanded {
            self.run_item(dag, task, item, &dependencies, group.as_deref())?;
        }
        if let Some(group) = group {
            self.finish_loop(dag, task, &expanded, &group)?;
        }
        Ok(())
    }

    /// One that waits for room does not keep the others from going on: one of them may have it.
    fn run_item(
        &mut self,
        dag: &mut Dag<'_, '_>,
        task: &Task,
        item: &Task,
        dependencies: &[String],
        group: Option<&str>,
    ) -> Result<(), Halt> {
        let name = dag.node_name(&item.name);
        if self.node(&name).is_none() {
            let skipped = match when::holds(&item.when) {
                Ok(true) => None,
                Ok(false) => Some((Phase::Skipped, format!("when '{}' evaluated false", item.when))),
                Err(error) => Some((Phase::Error, error.to_string())),
            };
            if let Some((phase, message)) = skipped {
                self.add_node(dag.skipped(&name, task, phase, message));
                self.connect(dag, dependencies, &name, group);
                return Ok(());
            }
        }
        let options = Options {
            boundary: dag.boundary.clone(),
            is_on_exit: dag.used.options.is_on_exit,
            ..Options::default()
        };
        let outcome = self.execute(&name, item, Caller::Task, dag.used.base, &item.arguments, options);
        if self.node(&name).is_some() {
            self.connect(dag, dependencies, &name, group);
        }
        match outcome {
            Ok(()) | Err(Halt::TimedOut(_)) => {}
            Err(Halt::Later) if self.plan.unknown.is_empty() => {}
            Err(Halt::Later) => return Err(Halt::Later),
            Err(Halt::Broken(message)) => {
                let message = format!("task '{name}' errored: {message}");
                self.mark(&name, Phase::Error, Some(&message));
            }
        }
        if let Some(node) = self.node(&name).cloned()
            && node.is_completed()
        {
            self.hooks_of_task(dag, task, &node)?;
        }
        Ok(())
    }

    fn finish_loop(
        &mut self,
        dag: &mut Dag<'_, '_>,
        task: &Task,
        items: &[Task],
        group: &str,
    ) -> Result<(), Halt> {
        let mut phase = Phase::Succeeded;
        for item in items {
            match self.node(&dag.node_name(&item.name)) {
                Some(node) if node.is_fulfilled() => {
                    if node.phase.is_failure() {
                        phase = node.phase;
                    }
                }
                _ => return Ok(()),
            }
        }
        let Some(node) = self.node(group).cloned() else {
            return Ok(());
        };
        if self.hooks_of_task(dag, task, &node)? {
            self.mark(group, phase, None);
        }
        Ok(())
    }

    /// Hangs a task's node below what it follows upon.
    fn connect(&mut self, dag: &Dag<'_, '_>, dependencies: &[String], node: &str, group: Option<&str>) {
        if let Some(group) = group {
            return self.add_child(group, node);
        }
        if dependencies.is_empty() {
            return self.add_child(dag.used.name, node);
        }
        for dependency in dependencies {
            let id = self.id(&dag.node_name(dependency));
            for outbound in self.outbound(&id) {
                if let Some(parent) = self.status.nodes.get(&outbound).map(|node| node.name.clone()) {
                    self.add_child(&parent, node);
                }
            }
        }
    }

    /// What a task speaks of: its template's inputs, and the outputs of what it waited for.
    fn scope_for_task(&mut self, dag: &Dag<'_, '_>, task: &Task) -> Result<Scope, Halt> {
        let mut scope = self.scope_of(dag.used.template);
        for other in dag.graph.spoken_of(task) {
            self.add_task_to_scope(&mut scope, dag, other)?;
        }
        Ok(scope)
    }

    fn scope_of_tasks(&mut self, dag: &Dag<'_, '_>) -> Result<Scope, Halt> {
        let mut scope = self.scope_of(dag.used.template);
        for task in dag.graph.tasks.all() {
            self.add_task_to_scope(&mut scope, dag, task)?;
        }
        Ok(scope)
    }

    fn add_task_to_scope(&mut self, scope: &mut Scope, dag: &Dag<'_, '_>, task: &Task) -> Result<(), Halt> {
        let name = dag.node_name(&task.name);
        let Some(node) = self.node(&name).cloned() else {
            return Ok(());
        };
        let prefix = format!("tasks.{}", task.name);
        if node.r#type == NodeType::TaskGroup {
            let items = self.children_of(&name);
            add_aggregate(scope, &prefix, items)?;
        }
        self.add_node_to_scope(scope, &prefix, &node);
        self.add_absent(scope, &prefix, &node, task, dag.used);
        Ok(())
    }
}
