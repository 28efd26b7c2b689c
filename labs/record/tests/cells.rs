//! The table of operations as it is committed: whole, unedited, and what the pages say of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::{Path, PathBuf};

use labs_record::cells::{Backend, CellVerdict, Cells, Old, Operation, Place, Prices, Scalar, SourceTable};
use labs_record::store;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn table() -> Cells {
    store::read(&root().join(Cells::FILE), "table of operations").unwrap()
}

/// Verdicts of a row on all targets of a backend.
fn verdicts(
    cells: &Cells,
    backend: Backend,
    key: (Operation, Scalar, Place, Old),
) -> Vec<(String, CellVerdict)> {
    let row = cells.rows.iter().find(|row| row.backend == backend && row.key() == key).unwrap();
    let pairs =
        row.cells.iter().flat_map(|cell| cell.targets.iter().map(|name| (name.clone(), cell.answer.verdict)));
    pairs.collect()
}

const LOOPS: [CellVerdict; 2] = [CellVerdict::CasLoop, CellVerdict::ExclusiveLoop];

#[test]
fn the_committed_table_is_sound() {
    assert_eq!(table().faults(), Vec::<String>::new());
    let prices = root().join(Prices::FILE);
    if prices.is_file() {
        let prices: Prices = store::read(&prices, "list of prices").unwrap();
        assert_eq!(prices.faults(), Vec::<String>::new());
    }
}

#[test]
fn the_source_speaks_of_cells_that_there_are() {
    let source: SourceTable =
        store::read(&root().join("verification/native_or_cas_source.yaml"), "document's table").unwrap();
    let cells = table();
    assert_eq!(source.faults(&cells), Vec::<String>::new());
    let (all, agree) = source.agreement(&cells);
    let differ: usize = source.contrasts(&cells).iter().map(|contrast| contrast.places.len()).sum();
    assert_eq!(all - agree, differ, "what does not agree is listed");
    assert!(agree > differ, "{agree} of {all}");
}

#[test]
fn multiplying_is_a_loop_wherever_it_is_to_be_had() {
    let cells = table();
    for backend in Backend::ALL {
        for key in Cells::wanted(backend).filter(|key| key.0 == Operation::Mul) {
            for (target, verdict) in verdicts(&cells, backend, key) {
                let fine = LOOPS.contains(&verdict) || verdict == CellVerdict::NotAvailable;
                assert!(fine, "{target} {key:?}: {verdict}");
            }
        }
    }
}

#[test]
fn subtracting_becomes_what_adding_becomes_on_nvidias_gpus() {
    let cells = table();
    for (_, scalar, place, old) in Cells::wanted(Backend::Cuda).filter(|key| key.0 == Operation::Sub) {
        let of = |operation| verdicts(&cells, Backend::Cuda, (operation, scalar, place, old));
        assert_eq!(of(Operation::Sub), of(Operation::Add), "{scalar} {place} {old}");
    }
}

#[test]
fn x86_bit_operations_are_one_instruction_only_while_the_old_value_is_unused() {
    let cells = table();
    for operation in [Operation::And, Operation::Or, Operation::Xor] {
        for scalar in [Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64] {
            for (old, wanted) in [(Old::Unused, CellVerdict::Native), (Old::Used, CellVerdict::CasLoop)] {
                let all = verdicts(&cells, Backend::Cpu, (operation, scalar, Place::Global, old));
                let x86: Vec<_> = all.iter().filter(|(target, _)| target.starts_with("x86-64")).collect();
                assert_eq!(x86.len(), 2);
                assert!(
                    x86.iter().all(|(_, verdict)| *verdict == wanted),
                    "{operation} {scalar} {old}: {x86:?}"
                );
            }
        }
    }
}

#[test]
fn one_half_is_a_loop_and_a_double_is_native_in_global_memory_alone() {
    let cells = table();
    for old in [Old::Unused, Old::Used] {
        let of = |scalar, place| {
            let all = verdicts(&cells, Backend::Cuda, (Operation::Add, scalar, place, old));
            all.into_iter().map(|(_, verdict)| verdict).collect::<Vec<_>>()
        };
        assert_eq!(of(Scalar::F16, Place::Global), [CellVerdict::CasLoop; 7]);
        assert_eq!(of(Scalar::F16x2, Place::Global), [CellVerdict::Native; 7]);
        assert_eq!(of(Scalar::F64, Place::Global), [CellVerdict::Native; 7]);
        assert_eq!(of(Scalar::F64, Place::Shared), [CellVerdict::CasLoop; 7]);
    }
}
