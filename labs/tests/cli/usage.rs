//! Wrong usage.

use snapbox::str;

use crate::labs;

/// Each of these is wrong usage: exit code 2, nothing on standard output, and these words.
macro_rules! usage {
    ($($name:ident: $line:literal => $words:expr;)*) => {$(
        #[test]
        fn $name() {
            labs($line).code(2).stdout_eq("").stderr_eq($words);
        }
    )*};
}

usage! {
    a_negative_size: "day26 --size -1" => str![[r#"
error: invalid value '-1' for '--size <N>': it is a whole number from 0 to 274877906944

For more information, try '--help'.

"#]];
    a_size_that_is_not_whole: "day26 --size 1e30" => str![[r#"
error: invalid value '1e30' for '--size <N>': it is a whole number from 0 to 274877906944

For more information, try '--help'.

"#]];
    a_size_beyond_all_memory: "day26 --size 274877906945" => str![[r#"
error: invalid value '274877906945' for '--size <N>': it is a whole number from 0 to 274877906944

For more information, try '--help'.

"#]];
    a_size_without_a_number: "day26 --size" => str![[r#"
error: a value is required for '--size <N>' but none was supplied

For more information, try '--help'.

"#]];
    no_samples: "day26 --samples 0" => str![[r#"
error: invalid value '0' for '--samples <N>': 0 is not in 1..=1000000

For more information, try '--help'.

"#]];
    negative_samples: "day26 --samples -3" => str![[r#"
error: invalid value '-3' for '--samples <N>': -3 is not in 1..=1000000

For more information, try '--help'.

"#]];
    a_negative_seed: "day26 --seed -1" => str![[r#"
error: invalid value '-1' for '--seed <N>': it is a whole number from 0 to 18446744073709551615

For more information, try '--help'.

"#]];
    an_unknown_variant: "day26 --variant block_three" => str![[r#"
error: invalid value 'block_three' for '--variant <NAME>'
  [possible values: global_atomic, shared_privatised, block_tree, warp_shuffle, grid_stride, vectorised, two_pass]

  tip: a similar value exists: 'block_tree'

For more information, try '--help'.

"#]];
    an_unknown_lab: "nosuch" => str![[r#"
error: unrecognized subcommand 'nosuch'

Usage: labs <COMMAND>

For more information, try '--help'.

"#]];
    an_unknown_format: "day26 --format xml" => str![[r#"
error: invalid value 'xml' for '--format <FORMAT>'
  [possible values: table, json, csv]

For more information, try '--help'.

"#]];
    an_unknown_backend: "day26 --backend rocm" => str![[r#"
error: invalid value 'rocm' for '--backend <BACKEND>'
  [possible values: auto, cuda, sim]

For more information, try '--help'.

"#]];
    an_unknown_check: "day26 --check leaks" => str![[r#"
error: invalid value 'leaks' for '--check <CHECK>'
  [possible values: races]

For more information, try '--help'.

"#]];
    an_unknown_option: "day26 --sise 4096" => str![[r#"
error: unexpected argument '--sise' found

  tip: a similar argument exists: '--size'

Usage: labs day26 --size <N>

For more information, try '--help'.

"#]];
    no_command: "records" => str![[r#"
Look after the records; needs no GPU

Usage: labs records <COMMAND>

Commands:
  list   List the records and whether they may be published
  check  Recompute everything that is derived, and refuse what does not agree
  sign   Sign a record with an SSH key, as its author or as a different reviewer
  diff   Compare two records, figure by figure

Options:
  -h, --help  Print help

"#]];
    out_into_a_missing_folder: "day26 --backend sim --out missing/out.json" => str![[r#"
labs: cannot write `missing/out.json`: there is no folder `missing`; choose another --out

"#]];
    out_into_a_folder: "day26 --backend sim --out ." => str![[r#"
labs: cannot write `.`: it is a folder; choose another --out

"#]];
    a_kernel_file_that_is_not_there: "day26 --backend sim --kernel missing.cu" => str![[r#"
labs: cannot read kernel file `missing.cu`: there is no such file; begin with a copy of one of kernels/

"#]];
    races_are_the_simulators: "day26 --check races --backend cuda" => str![[r#"
labs: `--check races` is the simulator's; leave `--backend cuda` away

"#]];
    a_schedule_is_the_simulators: "day26 --schedule fair --backend cuda" => str![[r#"
labs: `--schedule` is the simulator's; leave `--backend cuda` away

"#]];
    races_are_looked_for_under_all_schedules: "day26 --schedule fair --check races" => str![[r#"
error: the argument '--schedule <SCHEDULE>' cannot be used with '--check <CHECK>'

Usage: labs day26 --schedule <SCHEDULE>

For more information, try '--help'.

"#]];
    an_unknown_schedule: "day26 --schedule random" => str![[r#"
error: invalid value 'random' for '--schedule <SCHEDULE>'
  [possible values: fair, shuffled, adversarial]

For more information, try '--help'.

"#]];
    races_are_told_in_words: "day26 --check races --format csv" => str![[r#"
error: the argument '--check <CHECK>' cannot be used with '--format <FORMAT>'

Usage: labs day26 --check <CHECK>

For more information, try '--help'.

"#]];
    explaining_an_unknown_lab: "explain nosuch" => str![[r#"
labs: no lab `nosuch`; there are [..]day26[..]

"#]];
    explaining_an_unknown_variant: "explain day26 --variant x" => str![[r#"
labs: day26_sum has no variant `x`; there are global_atomic, shared_privatised, block_tree, warp_shuffle, grid_stride, vectorised, two_pass

"#]];
    an_exercise_that_is_not_there: "exercise nosuch" => str![[r#"
labs: no exercise `nosuch`; there are [..]day26[..]

"#]];
    a_hint_while_watching: "exercise day26 --hint --watch" => str![[r#"
error: the argument '--hint' cannot be used with '--watch'

Usage: labs exercise --hint <LAB>

For more information, try '--help'.

"#]];
    verifying_an_unknown_lab: "verify nosuch" => str![[r#"
labs: no lab `nosuch`; there are [..]day26[..]

"#]];
    verifying_nothing: "verify" => str![[r#"
error: the following required arguments were not provided:
  <LAB>...

Usage: labs verify <LAB>...

For more information, try '--help'.

"#]];
    comparing_an_unknown_lab: "agree nosuch" => str![[r#"
labs: no lab `nosuch`; there are [..]day26[..]

"#]];
    comparing_nothing: "agree" => str![[r#"
error: the following required arguments were not provided:
  <LAB>...

Usage: labs agree <LAB>...

For more information, try '--help'.

"#]];
    verifying_one_and_all: "verify day26 --all" => str![[r#"
error: the argument '[LAB]...' cannot be used with '--all'

Usage: labs verify <LAB>...

For more information, try '--help'.

"#]];
    adding_and_resuming: "verify day26 --add --resume" => str![[r#"
error: the argument '--add' cannot be used with '--resume'

Usage: labs verify --add <LAB>...

For more information, try '--help'.

"#]];
    one_record_is_no_difference: "records diff a.yaml" => str![[r#"
error: the following required arguments were not provided:
  <B>

Usage: labs records diff <A> <B>

For more information, try '--help'.

"#]];
    a_difference_of_what_is_not_there: "records diff a.yaml b.yaml" => str![[r#"
labs: cannot read `a.yaml`: there is no such file; `labs records list` names the records there are

"#]];
}
