//! Tables under `verification/` that are no lab's record.

use std::path::Path;

use labs_record::cells::{Cells, Prices, SourceTable};
use labs_record::store;

/// Tables that are no lab's record, with what reads them.
const TABLES: [(&str, Check); 3] = [
    (Cells::FILE, |path, _| Ok(store::read::<Cells>(path, "table of operations")?.faults())),
    (Prices::FILE, |path, _| Ok(store::read::<Prices>(path, "list of prices")?.faults())),
    ("verification/native_or_cas_source.yaml", |path, root| {
        let table: Cells = store::read(&root.join(Cells::FILE), "table of operations")?;
        Ok(store::read::<SourceTable>(path, "document's table")?.faults(&table))
    }),
];

/// From a table's file and the root to what is wrong with it.
type Check = fn(&Path, &Path) -> Result<Vec<String>, store::Error>;

/// Checks the tables that are there; gives how many are refused.
pub(super) fn check(root: &Path) -> usize {
    let mut refused = 0;
    for (file, check) in TABLES {
        let path = root.join(file);
        if !path.is_file() {
            continue;
        }
        let faults = check(&path, root).unwrap_or_else(|error| vec![error.to_string()]);
        for fault in &faults {
            anstream::println!("{file}: refused: {fault}");
        }
        if faults.is_empty() {
            anstream::println!("{file}: whole and unedited");
        }
        refused += usize::from(!faults.is_empty());
    }
    refused
}
