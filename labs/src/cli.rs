//! The command line. The doc comments are the help.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use labs_record::Coordinate;

use crate::lab::{self, Axis, Facet, Lab, Mode, Places};

/// GPU atomic contention, one lab at a time
///
/// Runs a lab's CUDA kernels on this machine's GPU, or on the simulator where there is none. Exit codes: 0, every
/// variant's outcome is the one it declares; 1, it is not, or a check failed; 2, wrong usage; 3, this machine lacks what
/// was asked for.
#[derive(Debug, Parser)]
#[command(
    name = "labs",
    bin_name = "labs",
    version,
    subcommand_help_heading = "Commands",
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands besides the labs themselves.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the labs, their question, chapter and newest record
    List,
    /// Show a lab's kernels, their atomics in PTX and, where a disassembler is found, in SASS
    Explain(ExplainArgs),
    /// Check your own kernel in kernels/exercises/: results, then counts against the goal
    Exercise(ExerciseArgs),
    /// Measure on this GPU by the rules and write verification/<gpu>/
    Verify(VerifyArgs),
    /// Hold the simulator against this GPU: results, and requests to memory where ncu is found
    Agree(AgreeArgs),
    /// Read this GPU's counters of its L2 slices by ncu, one launch a variant
    Slices,
    /// Look after the records; needs no GPU
    #[command(subcommand)]
    Records(RecordsCommand),
    /// Hold the queue model's predictions against the records of a GPU
    Model(ModelArgs),
    /// Show what this machine has, what each missing thing costs, and the line that installs it
    Doctor,
    /// The process that measures; started by the other commands
    #[command(hide = true)]
    Worker,
}

/// Options of `labs explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The lab: `day26`, or `sum`
    pub lab: String,
    /// Only this variant
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
}

/// Options of `labs exercise`.
#[derive(Debug, Args)]
pub struct ExerciseArgs {
    /// The lab: `day26`, or `sum`
    pub lab: String,
    /// Check again whenever the file is saved
    #[arg(long)]
    pub watch: bool,
    /// Print the hints
    #[arg(long, conflicts_with = "watch")]
    pub hint: bool,
    /// Print the solution
    #[arg(long, conflicts_with_all = ["watch", "hint"])]
    pub solution: bool,
}

/// Options of `labs verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The labs to measure
    #[arg(value_name = "LAB", required_unless_present = "all")]
    pub labs: Vec<String>,
    /// Measure all labs
    #[arg(long, conflicts_with = "labs")]
    pub all: bool,
    /// Leave out labs with a verified record of this GPU, code and protocol
    #[arg(long)]
    pub resume: bool,
    /// Add a sitting to a verified record instead of replacing it
    #[arg(long, conflicts_with = "resume")]
    pub add: bool,
}

/// Options of `labs agree`.
#[derive(Debug, Args)]
pub struct AgreeArgs {
    /// The labs to compare
    #[arg(value_name = "LAB", required_unless_present = "all")]
    pub labs: Vec<String>,
    /// Compare all labs
    #[arg(long, conflicts_with = "labs")]
    pub all: bool,
}

/// Options of `labs model`.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// The GPU, as its folder under verification/ is called
    #[arg(default_value = "nvidia-h200")]
    pub gpu: String,
}

/// The commands on records.
#[derive(Debug, Subcommand)]
pub enum RecordsCommand {
    /// List the records and whether they may be published
    List,
    /// Recompute everything that is derived, and refuse what does not agree
    Check {
        /// Records to check; all if none is named
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Sign a record with an SSH key, as its author or as a different reviewer
    Sign {
        /// The record
        file: PathBuf,
        /// Your name in verification/signers
        #[arg(long = "as", value_name = "NAME")]
        signer: String,
        /// As what
        #[arg(long, value_enum)]
        role: RoleChoice,
        /// Your private key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Compare two records, figure by figure
    Diff {
        /// The one
        a: PathBuf,
        /// The other
        b: PathBuf,
    },
}

/// As what a record is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleChoice {
    /// Who made the record and wrote its chapter
    Author,
    /// Somebody else, who has looked at both
    Reviewer,
}

/// Options of a lab.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Where to run: the GPU where there is one, else the simulator
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,
    /// Only this variant; again for several
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    /// Samples to take of each time, instead of as many as it needs to settle
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub samples: Option<u32>,
    /// Seed of inputs, of the order of measuring, and of a shuffled schedule
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Run this edited kernel file (.cu or .ptx) in place of the lab's
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// Look for data races on the simulator instead of measuring
    #[arg(long, value_enum, conflicts_with = "format")]
    pub check: Option<CheckChoice>,
    /// In which order the simulator lets blocks and warps run
    #[arg(long, value_enum, conflicts_with = "check")]
    pub schedule: Option<ScheduleChoice>,
    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Write the results to this file instead of printing them
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Draw the lab's figure into this file: times on a GPU, longest queues on the simulator
    #[arg(long, value_name = "FILE.svg", conflicts_with = "check")]
    pub plot: Option<PathBuf>,
}

/// Where kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// The GPU where there is one and its driver takes the code, else the simulator
    Auto,
    /// The GPU
    Cuda,
    /// The simulator
    Sim,
}

/// What is checked instead of measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckChoice {
    /// Accesses to one location that nothing orders, under several schedules
    Races,
}

/// The order of blocks and warps on the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScheduleChoice {
    /// In order, each in its turn; what it does without this option
    Fair,
    /// In an order drawn by the seed
    Shuffled,
    /// The latest block first, and one starved: what relies on an order fails
    Adversarial,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// A draft record, as JSON
    Json,
    /// One line a figure and session
    Csv,
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// Run a lab.
    Run {
        /// Which; comparing labs is comparing stems.
        stem: &'static str,
        /// Its options.
        args: RunArgs,
        /// Places on its axes.
        places: BTreeMap<String, Vec<Coordinate>>,
    },
    /// Anything else.
    Other(Command),
}

/// The whole command line, a subcommand a lab.
pub fn command() -> clap::Command {
    lab::registry().iter().fold(Cli::command(), |command, lab| command.subcommand(lab_command(*lab)))
}

fn lab_command(lab: &'static dyn Lab) -> clap::Command {
    let (day, idea) = lab::names(lab.stem());
    let command = clap::Command::new(day).visible_alias(idea).alias(lab.stem());
    let variants: Vec<&str> = lab.variants().iter().map(|variant| variant.name).collect();
    // The options come first: their own description would take the question's place.
    let command = RunArgs::augment_args(command)
        .about(lab.question())
        .long_about(lab.question())
        .mut_arg("variants", |arg| arg.value_parser(PossibleValuesParser::new(variants)));
    let command = lab.axes().into_iter().fold(command, |command, axis| command.arg(axis_option(axis)));
    let command = lab.facets().iter().fold(command, |command, facet| command.arg(facet_option(facet)));
    match lab.modes() {
        [] => command,
        modes => command.arg(mode_option(modes)),
    }
}

fn mode_option(modes: &'static [Mode]) -> Arg {
    let names = modes.iter().map(|mode| PossibleValue::new(mode.name).help(mode.help));
    Arg::new("mode")
        .long("mode")
        .value_name("MODE")
        .help("A choice of places by its name")
        .value_parser(PossibleValuesParser::new(names))
        .conflicts_with_all(modes.iter().map(|mode| mode.axis))
}

fn facet_option(facet: &'static Facet) -> Arg {
    Arg::new(facet.name)
        .long(facet.name)
        .help(facet.help)
        .action(ArgAction::Append)
        .value_parser(PossibleValuesParser::new(facet.words))
}

fn axis_option(axis: Axis) -> Arg {
    let option = Arg::new(axis.name)
        .long(axis.name)
        .help(axis.help)
        .action(ArgAction::Append)
        .allow_negative_numbers(true);
    match axis.places {
        Places::UpTo(most) => option
            .value_name("N")
            .value_parser(move |text: &str| whole_number(text, most).map(Coordinate::Number)),
        Places::OneOf(words) => option.value_parser(move |text: &str| match words.contains(&text) {
            true => Ok(Coordinate::from(text)),
            false => Err(format!("it is one of {}", words.join(", "))),
        }),
    }
}

fn whole_number(text: &str, most: u64) -> Result<u64, String> {
    let digits = text.replace('_', "");
    match digits.parse::<u64>() {
        Ok(number) if number <= most => Ok(number),
        _ => Err(format!("it is a whole number from 0 to {most}")),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    whole_number(text, u64::MAX)
}

/// Reads a command line.
///
/// # Errors
/// clap's, which print help or what is wrong.
pub fn parse(arguments: impl Iterator<Item = std::ffi::OsString>) -> Result<Request, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    if let Some((name, options)) = matches.subcommand()
        && let Some(lab) = lab::find(name)
    {
        let mut args = RunArgs::from_arg_matches(options)?;
        choose_by_facets(lab, options, &mut args)?;
        return Ok(Request::Run { stem: lab.stem(), args, places: places(lab, options) });
    }
    Ok(Request::Other(Cli::from_arg_matches(&matches)?.command))
}

/// Keeps the variants that fit every facet of which words are named.
fn choose_by_facets(lab: &dyn Lab, options: &ArgMatches, args: &mut RunArgs) -> Result<(), clap::Error> {
    for facet in lab.facets() {
        let Some(words) = options.get_many::<String>(facet.name) else { continue };
        let words: Vec<&String> = words.collect();
        if args.variants.is_empty() {
            args.variants = lab.variants().iter().map(|variant| variant.name.to_owned()).collect();
        }
        args.variants.retain(|variant| words.iter().any(|word| (facet.fits)(word, variant)));
        if args.variants.is_empty() {
            let known: Vec<&str> = lab.variants().iter().map(|variant| variant.name).collect();
            let message = format!("no variant is all that is asked for; there are {}", known.join(", "));
            return Err(command().error(clap::error::ErrorKind::ArgumentConflict, message));
        }
    }
    Ok(())
}

fn places(lab: &dyn Lab, options: &ArgMatches) -> BTreeMap<String, Vec<Coordinate>> {
    let named = lab.axes().into_iter().filter_map(|axis| {
        let mut once: Vec<Coordinate> = Vec::new();
        for place in options.get_many::<Coordinate>(axis.name)? {
            if !once.contains(place) {
                once.push(place.clone());
            }
        }
        Some((axis.name.to_owned(), once))
    });
    // A lab without modes has no such option.
    let wanted = options.try_get_one::<String>("mode").ok().flatten();
    let mode = lab.modes().iter().find(|mode| wanted.is_some_and(|wanted| wanted == mode.name));
    let moded = mode.map(|mode| {
        (mode.axis.to_owned(), mode.places.iter().map(|place| Coordinate::Number(*place)).collect())
    });
    named.chain(moded).collect()
}
