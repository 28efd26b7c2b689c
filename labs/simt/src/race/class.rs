//! What is the same each time an instruction touches memory, kept once.

use std::collections::HashMap;

use crate::event::{Access, Kind, Order, Scope, Site};

/// How far a scope reaches on one device. System scope reaches no further than
/// device scope here: the host takes no part in a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Block,
    Cluster,
    Device,
}

impl Level {
    pub(super) const ALL: [Self; 3] = [Self::Block, Self::Cluster, Self::Device];

    pub(super) fn of(scope: Scope) -> Self {
        match scope {
            Scope::Block => Self::Block,
            Scope::Cluster => Self::Cluster,
            Scope::Device | Scope::System => Self::Device,
        }
    }
}

/// The unchanging part of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) site: Site,
    pub(super) kind: Kind,
    pub(super) order: Order,
    pub(super) scope: Scope,
    pub(super) bytes: u8,
}

impl Class {
    fn of(access: &Access) -> Self {
        let scope = match access.order {
            // `volatile` is relaxed at system scope, whatever the event says.
            Order::Volatile | Order::Weak => Scope::System,
            _ => access.scope,
        };
        Self { site: access.site, kind: access.kind, order: access.order, scope, bytes: access.bytes }
    }

    pub(super) fn writes(&self) -> bool {
        self.kind != Kind::Read
    }

    pub(super) fn reads(&self) -> bool {
        self.kind != Kind::Write
    }

    pub(super) fn is_strong(&self) -> bool {
        self.order != Order::Weak
    }

    pub(super) fn acquires(&self) -> bool {
        self.reads() && matches!(self.order, Order::Acquire | Order::AcqRel)
    }

    pub(super) fn releases(&self) -> bool {
        self.writes() && matches!(self.order, Order::Release | Order::AcqRel)
    }

    pub(super) fn level(&self) -> Level {
        Level::of(self.scope)
    }
}

/// All classes seen, by number.
#[derive(Debug, Default)]
pub(super) struct Classes {
    all: Vec<Class>,
    /// By index of the instruction; several where functions share indices.
    by_instruction: HashMap<u32, Vec<u32>>,
    /// The latest: the lanes of a warp ask for the same one in turn.
    last: u32,
}

impl Classes {
    /// The number of the access's class.
    pub(super) fn number(&mut self, access: &Access) -> u32 {
        let class = Class::of(access);
        if self.all.get(self.last as usize) == Some(&class) {
            return self.last;
        }
        let known = self.by_instruction.entry(class.site.instruction).or_default();
        let found = known.iter().find(|&&n| self.all[n as usize] == class);
        self.last = found.copied().unwrap_or_else(|| {
            let number = self.all.len() as u32;
            self.all.push(class);
            known.push(number);
            number
        });
        self.last
    }

    /// The class with this number, which must have come from [`Self::number`].
    pub(super) fn get(&self, number: u32) -> &Class {
        &self.all[number as usize]
    }
}
