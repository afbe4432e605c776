//! Worktrees of branches: made, taken up again, refused and removed.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ralph_core::branch::BranchName;
use ralph_engine::ports::{GitError, RunBase, Trees, Vcs};
use ralph_engine::project::Project;
use ralph_engine::run_files::WorktreeLock;
use ralph_engine::vcs::GitVcs;
use ralph_engine::vcs::wip::list_wip;
use ralph_engine::worktrees::{Identity, Prepared, Wanted, WorktreeRefusal, Worktrees};

use crate::kit::{Repo, run};

pub(crate) fn name(text: &str) -> BranchName {
    BranchName::new(text).unwrap()
}

impl Repo {
    pub(crate) fn worktrees(&self) -> Worktrees {
        let project = Project::find(self.place()).unwrap();
        Worktrees::new(&project, &self.path(".worktrees")).with_patience(Duration::from_secs(30))
    }

    pub(crate) fn prepare(&self, branch: &str) -> Result<Prepared, GitError> {
        self.prepare_with(branch, "main", &Identity::default(), "", None)
    }

    fn prepare_with(
        &self,
        branch: &str,
        base: &str,
        identity: &Identity,
        include: &str,
        carried: Option<&Path>,
    ) -> Result<Prepared, GitError> {
        let branch = name(branch);
        self.worktrees().prepare(&Wanted { branch: &branch, base, identity, include, carried })
    }

    pub(crate) fn refused(&self, branch: &str) -> WorktreeRefusal {
        match self.prepare(branch) {
            Err(GitError::Worktree(refusal)) => refusal,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Whole, on its branch, clean, and nothing left that nobody needs.
pub(crate) fn assert_whole(repo: &Repo, branch: &str) {
    let path = repo.path(".worktrees").join(branch);
    assert_eq!(git_in(&path, &["symbolic-ref", "HEAD"]), format!("refs/heads/{branch}"));
    assert_eq!(git_in(&path, &["status", "--porcelain", "--untracked-files=all"]), "");
    assert_eq!(repo.status(), "", "nothing shows in the person's worktree");
    repo.fsck();
    let locks = Command::new("find")
        .args([".git", "-name", "*.lock", "-o", "-name", "locked"])
        .current_dir(repo.place())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&locks.stdout), "");
    let list = repo.git(&["worktree", "list"]);
    assert!(!list.contains("prunable"), "{list}");
}

#[test]
fn a_worktree_that_a_run_works_in_is_not_removed() {
    let repo = Repo::new();
    let path = repo.prepare("feat/a").unwrap().path;
    std::fs::create_dir_all(path.join(".ralph")).unwrap();
    let lock = WorktreeLock::take(&path.join(".ralph")).unwrap();
    let refused = repo.worktrees().remove(&name("feat/a"));
    let at_work = |error: &GitError| matches!(error, GitError::Worktree(WorktreeRefusal::AtWork { branch, .. }) if branch == "feat/a");
    assert!(refused.as_ref().is_err_and(at_work), "{refused:?}");
    assert!(path.is_dir());
    drop(lock);
    assert!(repo.worktrees().remove(&name("feat/a")).unwrap().is_some());
}

#[test]
fn s4_7_a_branch_gets_a_worktree_from_its_base() {
    let repo = Repo::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.write("a.txt", "second\n");
    repo.commit("second");
    let identity = Identity::default();
    let made = repo.prepare_with("feat/login", &first, &identity, "", None).unwrap();
    assert_eq!(made.path, repo.path(".worktrees/feat/login"));
    assert!(made.made && made.new_branch && made.behind.is_none(), "{made:?}");
    assert_eq!(git_in(&made.path, &["rev-parse", "HEAD"]), first, "from the base, not from HEAD");
    assert_eq!(repo.git(&["config", "extensions.worktreeConfig"]), "true");
    assert_whole(&repo, "feat/login");
    // Again: what is there is used, and a base that moved is told.
    std::fs::write(made.path.join("work.txt"), "work\n").unwrap();
    let again = repo.prepare("feat/login").unwrap();
    assert!(!again.made && !again.new_branch, "{again:?}");
    assert_eq!(again.behind, Some(repo.git(&["rev-parse", "main"])));
    assert_eq!(std::fs::read_to_string(made.path.join("work.txt")).unwrap(), "work\n");
}

#[test]
fn a_branch_that_is_there_is_checked_out_as_it_is() {
    let repo = Repo::new();
    repo.git(&["branch", "side"]);
    let made = repo.prepare("side").unwrap();
    assert!(made.made && !made.new_branch);
    assert_whole(&repo, "side");
    // A tag of the same name is something else.
    repo.git(&["tag", "tagged"]);
    repo.prepare("tagged").unwrap();
    assert_whole(&repo, "tagged");
}

#[test]
fn s4_8_name_mail_and_keys_are_those_of_the_worktree() {
    let repo = Repo::new();
    let mut identity = Identity {
        name: "Loop".to_owned(),
        email: "loop@example.org".to_owned(),
        ssh_key: "~/my keys/id".to_owned(),
        home: Some(PathBuf::from("/home/ada")),
        ..Identity::default()
    };
    let made = repo.prepare_with("side", "main", &identity, "", None).unwrap();
    std::fs::write(made.path.join("new.txt"), "new\n").unwrap();
    git_in(&made.path, &["add", "-A"]);
    git_in(&made.path, &["commit", "--quiet", "-m", "by the loop"]);
    let author = ["log", "-1", "--format=%an <%ae> %cn"];
    assert_eq!(git_in(&made.path, &author), "Loop <loop@example.org> Loop");
    assert_eq!(repo.git(&["config", "user.name"]), "Tester", "and of no other");
    let ssh = git_in(&made.path, &["config", "core.sshCommand"]);
    assert_eq!(ssh, "ssh -i '/home/ada/my keys/id' -o IdentitiesOnly=yes");
    assert_eq!(git_in(&made.path, &["config", "--default", "unset", "commit.gpgsign"]), "false");
    // A key that is not there: git says so itself.
    identity.signing_key = "0123456789ABCDEF".to_owned();
    repo.prepare_with("side", "main", &identity, "", None).unwrap();
    assert_eq!(git_in(&made.path, &["config", "user.signingkey"]), "0123456789ABCDEF");
    assert_eq!(git_in(&made.path, &["config", "commit.gpgsign"]), "true");
    let commit = ["commit", "--allow-empty", "-m", "signed"];
    let output = Command::new("git").args(commit).current_dir(&made.path).output().unwrap();
    assert!(!output.status.success());
    // What is no longer wanted goes; what a person set stays.
    git_in(&made.path, &["config", "--worktree", "user.signingkey.note", "mine"]);
    repo.prepare_with("side", "main", &Identity::default(), "", None).unwrap();
    assert_eq!(git_in(&made.path, &["config", "user.name"]), "Tester");
    assert_eq!(git_in(&made.path, &["config", "commit.gpgsign"]), "false");
    assert_eq!(git_in(&made.path, &["config", "user.signingkey.note"]), "mine");
}

#[test]
fn s4_9_the_plan_is_copied_in_and_no_commit_takes_it_up() {
    for tracked in [true, false] {
        let repo = Repo::new();
        if tracked {
            repo.write("docs/my plan.md", "- [ ] old\n");
            repo.commit("a plan");
        }
        repo.write("docs/my plan.md", "- [ ] new\n");
        let file = Path::new("docs/my plan.md");
        let identity = Identity::default();
        let made = repo.prepare_with("side", "main", &identity, "", Some(file)).unwrap();
        let plan = made.path.join(file);
        assert_eq!(std::fs::read_to_string(&plan).unwrap(), "- [ ] new\n");
        std::fs::write(&plan, "- [x] new\n").unwrap();
        let status = ["status", "--porcelain", "--untracked-files=all"];
        assert_eq!(git_in(&made.path, &status), "", "tracked: {tracked}");
        // What a session ticked is still there for whoever reads it back.
        repo.prepare_with("side", "main", &identity, "", Some(file)).unwrap();
        assert_eq!(std::fs::read_to_string(&plan).unwrap(), "- [x] new\n");
        std::fs::write(made.path.join("a.txt"), "work\n").unwrap();
        let vcs = GitVcs::new(Project::find(&made.path).unwrap()).unwrap();
        let base = vcs.begin(&run("r-1"), None).unwrap();
        let base = RunBase { start: None, ..base };
        let candidate = vcs.candidate(&base).unwrap();
        let changed = vcs.changes(&candidate.head_tree, &candidate.tree).unwrap();
        assert_eq!(changed, ["a.txt"], "tracked: {tracked}");
        git_in(&made.path, &["add", "-A"]);
        assert_eq!(git_in(&made.path, &["diff", "--cached", "--name-only"]), "a.txt");
        let shown = repo.status();
        assert!(shown.contains("docs/my plan.md"), "the person's own shows: {shown}");
    }
}

#[test]
fn ignored_files_are_copied_and_no_link_leads_them_out() {
    let repo = Repo::new();
    let outside = repo.folder().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, repo.path("out")).unwrap();
    repo.commit("a link");
    repo.remove("out");
    repo.write("out/evil.log", "x\n");
    repo.write("one.log", "1\n");
    repo.write("build/two", "2\n");
    let identity = Identity::default();
    let made = repo.prepare_with("side", "main", &identity, "*.log\n", None).unwrap();
    assert!(made.path.join("one.log").exists() && !made.path.join("build").exists());
    assert!(!outside.join("evil.log").exists());
    assert!(made.notes[0].contains("out/evil.log was not copied"), "{:?}", made.notes);
}

#[test]
fn names_of_all_kinds_get_their_worktree() {
    let repo = Repo::new();
    for branch in ["größe", "日本語", "a;$(touch${IFS}x)", "deep/er/name", "x-1_2+3"] {
        repo.prepare(branch).unwrap();
        assert_whole(&repo, branch);
    }
    assert!(!repo.exists("x"));
    for (branch, other) in [("Größe", "größe"), ("deep", "deep/er/name"), ("X-1_2+3", "x-1_2+3")]
    {
        let refusal = WorktreeRefusal::NameTaken { branch: branch.into(), other: other.into() };
        assert_eq!(repo.refused(branch), refusal);
    }
    let space = repo.folder().join("with space");
    std::fs::rename(repo.place(), &space).unwrap();
    let project = Project::find(&space).unwrap();
    let worktrees = Worktrees::new(&project, &space.join("my trees"));
    let (branch, identity) = (name("spaced"), Identity::default());
    let wanted =
        Wanted { branch: &branch, base: "main", identity: &identity, include: "", carried: None };
    let made = worktrees.prepare(&wanted).unwrap();
    assert_eq!(git_in(&made.path, &["status", "--porcelain"]), "");
    assert_eq!(git_in(&space, &["status", "--porcelain"]), "");
}

#[test]
fn files_of_the_user_are_named_and_left_alone() {
    let repo = Repo::new();
    repo.git(&["worktree", "add", "--quiet", "-b", "theirs", ".worktrees/theirs"]);
    repo.git(&["worktree", "add", "--quiet", "-b", "away", "../away"]);
    repo.write(".worktrees/files/note.txt", "mine\n");
    let before = (repo.git(&["worktree", "list"]), repo.git(&["for-each-ref"]));
    let path = |text: &str| repo.path(".worktrees").join(text);
    assert_eq!(repo.refused("theirs"), WorktreeRefusal::Persons { path: path("theirs") });
    let away = repo.folder().canonicalize().unwrap().join("away");
    assert_eq!(
        repo.refused("away"),
        WorktreeRefusal::Elsewhere { branch: "away".into(), path: away }
    );
    let taken =
        WorktreeRefusal::FolderTaken { path: path("files"), file: PathBuf::from("note.txt") };
    assert_eq!(repo.refused("files"), taken);
    assert!(matches!(repo.refused("main"), WorktreeRefusal::Elsewhere { .. }));
    let identity = Identity::default();
    let none = repo.prepare_with("new", "nonsuch", &identity, "", None).unwrap_err();
    assert!(matches!(none, GitError::Worktree(WorktreeRefusal::NoBase { .. })));
    let option = repo.prepare_with("new", "--all", &identity, "", None).unwrap_err();
    assert!(matches!(option, GitError::Worktree(WorktreeRefusal::NoBase { .. })));
    // A folder inside a worktree whose branch has gone elsewhere.
    git_in(&path("theirs"), &["checkout", "--quiet", "--detach"]);
    repo.git(&["branch", "-m", "theirs", "renamed"]);
    let inside = WorktreeRefusal::Inside { path: path("theirs/in"), outer: path("theirs") };
    assert_eq!(repo.refused("theirs/in"), inside);
    repo.git(&["branch", "-m", "renamed", "theirs"]);
    git_in(&path("theirs"), &["checkout", "--quiet", "theirs"]);
    assert_eq!((repo.git(&["worktree", "list"]), repo.git(&["for-each-ref"])), before);
    assert_eq!(repo.read(".worktrees/files/note.txt"), "mine\n");
    for branch in ["theirs", "away", "files"] {
        assert_eq!(repo.worktrees().remove(&name(branch)).unwrap(), None);
    }
    assert_eq!(repo.git(&["worktree", "list"]), before.0);
    assert!(repo.worktrees().ours().unwrap().is_empty());
}

#[test]
fn a_link_in_place_of_the_folder_is_not_followed() {
    let repo = Repo::new();
    let outside = repo.folder().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, repo.path(".worktrees")).unwrap();
    let refusal = WorktreeRefusal::Linked { path: repo.path(".worktrees") };
    assert_eq!(repo.refused("side"), refusal);
    assert_eq!(std::fs::read_dir(outside).unwrap().count(), 0);
}

#[test]
fn a_worktree_that_was_switched_is_reported() {
    let repo = Repo::new();
    let made = repo.prepare("side").unwrap();
    git_in(&made.path, &["switch", "--quiet", "-c", "other"]);
    let refusal = repo.refused("side");
    let output = refusal.to_string();
    assert!(
        output.ends_with("was created for branch side, but is on branch other now"),
        "{output}"
    );
    assert!(refusal.hint(|path| path.display().to_string()).ends_with("switch side"));
}

#[test]
fn removing_saves_tracked_and_untracked_work_first() {
    let repo = Repo::new();
    let made = repo.prepare("feat/a").unwrap();
    repo.prepare("feat/b").unwrap();
    std::fs::write(made.path.join("a.txt"), "changed\n").unwrap();
    std::fs::write(made.path.join("new.txt"), "new\n").unwrap();
    let ours = repo.worktrees().ours().unwrap();
    assert_eq!(ours.iter().map(|one| one.unsaved).collect::<Vec<_>>(), [true, false]);
    let removed = repo.worktrees().remove(&name("feat/a")).unwrap().unwrap();
    let saved = removed.saved.unwrap();
    assert_eq!(saved.saved.name, "refs/ralph/wip/feat=2Fa/1");
    assert_eq!(saved.files, [PathBuf::from("a.txt"), PathBuf::from("new.txt")]);
    assert!(!made.path.exists() && repo.exists(".worktrees/feat/b"));
    assert_eq!(repo.git(&["show", &format!("{}:new.txt", saved.saved.name)]), "new");
    repo.git(&["rev-parse", "--verify", "refs/heads/feat/a"]);
    assert_eq!(repo.worktrees().remove(&name("feat/a")).unwrap(), None, "once is enough");
    let removed = repo.worktrees().remove(&name("feat/b")).unwrap().unwrap();
    assert_eq!(removed.saved, None);
    assert!(!repo.exists(".worktrees") && !repo.exists(".ralph/worktrees"));
    assert!(!repo.exists(".git/worktrees"));
    repo.fsck();
    // The next one of the same name begins where the branch is, and its work has a number of its own.
    let made = repo.prepare("feat/a").unwrap();
    std::fs::write(made.path.join("a.txt"), "again\n").unwrap();
    repo.worktrees().remove(&name("feat/a")).unwrap();
    let attempts: Vec<u32> = list_wip(&Project::find(repo.place()).unwrap())
        .unwrap()
        .iter()
        .map(|w| w.attempt)
        .collect();
    assert_eq!(attempts.len(), 2);
}

/// A worktree that is as committed is told by a shorter way: no kind of change may get by it.
#[test]
fn every_kind_of_change_is_saved_and_none_is_made_up() {
    type Change = fn(&Path);
    let kinds: [(&str, bool, Change); 10] = [
        ("nothing", false, |_| {}),
        ("touched", false, |place| std::fs::write(place.join("a.txt"), "a\n").unwrap()),
        ("ignored", false, |place| std::fs::write(place.join("x.log"), "x\n").unwrap()),
        ("untracked", true, |place| std::fs::write(place.join("new.txt"), "x\n").unwrap()),
        ("changed", true, |place| std::fs::write(place.join("a.txt"), "other\n").unwrap()),
        ("gone", true, |place| std::fs::remove_file(place.join("a.txt")).unwrap()),
        ("executable", true, |place| {
            std::fs::set_permissions(place.join("a.txt"), PermissionsExt::from_mode(0o755))
                .unwrap();
        }),
        ("a link", true, |place| {
            std::fs::remove_file(place.join("a.txt")).unwrap();
            symlink("b.txt", place.join("a.txt")).unwrap();
        }),
        ("staged", true, |place| {
            std::fs::write(place.join("a.txt"), "staged\n").unwrap();
            git_in(place, &["add", "a.txt"]);
        }),
        ("hidden from status", true, |place| {
            git_in(place, &["config", "--worktree", "status.showUntrackedFiles", "no"]);
            std::fs::write(place.join("new.txt"), "x\n").unwrap();
        }),
    ];
    let repo = Repo::new();
    repo.write("a.txt", "a\n");
    repo.write(".gitignore", "*.log\n");
    repo.commit("files");
    for (kind, is_work, change) in kinds {
        let place = repo.prepare("side").unwrap().path;
        change(&place);
        let removed = repo.worktrees().remove(&name("side")).unwrap().unwrap();
        assert_eq!(removed.saved.is_some(), is_work, "{kind}");
        assert!(!place.exists(), "{kind}");
    }
}

#[test]
fn what_cannot_be_saved_is_not_removed() {
    let repo = Repo::new();
    let made = repo.prepare("side").unwrap();
    let refused = |repo: &Repo| match repo.worktrees().remove(&name("side")) {
        Err(GitError::Worktree(refusal)) => refusal,
        other => panic!("{other:?}"),
    };
    let nested = made.path.join("nested");
    std::fs::create_dir(&nested).unwrap();
    git_in(&nested, &["init", "--quiet"]);
    std::fs::write(nested.join("x"), "x\n").unwrap();
    assert!(matches!(refused(&repo), WorktreeRefusal::NotSaved { .. }));
    assert!(nested.join("x").exists());
    std::fs::remove_dir_all(&nested).unwrap();
    repo.git(&["worktree", "lock", "--reason", "on a stick", ".worktrees/side"]);
    let locked = refused(&repo);
    assert!(locked.to_string().ends_with("is locked: on a stick"), "{locked}");
    repo.git(&["worktree", "unlock", ".worktrees/side"]);
    // Commits that no branch has.
    git_in(&made.path, &["checkout", "--quiet", "--detach"]);
    git_in(&made.path, &["commit", "--quiet", "--allow-empty", "-m", "lost?"]);
    let commit = git_in(&made.path, &["rev-parse", "HEAD"]);
    let saved = repo.worktrees().remove(&name("side")).unwrap().unwrap().saved.unwrap();
    assert_eq!(repo.git(&["rev-parse", &format!("{}^", saved.saved.name)]), commit);
}

#[test]
fn submodules_and_lfs_pointers_are_as_git_leaves_them() {
    let inner = Repo::new();
    let repo = Repo::new();
    let url = inner.place().to_str().unwrap().to_owned();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"]);
    repo.write(".gitattributes", "*.bin filter=lfs -text\n");
    repo.write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    repo.commit("a submodule and a pointer");
    let made = repo.prepare("side").unwrap();
    let pointer = std::fs::read_to_string(made.path.join("big.bin")).unwrap();
    assert!(pointer.starts_with("version https://git-lfs"), "{pointer}");
    assert_whole(&repo, "side");
    let update = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"];
    git_in(&made.path, &update);
    // What only the submodule has would be lost.
    let sub = made.path.join("sub");
    std::fs::write(sub.join("a.txt"), "changed\n").unwrap();
    let refusal = repo.worktrees().remove(&name("side")).unwrap_err().to_string();
    assert!(refusal.contains("submodule sub has uncommitted work"), "{refusal}");
    git_in(&sub, &["-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qam", "own"]);
    let refusal = repo.worktrees().remove(&name("side")).unwrap_err().to_string();
    assert!(refusal.contains("submodule sub has commits that no remote has"), "{refusal}");
    git_in(&sub, &["reset", "-q", "--hard", "HEAD~1"]);
    git_in(&sub, &["reflog", "expire", "--expire=now", "--all"]);
    let removed = repo.worktrees().remove(&name("side")).unwrap().unwrap();
    assert!(removed.saved.is_none() && !made.path.exists());
    assert!(!repo.path(".git/worktrees").exists());
    repo.fsck();
    // A submodule itself cannot have worktrees that would be found again.
    let project = Project::find(&repo.path("sub")).unwrap();
    let worktrees = Worktrees::new(&project, &repo.path("sub/.worktrees"));
    let (branch, identity) = (name("x"), Identity::default());
    let wanted =
        Wanted { branch: &branch, base: "main", identity: &identity, include: "", carried: None };
    let error = worktrees.prepare(&wanted).unwrap_err();
    assert!(matches!(error, GitError::Worktree(WorktreeRefusal::NoHome { .. })), "{error}");
}

#[test]
fn settings_of_a_submodule_run_nothing_when_its_worktree_is_removed() {
    let inner = Repo::new();
    let repo = Repo::new();
    let url = inner.place().to_str().unwrap().to_owned();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"]);
    repo.commit("a submodule");
    let made = repo.prepare("side").unwrap();
    let update = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"];
    git_in(&made.path, &update);
    let sub = made.path.join("sub");
    let ran = repo.folder().join("ran");
    let program = format!("touch {}; false", ran.display());
    for key in ["core.fsmonitor", "filter.x.clean", "core.sshCommand"] {
        git_in(&sub, &["config", key, &program]);
    }
    std::fs::write(sub.join(".gitattributes"), "*.txt filter=x\n").unwrap();
    let refusal = repo.worktrees().remove(&name("side")).unwrap_err().to_string();
    assert!(refusal.contains("submodule sub has uncommitted work"), "{refusal}");
    assert!(!ran.exists());
    std::fs::remove_file(sub.join(".gitattributes")).unwrap();
    repo.worktrees().remove(&name("side")).unwrap().unwrap();
    assert!(!ran.exists() && !made.path.exists());
}

#[test]
fn two_at_once_are_one() {
    let repo = Repo::new();
    for n in 0..300 {
        repo.write(format!("many/{n}"), format!("{n}\n"));
    }
    repo.commit("many files");
    let made: Vec<bool> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..6)
            .map(|n| {
                let repo = &repo;
                scope.spawn(move || {
                    let branch = if n % 2 == 0 { "one" } else { "two" };
                    repo.prepare(branch).unwrap().made
                })
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|made| **made).count(), 2, "{made:?}");
    assert_whole(&repo, "one");
    assert_whole(&repo, "two");
}

#[test]
fn git_needs_no_identity() {
    let repo = Repo::new();
    for key in ["user.name", "user.email"] {
        repo.git(&["config", "--unset", key]);
    }
    let made = repo.prepare("side").unwrap();
    std::fs::write(made.path.join("a.txt"), "work\n").unwrap();
    assert!(repo.worktrees().remove(&name("side")).unwrap().unwrap().saved.is_some());
}

/// A marker as a repository from elsewhere can bring it along.
fn plant(repo: &Repo, branch: &str, path: &Path, stage: &str, token: &str) {
    let text = format!(
        "branch = {branch:?}\npath = {path:?}\nstage = {stage:?}\nbase = \"main\"\nnew_branch = true\n\
         token = {token:?}\nbefore = []\nat = \"2026-01-01T00:00:00Z\"\npid = 1\n"
    );
    repo.write(format!(".ralph/worktrees/{}.toml", name(branch).file_name()), text);
}

#[test]
fn a_planted_marker_removes_no_folder_that_is_not_a_worktree_of_the_repository() {
    let repo = Repo::new();
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().canonicalize().unwrap();
    let (precious, token) = (outside.join("precious"), "ab12");
    let trash = outside.join(format!(".ralph-removed-{token}"));
    for folder in [&precious, &trash] {
        std::fs::create_dir(folder).unwrap();
        // A name that the commit has, too.
        std::fs::write(folder.join("a.txt"), "words").unwrap();
    }
    for stage in ["making", "equipping", "made", "removing"] {
        plant(&repo, "evil", &precious, stage, token);
        let worktrees = repo.worktrees();
        assert!(worktrees.check_removable(&name("evil")).is_err(), "{stage}");
        match worktrees.remove(&name("evil")) {
            Err(GitError::Worktree(WorktreeRefusal::Outside { path, .. })) => {
                assert_eq!(path, precious);
            }
            other => panic!("{stage}: {other:?}"),
        }
        assert!(!worktrees.ours().unwrap()[0].unsaved);
        assert!(precious.join("a.txt").exists() && trash.join("a.txt").exists(), "{stage}");
    }
    // A link on the way leads out of the place.
    std::fs::create_dir(repo.path(".worktrees")).unwrap();
    symlink(&outside, repo.path(".worktrees/out")).unwrap();
    plant(&repo, "evil", &repo.path(".worktrees/out/precious"), "making", token);
    repo.worktrees().remove(&name("evil")).unwrap_err();
    assert!(precious.join("a.txt").exists());
    // Neither a token nor a path says where else to go.
    let inside = repo.path(".worktrees/evil");
    let up = format!("x/../../../../../..{}", precious.display());
    for (path, token) in
        [(inside.as_path(), up.as_str()), (inside.as_path(), ""), (&inside.join("../../.."), "ab")]
    {
        plant(&repo, "evil", path, "removing", token);
        match repo.worktrees().remove(&name("evil")) {
            // A path with dots is read as where it leads.
            Err(GitError::Worktree(
                WorktreeRefusal::Marker { .. } | WorktreeRefusal::Outside { .. },
            )) => {}
            other => panic!("{token}: {other:?}"),
        }
    }
    assert!(precious.join("a.txt").exists());
}

#[test]
fn a_worktree_in_an_older_place_is_still_removed() {
    let repo = Repo::new();
    let prepared = repo.prepare("task").unwrap();
    let project = Project::find(repo.place()).unwrap();
    let elsewhere = Worktrees::new(&project, &repo.path("other-place"));
    let removed = elsewhere.remove(&name("task")).unwrap().unwrap();
    assert_eq!(removed.path, prepared.path);
    assert!(!prepared.path.exists());
}
