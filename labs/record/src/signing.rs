//! Signatures under a record: an author's and a different reviewer's, made by `ssh-keygen -Y` over the record's digest
//! and checked against the committed list of signers. Whoever changes the record changes its digest and voids them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::record::{Record, SCHEMA};
use crate::store;

/// Who may sign: OpenSSH's allowed signers, a name and a public key a line.
pub const SIGNERS: &str = "verification/signers";

/// Where signatures lie, beside the records' folders.
const FOLDER: &str = "verification/signatures";

/// Keeps a signature from being passed off as one of something else.
const NAMESPACE: &str = "hot-addresses-record";

/// As what somebody signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Who made the record and wrote its chapter.
    Author,
    /// Somebody else, who has looked at both.
    Reviewer,
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Role::Author => "author",
            Role::Reviewer => "reviewer",
        }
    }
}

/// The signatures under one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signatures {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The digest that was signed.
    pub digest: String,
    /// By role.
    pub signed: BTreeMap<Role, Signed>,
}

/// One signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The name in the list of signers.
    pub signer: String,
    /// What `ssh-keygen -Y sign` wrote.
    pub signature: String,
}

/// What signatures are worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Both are there and good.
    Signed {
        /// The author's name.
        author: String,
        /// The reviewer's.
        reviewer: String,
    },
    /// At least one is missing or void: what to print behind `unsigned`.
    Unsigned(String),
}

/// Where the signatures under a record lie.
pub fn path(root: &Path, record: &Record) -> PathBuf {
    root.join(FOLDER).join(record.gpu.slug()).join(format!("{}.yaml", record.lab))
}

/// What is signed: the record by lab, GPU and digest, and as what.
fn message(record: &Record, role: Role) -> String {
    let (lab, gpu, digest, role) = (&record.lab, record.gpu.slug(), record.compute_digest(), role.word());
    format!("Hot Addresses: {lab} on {gpu}, record {digest}, as {role}\n")
}

/// Signs a record with a private key and files the signature.
///
/// # Errors
/// One sentence: ssh-keygen is missing or refuses, the key is not that of the named signer, the name has signed in the
/// other role, a file can't be read or written.
pub fn sign(root: &Path, record: &Record, role: Role, signer: &str, key: &Path) -> Result<PathBuf, String> {
    if record.digest != record.compute_digest() {
        return Err("the record's digest does not match its content; restore it before you sign".to_owned());
    }
    let file = path(root, record);
    let mut signatures = match file.is_file() {
        true => store::read::<Signatures>(&file, "file of signatures").map_err(|error| error.to_string())?,
        false => Signatures { schema: SCHEMA, digest: String::new(), signed: BTreeMap::new() },
    };
    if signatures.digest != record.digest {
        // What stands there is of another state of the record.
        signatures.signed.clear();
        signatures.digest.clone_from(&record.digest);
    }
    if signatures.signed.iter().any(|(other, signed)| *other != role && signed.signer == signer) {
        return Err(format!("`{signer}` has signed in the other role; author and reviewer are two people"));
    }
    let signature = made(key, &message(record, role))?;
    let signed = Signed { signer: signer.to_owned(), signature };
    check(root, record, role, &signed)?;
    signatures.signed.insert(role, signed);
    store::write(&file, &signatures).map_err(|error| error.to_string())?;
    Ok(file)
}

/// What the signatures under a record are worth. Without a file of them nothing is run.
pub fn standing(root: &Path, record: &Record) -> Standing {
    let file = path(root, record);
    if !file.is_file() {
        return Standing::Unsigned(String::new());
    }
    judged(root, record, &file).unwrap_or_else(Standing::Unsigned)
}

fn judged(root: &Path, record: &Record, file: &Path) -> Result<Standing, String> {
    let signatures: Signatures =
        store::read(file, "file of signatures").map_err(|error| error.to_string())?;
    if signatures.digest != record.compute_digest() {
        return Err("the record was changed after it was signed".to_owned());
    }
    let one = |role: Role| {
        let signed = signatures.signed.get(&role).ok_or(format!("no {} has signed", role.word()))?;
        check(root, record, role, signed)?;
        Ok::<_, String>(signed.signer.clone())
    };
    let (author, reviewer) = (one(Role::Author)?, one(Role::Reviewer)?);
    if author == reviewer || same_key(root, &author, &reviewer) {
        return Err("author and reviewer are one person".to_owned());
    }
    Ok(Standing::Signed { author, reviewer })
}

/// Whether two names of the list stand for one key.
fn same_key(root: &Path, one: &str, other: &str) -> bool {
    let text = fs::read_to_string(root.join(SIGNERS)).unwrap_or_default();
    let keys = |name: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| {
            line.split_whitespace().next().is_some_and(|names| names.split(',').any(|known| known == name))
        });
        // The key itself is the longest word of its line, whatever options stand before it.
        lines
            .filter_map(|line| line.split_whitespace().max_by_key(|word| word.len()))
            .map(str::to_owned)
            .collect()
    };
    let others = keys(other);
    keys(one).iter().any(|key| others.contains(key))
}

fn made(key: &Path, message: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let file = folder.path().join("message");
    fs::write(&file, message).map_err(|error| format!("no temporary file: {error}"))?;
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key).arg(&file);
    let output = command.output().map_err(|error| missing(&error))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("ssh-keygen could not sign with `{}`: {words}", key.display()));
    }
    fs::read_to_string(file.with_extension("sig"))
        .map_err(|error| format!("ssh-keygen left no signature: {error}"))
}

fn check(root: &Path, record: &Record, role: Role, signed: &Signed) -> Result<(), String> {
    let mut file = tempfile::NamedTempFile::new().map_err(|error| format!("no temporary file: {error}"))?;
    file.write_all(signed.signature.as_bytes()).map_err(|error| format!("no temporary file: {error}"))?;
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "verify", "-n", NAMESPACE, "-I", &signed.signer, "-f"]).arg(root.join(SIGNERS));
    command.arg("-s").arg(file.path());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| missing(&error))?;
    if let Some(mut input) = child.stdin.take() {
        // Where ssh-keygen ended before it read, its exit status tells.
        let _ = input.write_all(message(record, role).as_bytes());
    }
    let status = child.wait().map_err(|error| format!("ssh-keygen did not end: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!(
        "the {}'s signature is not one of `{}` in {SIGNERS} under this record",
        role.word(),
        signed.signer
    ))
}

fn missing(error: &std::io::Error) -> String {
    format!("ssh-keygen does not run ({error}); install OpenSSH's client")
}
