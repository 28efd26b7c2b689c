//! The `labs` command: parse, run, report.

use std::process::ExitCode;

use labs::cli::{self, Command, Request};
use labs::{doctor, exercise, explain, failure, lab, records, run, session, verify};

fn main() -> ExitCode {
    let request = match cli::parse(std::env::args_os()) {
        Ok(request) => request,
        Err(error) => error.exit(),
    };
    let outcome = match request {
        Request::Run { stem, args, places } => match lab::find(stem) {
            Some(lab) => run::run(lab, &args, places),
            None => Err(failure::failed(format!("the lab `{stem}` is not in the registry"))),
        },
        Request::Other(command) => match command {
            Command::List => records::labs(),
            Command::Explain(args) => explain::run(&args),
            Command::Exercise(args) => exercise::run(&args),
            Command::Verify(args) => verify::verify(&args),
            Command::Records(command) => records::run(&command),
            Command::Doctor => doctor::run(),
            Command::Worker => session::worker(),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("labs: {error:#}");
            ExitCode::from(failure::kind_of(&error).exit_code())
        }
    }
}
