//! Native or CAS: the table of operations, what it was made with, what it costs, and where a document says otherwise.

use labs_record::cells::{
    Answer, Backend, Cell, CellVerdict, Cells, Old, Operation, Place, Row, Scalar, Spelling,
};
use labs_record::statistics::Summary;
use labs_record::units;
use labs_record::{Unit, cells::Price};

use super::tables::breakable;
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};

/// What is said where there is no table.
const NONE: &str = "there is no table of operations yet; scripts/native-or-cas makes it";

fn backend(arguments: &mut Arguments) -> Result<Backend, String> {
    let wanted = arguments.need("backend")?;
    let plain = |backend: Backend| backend.to_string().to_lowercase().replace('-', "");
    let names = Backend::ALL.map(plain);
    Backend::ALL
        .into_iter()
        .find(|backend| plain(*backend) == wanted)
        .ok_or_else(|| format!("there is no backend `{wanted}`; there are {}", names.join(", ")))
}

/// `cells(backend=..)`: every row of a backend, its targets' answers together where they are equal.
pub(super) fn cells(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let backend = backend(arguments)?;
    let Some(table) = &page.tree.cells else { return Ok(missing_block(NONE)) };
    let all: Vec<&str> = table
        .targets
        .iter()
        .filter(|target| target.backend == backend)
        .map(|target| target.name.as_str())
        .collect();
    let places: &[Place] =
        if backend == Backend::Cpu { &[Place::Global] } else { &[Place::Global, Place::Shared] };
    let columns: Vec<(Place, Old)> =
        places.iter().flat_map(|place| [Old::Unused, Old::Used].map(|old| (*place, old))).collect();
    let head: Vec<String> = columns
        .iter()
        .map(|(place, old)| match backend {
            Backend::Cpu => format!("old value {old}"),
            _ => format!("{place}, old value {old}"),
        })
        .collect();
    let mut body = String::new();
    for (operation, scalar) in pairs() {
        let cells: Vec<String> = columns
            .iter()
            .map(|(place, old)| {
                let row = find(table, backend, (operation, scalar, *place, *old));
                format!("<td>{}</td>", row.map_or(String::new(), |row| answers(row, &all)))
            })
            .collect();
        body += &row_html(&backend.to_string(), operation, scalar, &cells.concat());
    }
    Ok(frame(&format!("{backend}: what each operation becomes"), &head, &body))
}

/// Operations and the types they are defined for.
fn pairs() -> impl Iterator<Item = (Operation, Scalar)> {
    Operation::ALL.into_iter().flat_map(|operation| {
        let defined = Scalar::ALL.into_iter().filter(move |scalar| operation.is_defined_for(*scalar));
        defined.map(move |scalar| (operation, scalar))
    })
}

fn find(table: &Cells, backend: Backend, key: (Operation, Scalar, Place, Old)) -> Option<&Row> {
    table.rows.iter().find(|row| row.backend == backend && row.key() == key)
}

fn row_html(backend: &str, operation: Operation, scalar: Scalar, cells: &str) -> String {
    format!(
        "<tr data-backend=\"{backend}\" data-operation=\"{operation}\" data-type=\"{scalar}\"><th scope=\"row\">{operation} {scalar}</th>{cells}</tr>"
    )
}

fn frame(caption: &str, head: &[String], body: &str) -> String {
    let head: Vec<String> =
        head.iter().map(|cell| format!("<th scope=\"col\">{}</th>", html::escape(cell))).collect();
    let label = html::escape(caption);
    format!(
        "<div class=\"words cells\"><div class=\"lab-table\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\"><table><caption><span>{label}</span></caption>\
         <thead><tr><th scope=\"col\">operation and type</th>{}</tr></thead><tbody>{body}</tbody></table></div></div>",
        head.concat()
    )
}

fn answers(row: &Row, all: &[&str]) -> String {
    let several = row.cells.len() > 1;
    let cells = row.cells.iter().map(|cell| {
        let whose = if several {
            format!(" <span class=\"note\">{}</span>", html::escape(&shortened(&cell.targets, all)))
        } else {
            String::new()
        };
        format!("<div>{}{whose}</div>", answer(cell))
    });
    cells.collect()
}

fn answer(cell: &Cell) -> String {
    let mut text = verdict(&cell.answer);
    if let Some(why) = &cell.why {
        text += &format!(" <span class=\"note\">{}</span>", html::escape(why));
    }
    if cell.spelled == Spelling::Loop {
        text += " <span class=\"note\">written as a loop: the language has no such operation</span>";
    }
    if let Some(uniform) = &cell.uniform {
        text += &format!(" <span class=\"note\">one address for all: {}</span>", verdict(uniform));
    }
    if !cell.needs.is_empty() {
        text += &format!(" <span class=\"note\">needs {}</span>", html::escape(&cell.needs.join(", ")));
    }
    text
}

fn verdict(answer: &Answer) -> String {
    let instructions: Vec<String> = answer
        .instruction
        .split(", ")
        .filter(|name| !name.is_empty())
        .map(|name| format!("<code>{}</code>", breakable(name).replace('.', ".<wbr>")))
        .collect();
    format!(
        "<span class=\"became {}\">{}</span> {}",
        class(answer.verdict),
        answer.verdict,
        instructions.join(" ")
    )
}

fn class(verdict: CellVerdict) -> &'static str {
    match verdict {
        CellVerdict::Native => "native",
        CellVerdict::Folded => "folded",
        CellVerdict::CasLoop | CellVerdict::ExclusiveLoop => "loop",
        CellVerdict::NotAvailable => "absent",
    }
}

/// Targets' names, those of one processor together: `gfx906, gfx942 agent`, `sm_75, 80, 86`.
fn shortened(targets: &[String], all: &[&str]) -> String {
    let processor = |name: &str| name.split(' ').next().unwrap_or(name).to_owned();
    let mut names: Vec<String> = Vec::new();
    for target in targets {
        let first = processor(target);
        let whole = all
            .iter()
            .filter(|name| processor(name) == first)
            .all(|name| targets.iter().any(|target| target == name));
        let name = if whole { first } else { target.clone() };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ").replace(", sm_", ", ")
}

/// `cells_short(targets=[..])`: the verdicts alone, a row an operation and type, a column a target.
pub(super) fn cells_short(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let wanted = arguments.texts("targets")?.ok_or("cells_short() needs `targets`")?;
    let Some(table) = &page.tree.cells else { return Ok(missing_block(NONE)) };
    let mut targets = Vec::new();
    for name in &wanted {
        let known = || table.targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = table.targets.iter().find(|target| target.name == *name);
        targets.push(found.ok_or_else(|| format!("there is no target `{name}`; there are: {}", known()))?);
    }
    let mut body = String::new();
    for (operation, scalar) in pairs() {
        let cells = targets
            .iter()
            .map(|target| format!("<td>{}</td>", short(table, &target.name, operation, scalar)));
        body += &row_html("short", operation, scalar, &cells.collect::<String>());
    }
    let head: Vec<String> =
        targets.iter().map(|target| format!("{}, {}", target.backend, target.name)).collect();
    Ok(frame("In short: global memory, old value unused, and what differs from that", &head, &body))
}

fn short(table: &Cells, target: &str, operation: Operation, scalar: Scalar) -> String {
    let at = |place, old| table.cell(target, (operation, scalar, place, old));
    let Some(first) = at(Place::Global, Old::Unused) else { return String::new() };
    let word = |answer: &Answer| {
        format!("<span class=\"became {}\">{}</span>", class(answer.verdict), answer.verdict)
    };
    let mut text = word(&first.answer);
    let cases = [
        ("old value used", Place::Global, Old::Used),
        ("shared", Place::Shared, Old::Unused),
        ("shared, old value used", Place::Shared, Old::Used),
    ];
    let mut last = None;
    for (name, place, old) in cases {
        let Some(other) = at(place, old) else { continue };
        // Shared memory is said once unless the use matters there, too.
        let base = if place == Place::Shared && old == Old::Used { last.unwrap_or(first) } else { first };
        if other.answer.verdict != base.answer.verdict {
            text += &format!(" <span class=\"note\">{name}: {}</span>", word(&other.answer));
        }
        last = Some(other);
    }
    if first.uniform.as_ref().is_some_and(|uniform| uniform.verdict == CellVerdict::Folded) {
        text += " <span class=\"note\">one address for all: folded</span>";
    }
    text
}

/// `cells_filter()`: choices of backend, type and operation. Without a script there is nothing to choose, and the
/// tables stand whole.
pub(super) fn cells_filter(page: &Page, _: &mut Arguments) -> Result<String, String> {
    if page.tree.cells.is_none() {
        return Ok(missing_block(NONE));
    }
    let select = |name: &str, label: &str, options: Vec<String>| {
        let options: Vec<String> =
            options.iter().map(|option| format!("<option value=\"{option}\">{option}</option>")).collect();
        let id = page.id(&format!("filter-{name}"));
        format!(
            "<label for=\"{id}\">{label}</label> <select id=\"{id}\" data-filter=\"{name}\"><option value=\"\">all</option>{}</select> ",
            options.concat()
        )
    };
    Ok(format!(
        "<form class=\"cells-filter\" hidden>{}{}{}<span role=\"status\"></span></form>",
        select("backend", "Backend", Backend::ALL.iter().map(Backend::to_string).collect()),
        select("type", "Type", Scalar::ALL.iter().map(Scalar::to_string).collect()),
        select("operation", "Operation", Operation::ALL.iter().map(Operation::to_string).collect()),
    ))
}

/// `cell_targets()`: with which compiler each column was made, from what, and who read it.
pub(super) fn cell_targets(page: &Page, _: &mut Arguments) -> Result<String, String> {
    let Some(table) = &page.tree.cells else { return Ok(missing_block(NONE)) };
    let rows: Vec<Vec<String>> = table
        .targets
        .iter()
        .map(|target| {
            let mut row = vec![format!("<span class=\"whole\">{}</span>", html::escape(&target.name))];
            let texts = [
                &target.backend.to_string(),
                &target.compiler,
                &target.from,
                &target.read_by,
                &target.extent,
            ];
            row.extend(texts.map(|text| html::escape(text)));
            row
        })
        .collect();
    let columns = ["target", "backend", "compiler", "from", "read by", "extent"].map(str::to_owned);
    Ok(format!(
        "<div class=\"words\">{}</div>",
        html::table("What the table was made with", "", &columns, &rows)
    ))
}

/// `cell_contrasts()`: where the operations page of the sources says otherwise, both values.
pub(super) fn cell_contrasts(page: &Page, _: &mut Arguments) -> Result<String, String> {
    let (Some(table), Some(source)) = (&page.tree.cells, &page.tree.cell_source) else {
        return Ok(missing_block(NONE));
    };
    let rows: Vec<Vec<String>> = source
        .contrasts(table)
        .iter()
        .map(|contrast| {
            let mut of: Vec<String> = Vec::new();
            let mut targets: Vec<String> = Vec::new();
            for (operation, scalar, place, old, target) in &contrast.places {
                let what = match contrast.statement.backend {
                    Backend::Cpu => format!("{operation} {scalar}, old value {old}"),
                    _ => format!("{operation} {scalar} {place}, old value {old}"),
                };
                if !of.contains(&what) {
                    of.push(what);
                }
                if !targets.iter().any(|known| known == target) {
                    targets.push((*target).to_owned());
                }
            }
            let mut found = contrast.found.clone();
            found.uniform = None;
            vec![
                html::escape(&format!("{}: {}", contrast.statement.backend, contrast.statement.at)),
                contrast.statement.says.word().to_owned(),
                answer(&found),
                html::escape(&of.join("; ")),
                html::escape(&targets.join(", ").replace(", sm_", ", ")),
            ]
        })
        .collect();
    let (all, agree) = source.agreement(table);
    let note = html::escape(&format!("{}: {agree} of {all} cells it speaks of agree", source.title));
    let columns = ["it says of", "its word", "the evidence", "for", "on"].map(str::to_owned);
    Ok(format!(
        "<div class=\"words\">{}</div>",
        html::table("Where the source and the evidence differ", &note, &columns, &rows)
    ))
}

/// `cell_prices()`: updates a second on the GPU they were measured on, beside what the operation became there.
pub(super) fn cell_prices(page: &Page, _: &mut Arguments) -> Result<String, String> {
    let (Some(table), Some(prices)) = (&page.tree.cells, &page.tree.cell_prices) else {
        return Ok(missing_block(
            "prices are not yet measured: `native-or-cas price` measures them on a GPU",
        ));
    };
    let architecture = format!("sm_{}", prices.gpu.compute_capability.replace('.', ""));
    let mut rows = Vec::new();
    for price in prices.prices.iter().filter(|price| price.addresses == 1) {
        let key = (price.operation, price.scalar, Place::Global, price.old);
        let spread = prices.prices.iter().find(|other| {
            other.addresses != 1
                && (other.operation, other.scalar, other.old) == (price.operation, price.scalar, price.old)
        });
        rows.push(vec![
            format!("{} {}", price.operation, price.scalar),
            price.old.to_string(),
            table.cell(&architecture, key).map_or(String::new(), |cell| verdict(&cell.answer)),
            rate(price),
            spread.map_or(String::new(), rate),
        ]);
    }
    let spread = prices.prices.iter().map(|price| price.addresses).max().unwrap_or_default();
    let columns = [
        "operation and type".to_owned(),
        "old value".to_owned(),
        format!("on {architecture}"),
        "updates a second at 1 address".to_owned(),
        format!("at {} addresses", units::count(f64::from(spread))),
    ];
    let note = format!(
        "{}, driver {}, {} sessions, {}: {}",
        prices.gpu.name,
        prices.driver,
        prices.sessions.len(),
        prices.compiler,
        prices.method
    );
    Ok(format!(
        "<div class=\"words cells\">{}</div>",
        html::table("The price of a cell, global memory", &html::escape(&note), &columns, &rows)
    ))
}

/// A median, or the range of the sessions' where they do not agree.
fn rate(price: &Price) -> String {
    let Some(summary) = Summary::of(&price.per_second) else { return String::new() };
    let shown = |value| units::quantity(value, Unit::PerSecond).unwrap_or_default();
    let text = if summary.noisy() {
        let (low, high) = summary.session_range();
        format!("{} to {}", shown(low), shown(high))
    } else {
        shown(summary.median)
    };
    format!("<span class=\"whole\">{}</span>", html::escape(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_processor_stand_together() {
        let all = ["sm_75", "sm_80", "gfx906 agent", "gfx906 system", "gfx942 agent", "gfx942 system"];
        let names = |targets: &[&str]| {
            let targets: Vec<String> = targets.iter().map(|name| (*name).to_owned()).collect();
            shortened(&targets, &all)
        };
        assert_eq!(names(&["sm_75", "sm_80"]), "sm_75, 80");
        assert_eq!(names(&["gfx906 agent", "gfx906 system", "gfx942 agent"]), "gfx906, gfx942 agent");
        assert_eq!(names(&["gfx942 system"]), "gfx942 system");
    }

    #[test]
    fn a_rate_that_sessions_disagree_on_is_a_range() {
        let price = |samples: &[f64]| Price {
            operation: Operation::Add,
            scalar: Scalar::U32,
            old: Old::Unused,
            addresses: 1,
            threads: 32,
            per_second: samples.iter().map(|sample| vec![*sample]).collect(),
        };
        assert_eq!(rate(&price(&[1e9, 1.01e9, 1.02e9])), "<span class=\"whole\">1.01 G/s</span>");
        assert_eq!(rate(&price(&[1e9, 1.2e9, 1.1e9])), "<span class=\"whole\">1.00 G/s to 1.20 G/s</span>");
    }
}
