//! Signatures by throw-away keys: good ones, and every way in which one is void.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use labs_record::record::Record;
use labs_record::signing::{self, Role, SIGNERS, Standing};
use labs_record::store;

/// A checkout with one record, three keys and a list of the first two.
struct Scene {
    folder: tempfile::TempDir,
    record: Record,
}

impl Scene {
    fn new() -> Option<Scene> {
        if Command::new("ssh-keygen").arg("-?").output().is_err() {
            eprintln!("SKIPPED, not passed: ssh-keygen is missing");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut list = String::new();
        for name in ["one", "two", "stranger"] {
            let key = folder.path().join(name);
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
                .arg(&key)
                .output()
                .unwrap();
            assert!(made.status.success());
            if name != "stranger" {
                let public = fs::read_to_string(key.with_extension("pub")).unwrap();
                list += &format!("{name} namespaces=\"hot-addresses-record\" {public}");
            }
        }
        fs::create_dir_all(folder.path().join("verification")).unwrap();
        fs::write(folder.path().join(SIGNERS), list).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let record = store::read_record(&root.join("verification/nvidia-h200/day26_sum.yaml")).unwrap();
        Some(Scene { folder, record })
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn sign(&self, role: Role, name: &str, key: &str) -> Result<PathBuf, String> {
        signing::sign(self.root(), &self.record, role, name, &self.root().join(key))
    }

    fn why(&self) -> String {
        match signing::standing(self.root(), &self.record) {
            Standing::Unsigned(why) => why,
            signed => panic!("{signed:?}"),
        }
    }
}

#[test]
fn two_people_sign_and_a_later_edit_voids_it() {
    let Some(mut scene) = Scene::new() else { return };
    assert_eq!(scene.why(), "", "unsigned, and nothing is to be said of it");
    scene.sign(Role::Author, "one", "one").unwrap();
    assert!(scene.why().contains("no reviewer"), "{}", scene.why());
    scene.sign(Role::Reviewer, "two", "two").unwrap();
    let wanted = Standing::Signed { author: "one".to_owned(), reviewer: "two".to_owned() };
    assert_eq!(signing::standing(scene.root(), &scene.record), wanted);

    // An edit that is sealed anew: the digest fits the content, and the signatures do not.
    scene.record.command.push('!');
    scene.record.seal();
    assert!(scene.why().contains("changed after it was signed"), "{}", scene.why());
    scene.sign(Role::Author, "one", "one").unwrap();
    assert!(scene.why().contains("no reviewer"), "the old reviewer's is gone: {}", scene.why());

    // An edit that is not sealed can't be signed at all.
    scene.record.command.push('!');
    assert!(scene.sign(Role::Author, "one", "one").unwrap_err().contains("digest"));
}

#[test]
fn one_person_is_not_enough() {
    let Some(scene) = Scene::new() else { return };
    scene.sign(Role::Author, "one", "one").unwrap();
    assert!(scene.sign(Role::Reviewer, "one", "one").unwrap_err().contains("two people"));
    // Under another name, with the same key.
    let list = fs::read_to_string(scene.root().join(SIGNERS)).unwrap();
    let again = list.lines().next().unwrap().replacen("one", "other", 1);
    fs::write(scene.root().join(SIGNERS), format!("{list}{again}\n")).unwrap();
    scene.sign(Role::Reviewer, "other", "one").unwrap();
    assert!(scene.why().contains("one person"), "{}", scene.why());
}

#[test]
fn strangers_and_borrowed_names_are_refused() {
    let Some(scene) = Scene::new() else { return };
    assert!(scene.sign(Role::Author, "stranger", "stranger").unwrap_err().contains("`stranger`"));
    assert!(scene.sign(Role::Author, "one", "two").unwrap_err().contains("`one`"), "somebody else's key");
    assert!(scene.sign(Role::Author, "one", "nowhere").unwrap_err().contains("could not sign"));
    assert_eq!(scene.why(), "", "nothing was filed");
}

#[test]
fn a_signature_does_not_carry_over() {
    let Some(scene) = Scene::new() else { return };
    let file = scene.sign(Role::Author, "one", "one").unwrap();
    scene.sign(Role::Reviewer, "two", "two").unwrap();
    // The author's signature in the reviewer's place, and one struck off the list.
    let text = fs::read_to_string(&file).unwrap();
    let mut swapped: signing::Signatures = store::read(&file, "file of signatures").unwrap();
    let author = swapped.signed[&Role::Author].clone();
    swapped.signed.insert(Role::Reviewer, signing::Signed { signer: "two".to_owned(), ..author });
    store::write(&file, &swapped).unwrap();
    assert!(scene.why().contains("reviewer's signature"), "{}", scene.why());
    fs::write(&file, text).unwrap();
    let list = fs::read_to_string(scene.root().join(SIGNERS)).unwrap();
    fs::write(scene.root().join(SIGNERS), list.lines().next().unwrap()).unwrap();
    assert!(scene.why().contains("`two`"), "{}", scene.why());
}
