//! How a command can end short of success, and with which exit code.

use std::fmt;

/// Why a command ends with another exit code than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    /// A result is wrong, a check refused, a kernel trapped or was ended: exit 1.
    Failed,
    /// The command line asks for what does not exist: exit 2.
    Usage,
    /// This machine lacks what was asked for: exit 3.
    Lacks,
}

impl Kind {
    /// The process's exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Failed => 1,
            Kind::Usage => 2,
            Kind::Lacks => 3,
        }
    }
}

/// A failure with its kind: what failed, the value, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Decides the exit code.
    pub kind: Kind,
    /// One line for a person.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// A wrong result, a trap, a watchdog.
pub fn failed(message: impl Into<String>) -> anyhow::Error {
    Failure { kind: Kind::Failed, message: message.into() }.into()
}

/// Wrong usage.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Failure { kind: Kind::Usage, message: message.into() }.into()
}

/// Something this machine does not have.
pub fn lacks(message: impl Into<String>) -> anyhow::Error {
    Failure { kind: Kind::Lacks, message: message.into() }.into()
}

/// The kind of an error: that of the [`Failure`] in its chain, else [`Kind::Failed`].
pub fn kind_of(error: &anyhow::Error) -> Kind {
    error.downcast_ref::<Failure>().map_or(Kind::Failed, |failure| failure.kind)
}
