//! The versions: an order of memory at a scope, a kernel each.

use labs_oracle::Scope;

use crate::lab::Variant;

/// An order of memory, as the option `--order` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Plain,
    Volatile,
    Relaxed,
    RelAcq,
    FenceAcqRel,
    FenceSc,
}

/// The words of `--order`.
pub(super) const ORDERS: [&str; 6] = ["plain", "volatile", "relaxed", "relacq", "fence_acq_rel", "fence_sc"];
/// The words of `--scope`; plain accesses have none.
pub(super) const SCOPES: [&str; 5] = ["none", "cta", "cluster", "gpu", "sys"];

/// What a variant is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) order: Order,
    pub(super) scope: Scope,
}

impl Version {
    /// The version of this variant.
    pub(super) fn of(variant: &Variant) -> Version {
        let (order, scope) = word(variant.name);
        let scope = match scope {
            "cta" | "none" => Scope::Cta,
            "cluster" => Scope::Cluster,
            "gpu" => Scope::Gpu,
            _ => Scope::Sys,
        };
        let order = match order {
            "plain" => Order::Plain,
            "volatile" => Order::Volatile,
            "relacq" => Order::RelAcq,
            "fence_acq_rel" => Order::FenceAcqRel,
            "fence_sc" => Order::FenceSc,
            _ => Order::Relaxed,
        };
        Version { order, scope }
    }
}

/// Versions that try out sets of parameters, each for those that take about as long.
pub(super) const PROBES: [&str; 5] =
    ["relaxed_sys", "relacq_gpu", "relacq_sys", "fence_sc_gpu", "fence_sc_sys"];

/// The probe that stands for a variant. In machine code a cluster's scope is the GPU's, and what keeps to a block hardly
/// waits.
pub(super) fn probe_of(variant: &Variant) -> &'static Variant {
    let name = match word(variant.name) {
        (_, "none" | "cta") | ("volatile" | "relaxed", _) => "relaxed_sys",
        ("relacq", "sys") => "relacq_sys",
        ("relacq", _) => "relacq_gpu",
        (_, "sys") => "fence_sc_sys",
        _ => "fence_sc_gpu",
    };
    VARIANTS.iter().find(|known| known.name == name).unwrap_or(&VARIANTS[0])
}

/// The words of `--order` and `--scope` that name a variant.
pub(super) fn word(variant: &str) -> (&str, &str) {
    match variant.rsplit_once('_') {
        Some((order, scope)) if SCOPES.contains(&scope) => (order, scope),
        _ => (variant, "none"),
    }
}

/// Right in what it promises.
const fn right(name: &'static str, idea: &'static str, kernels: &'static [&'static str]) -> Variant {
    Variant::new(name, idea, kernels)
}

/// Between blocks its accesses race, whatever comes of it.
const fn races(name: &'static str, idea: &'static str, kernels: &'static [&'static str]) -> Variant {
    Variant::new(name, idea, kernels).undefined()
}

const fn clustered(name: &'static str, idea: &'static str, kernels: &'static [&'static str]) -> Variant {
    races(name, idea, kernels).needs(90)
}

/// All of them, in teaching order.
pub(super) const VARIANTS: [Variant; 18] = [
    races("plain", "loads and stores without a word", &["plain"]),
    right("volatile_sys", "every access is made, and seen by the whole system", &["volatile_sys"]),
    races("relaxed_cta", "atomic accesses that order nothing else, within a block", &["relaxed_cta"]),
    clustered("relaxed_cluster", "the same within a cluster of blocks", &["relaxed_cluster"]),
    right("relaxed_gpu", "the same within the GPU", &["relaxed_gpu"]),
    right("relaxed_sys", "the same within the system, host included", &["relaxed_sys"]),
    races("relacq_cta", "loads acquire and stores release, within a block", &["relacq_cta"]),
    clustered("relacq_cluster", "the same within a cluster of blocks", &["relacq_cluster"]),
    right("relacq_gpu", "the same within the GPU", &["relacq_gpu"]),
    right("relacq_sys", "the same within the system, host included", &["relacq_sys"]),
    races("fence_acq_rel_cta", "relaxed, with a fence between, within a block", &["fence_acq_rel_cta"]),
    clustered("fence_acq_rel_cluster", "the same within a cluster of blocks", &["fence_acq_rel_cluster"]),
    right("fence_acq_rel_gpu", "the same within the GPU", &["fence_acq_rel_gpu"]),
    right("fence_acq_rel_sys", "the same within the system, host included", &["fence_acq_rel_sys"]),
    races("fence_sc_cta", "a sequentially consistent fence between, within a block", &["fence_sc_cta"]),
    clustered("fence_sc_cluster", "the same within a cluster of blocks", &["fence_sc_cluster"]),
    right("fence_sc_gpu", "the same within the GPU", &["fence_sc_gpu"]),
    right("fence_sc_sys", "the same within the system, host included", &["fence_sc_sys"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_named_by_its_order_and_scope() {
        for variant in VARIANTS {
            let (order, scope) = word(variant.name);
            assert!(ORDERS.contains(&order) && SCOPES.contains(&scope), "{}", variant.name);
            let version = Version::of(&variant);
            assert_eq!(ORDERS[version.order as usize], order);
            assert_eq!(version.order == Order::Plain, scope == "none");
            assert_eq!(version.scope == Scope::Cluster, variant.needs == 90);
        }
    }

    #[test]
    fn a_probe_stands_for_itself_and_every_variant_has_one() {
        for variant in VARIANTS {
            let probe = probe_of(&variant);
            assert!(PROBES.contains(&probe.name), "{}", variant.name);
            assert_eq!(probe_of(probe), probe);
            assert_eq!(probe.needs, 0, "a probe must run everywhere");
        }
        assert!(PROBES.iter().all(|probe| VARIANTS.iter().any(|variant| variant.name == *probe)));
    }
}
