//! A file that no commit of a branch takes up, whatever an agent commits.

use std::path::{Path, PathBuf};

use ralph_engine::ports::{Saved, Vcs};
use ralph_engine::project::Project;
use ralph_engine::vcs::GitVcs;
use ralph_engine::worktrees::{Identity, Prepared, Wanted};

use crate::kit::Repo;
use crate::worktrees::name;

const PLAN: &str = "PLAN.md";

/// A worktree of branch `work` that has a copy of the plan.
struct PlanWorktree {
    repo: Repo,
    prepared: Prepared,
}

impl PlanWorktree {
    fn new(tracked: bool) -> Self {
        let repo = Repo::new();
        repo.write(PLAN, "plan\n");
        if tracked {
            repo.commit("plan");
        }
        let branch = name("work");
        let wanted = Wanted {
            branch: &branch,
            base: "main",
            identity: &Identity::default(),
            include: "",
            carried: Some(Path::new(PLAN)),
        };
        let prepared = repo.worktrees().prepare(&wanted).unwrap();
        Self { repo, prepared }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.prepared.path.join(file)
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path(file), text).unwrap();
    }

    fn git(&self, arguments: &[&str]) -> String {
        let place = self.prepared.path.to_str().unwrap();
        self.repo.git(&[&["-C", place][..], arguments].concat()).trim_end().to_owned()
    }

    /// Commits everything, and the plan by force.
    fn commit(&self, message: &str) {
        let _ = std::process::Command::new("git")
            .args(["update-index", "--no-skip-worktree", PLAN])
            .current_dir(&self.prepared.path)
            .output();
        self.git(&["add", "-A"]);
        self.git(&["add", "-f", PLAN]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    fn keep_out(&self) -> Option<Saved> {
        let vcs = GitVcs::new(Project::find(&self.prepared.path).unwrap()).unwrap();
        vcs.keep_out(PLAN, "work", &self.prepared.began).unwrap()
    }

    fn subjects(&self) -> Vec<String> {
        let printed = self.git(&["log", "--reverse", "--format=%s", "main..work"]);
        printed.lines().map(str::to_owned).collect()
    }

    /// The plan as the branch has it.
    fn plan(&self) -> Option<String> {
        let listed = self.git(&["ls-tree", "--name-only", "work", PLAN]);
        (!listed.is_empty()).then(|| self.git(&["show", &format!("work:{PLAN}")]))
    }
}

#[test]
fn the_file_is_taken_out_of_every_commit_and_the_rest_stays() {
    for tracked in [true, false] {
        let place = PlanWorktree::new(tracked);
        place.write("a.txt", "one\n");
        place.write(PLAN, "ticked\n");
        place.commit("first");
        place.write(PLAN, "ticked twice\n");
        place.commit("plan only");
        place.write("b.txt", "two\n");
        place.git(&["add", "b.txt"]);
        place.git(&["commit", "--quiet", "-m", "third\n\nwith a body"]);
        let (before, dates) =
            (place.git(&["rev-parse", "work"]), place.git(&["log", "--format=%ad%cd"]));
        let saved = place.keep_out().expect("commits were made anew");
        assert_eq!(saved.commit, before);
        assert_eq!(place.repo.git(&["rev-parse", &saved.name]).trim(), before);
        assert_eq!(place.subjects(), ["first", "third"]);
        assert_eq!(place.plan().as_deref(), tracked.then_some("plan"));
        assert_eq!(place.git(&["show", "work:a.txt"]), "one");
        assert_eq!(place.git(&["log", "-1", "--format=%b", "work"]), "with a body");
        assert!(dates.contains(&place.git(&["log", "-1", "--format=%ad%cd", "work"])));
        assert_eq!(place.git(&["status", "--porcelain"]), "");
        assert_eq!(
            std::fs::read_to_string(place.path(PLAN)).unwrap(),
            "ticked twice\n",
            "the copy stays"
        );
        let head = place.git(&["rev-parse", "work"]);
        assert_eq!(place.keep_out(), None, "twice is the same as once");
        assert_eq!(place.git(&["rev-parse", "work"]), head);
    }
}

#[test]
fn what_is_only_staged_is_taken_out_too() {
    for tracked in [true, false] {
        let place = PlanWorktree::new(tracked);
        place.write(PLAN, "ticked\n");
        let _ = std::process::Command::new("git")
            .args(["update-index", "--no-skip-worktree", PLAN])
            .current_dir(&place.prepared.path)
            .output();
        place.git(&["add", "-f", PLAN]);
        assert_ne!(place.git(&["status", "--porcelain"]), "");
        assert_eq!(place.keep_out(), None);
        assert_eq!(place.git(&["status", "--porcelain"]), "");
        assert!(place.subjects().is_empty());
    }
}

#[test]
fn commits_that_others_have_and_what_a_merge_brings_along_stay() {
    let place = PlanWorktree::new(true);
    place.write(PLAN, "pushed\n");
    place.commit("pushed");
    place.git(&["update-ref", "refs/remotes/origin/work", "work"]);
    let pushed = place.git(&["rev-parse", "work"]);
    assert_eq!(place.keep_out(), None);
    assert_eq!(place.git(&["rev-parse", "work"]), pushed);

    let place = PlanWorktree::new(true);
    place.repo.write(PLAN, "the person's next plan\n");
    place.repo.commit("main goes on");
    place.write("a.txt", "one\n");
    place.git(&["commit", "--quiet", "-am", "work"]);
    place.git(&["update-index", "--no-skip-worktree", PLAN]);
    place.git(&["checkout", "--quiet", "--", PLAN]);
    place.git(&["merge", "--quiet", "--no-edit", "main"]);
    let merged = place.git(&["rev-parse", "work"]);
    assert_eq!(place.keep_out(), None);
    assert_eq!(place.git(&["rev-parse", "work"]), merged);
    assert_eq!(place.plan().as_deref(), Some("the person's next plan"));
}

#[test]
fn on_another_branch_nothing_is_touched() {
    let place = PlanWorktree::new(true);
    place.git(&["switch", "--quiet", "-c", "aside"]);
    place.write(PLAN, "mine\n");
    place.commit("aside");
    let head = place.git(&["rev-parse", "HEAD"]);
    assert_eq!(place.keep_out(), None);
    assert_eq!(place.git(&["rev-parse", "HEAD"]), head);
}
