//! Help, lists, and what ships inside the program.

use labs::lab;
use snapbox::{assert_data_eq, str};

use crate::labs;

#[test]
fn help_lists_commands_and_every_lab() {
    let output = labs("--help").success().stderr_eq("").get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    let (labs, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("  day"));
    assert_eq!(labs.len(), lab::registry().len(), "{text}");
    // A question may go on in the next line.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for lab in lab::registry() {
        let (day, idea) = lab::names(lab.stem());
        let wanted = format!("{day} {} [alias: {idea}]", lab.question());
        assert!(words.contains(&wanted), "`{wanted}` is not in:\n{text}");
    }
    let rest: String =
        rest.iter().filter(|line| !line.starts_with("         ")).map(|line| format!("{line}\n")).collect();
    assert_data_eq!(
        rest,
        str![[r#"
GPU atomic contention, one lab at a time

Runs a lab's CUDA kernels on this machine's GPU, or on the simulator where there is none. Exit
codes: 0, every variant's outcome is the one it declares; 1, it is not, or a check failed; 2, wrong
usage; 3, this machine lacks what was asked for.

Usage: labs <COMMAND>

Commands:
  list      List the labs, their question, chapter and newest record
  explain   Show a lab's kernels, their atomics in PTX and, where a disassembler is found, in SASS
  exercise  Check your own kernel in kernels/exercises/: results, then counts against the goal
  verify    Measure on this GPU by the rules and write verification/<gpu>/
  agree     Hold the simulator against this GPU: results, and requests to memory where ncu is found
  slices    Read this GPU's counters of its L2 slices by ncu, one launch a variant
  records   Look after the records; needs no GPU
  model     Hold the queue model's predictions against the records of a GPU
  doctor    Show what this machine has, what each missing thing costs, and the line that installs it

Options:
  -h, --help

  -V, --version

"#]]
    );
}

#[test]
fn help_of_a_lab() {
    labs("day26 --help").success().stderr_eq("").stdout_eq(str![[r#"
What does it cost when every thread of a grid adds into one float?

Usage: labs day26 [OPTIONS]

Options:
      --backend <BACKEND>
          Where to run: the GPU where there is one, else the simulator

          Possible values:
          - auto: The GPU where there is one and its driver takes the code, else the simulator
          - cuda: The GPU
          - sim:  The simulator
          
          [default: auto]

      --variant <NAME>
          Only this variant; again for several
          
          [possible values: global_atomic, shared_privatised, block_tree, warp_shuffle, grid_stride,
          vectorised, two_pass]

      --samples <N>
          Samples to take of each time, instead of as many as it needs to settle

      --seed <N>
          Seed of inputs, of the order of measuring, and of a shuffled schedule
          
          [default: 1]

      --kernel <FILE>
          Run this edited kernel file (.cu or .ptx) in place of the lab's

      --check <CHECK>
          Look for data races on the simulator instead of measuring

          Possible values:
          - races: Accesses to one location that nothing orders, under several schedules

      --schedule <SCHEDULE>
          In which order the simulator lets blocks and warps run

          Possible values:
          - fair:        In order, each in its turn; what it does without this option
          - shuffled:    In an order drawn by the seed
          - adversarial: The latest block first, and one starved: what relies on an order fails

      --format <FORMAT>
          How to print the results

          Possible values:
          - table: For people
          - json:  A draft record, as JSON
          - csv:   One line a figure and session
          
          [default: table]

      --out <FILE>
          Write the results to this file instead of printing them

      --plot <FILE.svg>
          Draw the lab's figure into this file: times on a GPU, longest queues on the simulator

      --size <N>
          Elements to add; again for several sizes

  -h, --help
          Print help (see a summary with '-h')

"#]]);
}

#[test]
fn help_of_verify() {
    labs("verify --help").success().stderr_eq("").stdout_eq(str![[r#"
Measure on this GPU by the rules and write verification/<gpu>/

Usage: labs verify [OPTIONS] [LAB]...

Arguments:
  [LAB]...  The labs to measure

Options:
      --all     Measure all labs
      --resume  Leave out labs with a verified record of this GPU, code and protocol
      --add     Add a sitting to a verified record instead of replacing it
  -h, --help    Print help

"#]]);
}

#[test]
fn help_of_the_other_commands() {
    labs("agree --help").success().stderr_eq("").stdout_eq(str![[r#"
Hold the simulator against this GPU: results, and requests to memory where ncu is found

Usage: labs agree [OPTIONS] [LAB]...

Arguments:
  [LAB]...  The labs to compare

Options:
      --all   Compare all labs
  -h, --help  Print help

"#]]);
    labs("explain --help").success().stderr_eq("").stdout_eq(str![[r#"
Show a lab's kernels, their atomics in PTX and, where a disassembler is found, in SASS

Usage: labs explain [OPTIONS] <LAB>

Arguments:
  <LAB>  The lab: `day26`, or `sum`

Options:
      --variant <NAME>  Only this variant
  -h, --help            Print help

"#]]);
    labs("exercise --help").success().stderr_eq("").stdout_eq(str![[r#"
Check your own kernel in kernels/exercises/: results, then counts against the goal

Usage: labs exercise [OPTIONS] <LAB>

Arguments:
  <LAB>  The lab: `day26`, or `sum`

Options:
      --watch     Check again whenever the file is saved
      --hint      Print the hints
      --solution  Print the solution
  -h, --help      Print help

"#]]);
    labs("records --help").success().stderr_eq("").stdout_eq(str![[r#"
Look after the records; needs no GPU

Usage: labs records <COMMAND>

Commands:
  list   List the records and whether they may be published
  check  Recompute everything that is derived, and refuse what does not agree
  sign   Sign a record with an SSH key, as its author or as a different reviewer
  diff   Compare two records, figure by figure

Options:
  -h, --help  Print help

"#]]);
}

#[test]
fn every_name_of_a_lab_reaches_it() {
    let help = |name: &str| labs(&format!("{name} -h")).success().get_output().stdout.clone();
    assert_eq!(help("day26"), help("day26_sum"));
    assert_eq!(help("day26"), help("sum"));
}

#[test]
fn list_outside_a_checkout() {
    let output = labs("list").success().stderr_eq("").get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    for lab in lab::registry() {
        let (day, idea) = lab::names(lab.stem());
        // However wide the columns are.
        let row = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let wanted = format!("{day} {idea} {} book/src/{}.md none", lab.question(), lab.stem());
        assert!(row.into_iter().any(|row| row == wanted), "`{wanted}` is not in:\n{text}");
    }
}

#[test]
fn what_ships_is_printed_without_a_checkout() {
    let exercise = lab::find("day26").unwrap().exercise().unwrap();
    labs("exercise day26 --solution").success().stderr_eq("").stdout_eq(exercise.solution);
    let hints: Vec<String> =
        exercise.hints.iter().enumerate().map(|(i, hint)| format!("{}. {hint}\n", i + 1)).collect();
    labs("exercise day26 --hint").success().stderr_eq("").stdout_eq(hints.concat());

    let output = labs("explain day26 --variant block_tree").success().stderr_eq(str![[r#"
no SASS: nvdisasm or cuobjdump not found (looked at: HOT_ADDRESSES_NVDISASM=[..]none); let HOT_ADDRESSES_NVDISASM name the file or its folder, or unset it

"#]]).get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("PTX of block_tree:") && text.contains("\n    atom.global.add.f32"), "{text}");
    assert!(!text.contains("warp_shuffle"), "only the chosen variant is shown:\n{text}");

    let doctor = labs("doctor").success().stderr_eq("").get_output().clone();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    for thing in ["GPU and driver", "NVRTC", "disassembler", "NVML", "compute-sanitizer", "nvcc", "ncu"] {
        assert!(doctor.contains(thing), "`{thing}` is not in:\n{doctor}");
    }
}
