//! Names in nested blocks: registers, variables and labels.

use std::collections::HashMap;

use crate::syntax::{Function, Variable};

#[derive(Default)]
struct Scope {
    registers: HashMap<String, u32>,
    /// `%r<8>`: prefix to first register and how many.
    ranges: HashMap<String, (u32, u32)>,
    variables: HashMap<String, u32>,
    labels: HashMap<String, u32>,
}

/// The blocks that are open, innermost last.
pub(super) struct Scopes(Vec<Scope>);

impl Scopes {
    /// The outermost scope: a function's parameters.
    pub(super) fn of(function: &Function) -> Scopes {
        let variables =
            function.variables.iter().enumerate().map(|(i, v)| (v.name.clone(), i as u32)).collect();
        Scopes(vec![Scope { variables, ..Scope::default() }])
    }

    pub(super) fn depth(&self) -> usize {
        self.0.len()
    }

    pub(super) fn open(&mut self, labels: &[&str], function: &mut Function) {
        let mut scope = Scope::default();
        for label in labels {
            scope.labels.insert((*label).to_owned(), function.labels);
            function.labels += 1;
        }
        self.0.push(scope);
    }

    pub(super) fn close(&mut self) {
        self.0.pop();
    }

    pub(super) fn add_register(&mut self, name: &str, register: u32) {
        if let Some(scope) = self.0.last_mut() {
            scope.registers.insert(name.to_owned(), register);
        }
    }

    pub(super) fn add_range(&mut self, prefix: &str, first: u32, count: u32) {
        if let Some(scope) = self.0.last_mut() {
            scope.ranges.insert(prefix.to_owned(), (first, count));
        }
    }

    pub(super) fn declare(&mut self, variable: Variable, function: &mut Function) {
        if let Some(scope) = self.0.last_mut() {
            scope.variables.insert(variable.name.clone(), function.variables.len() as u32);
        }
        function.variables.push(variable);
    }

    pub(super) fn register(&self, name: &str) -> Option<u32> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        let number: Option<u32> = number.parse().ok();
        self.0.iter().rev().find_map(|scope| {
            scope.registers.get(name).copied().or_else(|| {
                let &(first, count) = scope.ranges.get(prefix)?;
                number.filter(|&n| n < count).map(|n| first + n)
            })
        })
    }

    pub(super) fn variable(&self, name: &str) -> Option<u32> {
        self.0.iter().rev().find_map(|scope| scope.variables.get(name).copied())
    }

    pub(super) fn label(&self, name: &str) -> Option<u32> {
        self.0.iter().rev().find_map(|scope| scope.labels.get(name).copied())
    }
}
