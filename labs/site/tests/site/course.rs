//! A copy of the made-up course that a test may spoil.

use std::fs;
use std::path::{Path, PathBuf};

use labs_record::agreement::Agreement;
use labs_record::record::Record;
use labs_record::store;
use site::book::{Options, build};

/// A checkout of its own in a temporary folder.
pub(crate) struct Course {
    folder: tempfile::TempDir,
}

pub(crate) const ONE: &str = "made-up-gpu-one";
pub(crate) const TWO: &str = "made-up-gpu-two";

impl Course {
    pub(crate) fn new() -> Course {
        let folder = tempfile::tempdir().unwrap();
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course"), folder.path());
        Course { folder }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn record_path(&self, gpu: &str) -> PathBuf {
        self.path(&format!("verification/{gpu}/day99_pair.yaml"))
    }

    /// Changes a record; it is sealed again, as a program would leave it.
    pub(crate) fn edit_record(&self, gpu: &str, edit: impl FnOnce(&mut Record)) -> &Course {
        let mut record = store::read_record(&self.record_path(gpu)).unwrap();
        edit(&mut record);
        record.seal();
        store::write(&self.record_path(gpu), &record).unwrap();
        self
    }

    pub(crate) fn agreement_path(&self, gpu: &str) -> PathBuf {
        self.path(&format!("verification/agreement/{gpu}.yaml"))
    }

    /// Changes a comparison of the simulator with a GPU, and seals it again.
    pub(crate) fn edit_agreement(&self, gpu: &str, edit: impl FnOnce(&mut Agreement)) -> &Course {
        let mut agreement = store::read_agreement(&self.agreement_path(gpu)).unwrap();
        edit(&mut agreement);
        agreement.seal();
        store::write(&self.agreement_path(gpu), &agreement).unwrap();
        self
    }

    /// Replaces the lab's chapter.
    pub(crate) fn chapter(&self, text: &str) -> &Course {
        fs::write(self.path("book/src/day99_pair.md"), text).unwrap();
        self
    }

    pub(crate) fn build(&self, gpu: Option<&str>, draft: bool) -> Result<(), String> {
        let options = Options { gpu: gpu.map(str::to_owned), draft };
        build(self.root(), &options).map(|_| ()).map_err(|error| format!("{error:#}"))
    }

    /// Builds, and gives the lab's page.
    pub(crate) fn page(&self, gpu: Option<&str>, draft: bool) -> String {
        self.build(gpu, draft).unwrap();
        self.built("day99_pair.html")
    }

    pub(crate) fn built(&self, name: &str) -> String {
        fs::read_to_string(self.path("book/book").join(name)).unwrap()
    }

    /// What a build says that must fail.
    pub(crate) fn refusal(&self) -> String {
        self.build(None, false).unwrap_err()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => {
                fs::copy(&path, &target).unwrap();
            }
        }
    }
}
