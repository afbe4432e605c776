//! `ralph build -j N` on the tasks of the store: a worktree per task, and one lands after the other.

mod campaign;
mod killed;
mod landing;
mod users;

use std::os::unix::fs::PermissionsExt;
use std::process::Child;

use ralph_testkit::{Ran, TestEnv};

use crate::looping::project;

/// A repository with these tasks, and an agent that does what `plan/TASK` says.
struct World {
    env: TestEnv,
}

impl World {
    fn new(tasks: &[&str]) -> Self {
        let mut env = project(tasks);
        env.without_sandbox("its sessions wait for each other by files outside the worktree");
        for folder in ["bin", "plan", "tmp", "run"] {
            std::fs::create_dir(env.note(folder)).unwrap();
        }
        let agent = env.note("bin/claude");
        std::fs::write(&agent, include_str!("agent.sh")).unwrap();
        std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
        let folder = |name: &str| env.note(name).into_os_string().into_string().unwrap();
        let path = format!("{}:{}", folder("bin"), std::env::var("PATH").unwrap());
        let (tmp, run) = (folder("tmp"), folder("run"));
        env.set("PATH", &path).set("TMPDIR", &tmp).set("XDG_RUNTIME_DIR", &run);
        Self { env }
    }

    /// What a session on a task does, in shell. `name` is the task, or `TASK.N` for its N-th session.
    fn plan(&self, name: &str, script: &str) -> &Self {
        std::fs::write(self.env.note("plan").join(name), script).unwrap();
        self
    }

    /// Commits a file to the branch that is checked out.
    fn commit(&self, path: &str, text: &str) -> &Self {
        self.env.write(path, text);
        self.git(&["add", "-A"]);
        self.git(&["commit", "--quiet", "-m", &format!("person: {path}")]);
        self
    }

    /// Has this command judge.
    fn gate(&self, command: &str) -> &Self {
        let text = format!("[[gate]]\nname = \"test\"\ncommand = '''{command}'''\n");
        self.commit("ralph.toml", &text)
    }

    fn build(&self, jobs: u32, extra: &[&str]) -> Ran {
        let jobs = jobs.to_string();
        let mut arguments = vec!["build", "-j", &jobs];
        arguments.extend(extra);
        self.env.ralph(&arguments)
    }

    fn start(&self, jobs: u32) -> Child {
        self.env.start(&["build", "-j", &jobs.to_string()])
    }

    /// What git prints, without the end of its last line.
    fn git(&self, arguments: &[&str]) -> String {
        self.env.git(arguments).trim_end().to_owned()
    }

    /// A file of the branch.
    fn committed(&self, path: &str) -> String {
        self.git(&["show", &format!("HEAD:{path}")])
    }

    /// Nothing of the run is left but its records: no worktree, no branch, no half-made file.
    fn check_tidy(&self) {
        let worktrees = self.git(&["worktree", "list", "--porcelain"]);
        let output = std::fs::read_to_string(self.env.folder().join("said.txt"));
        let output = output.unwrap_or_default();
        assert_eq!(worktrees.matches("worktree ").count(), 1, "{worktrees}\n{output}");
        let branches = self.git(&["branch", "--list", "ralph/*"]);
        assert_eq!(branches, "");
        assert!(!self.env.repo().join(".worktrees").exists());
        let markers = std::fs::read_dir(self.env.repo().join(".ralph/worktrees"));
        let markers: Vec<_> =
            markers.into_iter().flatten().map(|entry| entry.unwrap().file_name()).collect();
        assert!(markers.is_empty(), "{markers:?}\n{output}");
        assert!(!self.env.repo().join(".git/ralph-landing.json").exists());
        assert!(!self.env.repo().join(".git/worktrees").exists());
        self.git(&["fsck", "--strict", "--no-dangling"]);
    }
}
