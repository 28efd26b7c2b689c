//! The `labs` command: parse, run, report.

use std::io::Write as _;
use std::panic::{PanicHookInfo, catch_unwind, set_hook};
use std::process::ExitCode;

use labs::cli::{self, Command, Request};
use labs::{agree, doctor, exercise, explain, failure, lab, model, records, session, slices, verify};

fn main() -> ExitCode {
    // A library that gives up, or a full disk behind standard output, is told in a line as every other failure is.
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        set_hook(Box::new(tell));
    }
    catch_unwind(run).unwrap_or(ExitCode::FAILURE)
}

fn tell(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let what = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("unknown");
    // The print macros give up so where a disk is full, which is no fault of this program.
    if let Some(why) = what.strip_prefix("failed printing to ") {
        let _ = writeln!(std::io::stderr(), "labs: cannot write to {why}");
        return;
    }
    let place =
        panic.location().map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
    let _ =
        writeln!(std::io::stderr(), "labs: stopped by a fault: {what}{place}; RUST_BACKTRACE=1 shows more");
}

fn run() -> ExitCode {
    let request = match cli::parse(std::env::args_os()) {
        Ok(request) => request,
        Err(error) => error.exit(),
    };
    let outcome = match request {
        Request::Run { stem, args, places } => match lab::find(stem) {
            Some(lab) => labs::run::run(lab, &args, places),
            None => Err(failure::failed(format!("the lab `{stem}` is not in the registry"))),
        },
        Request::Other(command) => match command {
            Command::List => records::labs(),
            Command::Explain(args) => explain::run(&args),
            Command::Exercise(args) => exercise::run(&args),
            Command::Verify(args) => verify::verify(&args),
            Command::Agree(args) => agree::agree(&args),
            Command::Model(args) => model::run(&args),
            Command::Slices => slices::count(),
            Command::Records(command) => records::run(&command),
            Command::Doctor => doctor::run(),
            Command::Worker => session::worker(),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(anstream::stderr(), "labs: {error:#}");
            ExitCode::from(failure::kind_of(&error).exit_code())
        }
    }
}
