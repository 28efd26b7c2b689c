//! The wording of a race.

use std::fmt;

use super::report::{Distance, Race, Reason, Side};
use crate::event::{Kind, Order, Scope, Space};

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, count) = (self.address, self.count);
        match self.space {
            Space::Global => write!(f, "race at global address {address:#x}: ")?,
            Space::Shared { block } => {
                write!(f, "race at shared address {address:#x} of block {block}: ")?;
            }
        }
        write!(f, "{} and then {}: {}; ", self.first, self.second, self.reason)?;
        match count {
            1 => write!(f, "once"),
            _ => write!(f, "{count} times"),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.kind {
            Kind::Read => "reads",
            Kind::Write => "writes",
            Kind::ReadModifyWrite => "updates",
        };
        let order = match self.order {
            Order::Weak => "plain",
            Order::Volatile => "volatile",
            Order::Relaxed => "relaxed",
            Order::Acquire => "acquire",
            Order::Release => "release",
            Order::AcqRel => "acq_rel",
        };
        let (line, thread) = (self.site.line, self.thread);
        write!(f, "line {line} {verb} {} bytes ({order}", self.bytes)?;
        if !matches!(self.order, Order::Weak | Order::Volatile) {
            write!(f, ", {} scope", scope(self.scope))?;
        }
        write!(f, ", block {} thread {})", thread.block, thread.thread)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::SameInstruction => f.write_str("two lanes of one warp write it in one instruction"),
            Self::Unordered(Distance::Warp) => {
                f.write_str("no __syncwarp() or barrier between the lanes of the warp")
            }
            Self::Unordered(Distance::Block) => f.write_str("no barrier between the warps of the block"),
            Self::Unordered(Distance::Cluster) => {
                f.write_str("no cluster barrier or release and acquire between the blocks")
            }
            Self::Unordered(Distance::Device) => f.write_str("no release and acquire between the blocks"),
            Self::Scope(narrow, distance) => write!(
                f,
                "one is strong at {} scope only, the other is made {}",
                scope(narrow),
                from(narrow, distance)
            ),
            Self::Sizes(a, b) => write!(f, "both are strong, but of {a} and of {b} bytes"),
            Self::NotReleased { written_line, read_line } => write!(
                f,
                "line {read_line} saw the value of line {written_line}, which releases nothing: \
                 it is no release and no fence stands before it"
            ),
            Self::ReleaseScope { scope: narrow, line, distance } => {
                write!(
                    f,
                    "released at {} scope (line {line}), read {}",
                    scope(narrow),
                    from(narrow, distance)
                )
            }
            Self::NotAcquired { written_line, read_line } => write!(
                f,
                "line {read_line} saw what line {written_line} released, but acquires nothing: \
                 it is no acquire and no fence wide enough stands after it"
            ),
            Self::AcquireScope { scope: narrow, line, distance } => {
                write!(
                    f,
                    "acquired at {} scope (line {line}), released {}",
                    scope(narrow),
                    from(narrow, distance)
                )
            }
        }
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Block => "block",
        Scope::Cluster => "cluster",
        Scope::Device => "device",
        Scope::System => "system",
    }
}

/// Where the other side is, as seen from a thread to which `narrow` scope was given.
fn from(narrow: Scope, distance: Distance) -> &'static str {
    match (distance, narrow) {
        (Distance::Warp, _) => "from the same warp",
        (Distance::Block, _) => "from the same block",
        (Distance::Cluster, _) => "from another block of the cluster",
        (Distance::Device, Scope::Cluster) => "from another cluster",
        (Distance::Device, _) => "from another block",
    }
}
