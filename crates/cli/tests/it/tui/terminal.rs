//! A terminal of tmux with a server of its own.

use std::process::Command;

use ralph_testkit::{TestEnv, skip};

use crate::looping::PATIENCE;

pub(super) struct Terminal {
    socket: std::path::PathBuf,
}

impl Terminal {
    /// A call of ralph on a terminal; when it ends, `ENDED` and its exit code stand there. `None` where tmux is missing.
    pub(super) fn start(
        env: &TestEnv,
        arguments: &[&str],
        width: u16,
        height: u16,
    ) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("the display on a terminal: tmux is not installed");
            return None;
        }
        let call = env.command(arguments);
        let quoted =
            |text: &std::ffi::OsStr| format!("'{}'", text.to_str().unwrap().replace('\'', "'\\''"));
        let mut script = "env -i TERM=\"$TERM\"".to_owned();
        for (name, value) in call.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            script.push_str(&format!(" {}={}", name.to_str().unwrap(), quoted(value)));
        }
        script.push_str(&format!(" {}", quoted(call.get_program())));
        for argument in call.get_args() {
            script.push_str(&format!(" {}", quoted(argument)));
        }
        script.push_str("\necho ENDED $?\nexec sleep 600\n");
        let script_path = env.folder().join("call.sh");
        std::fs::write(&script_path, script).unwrap();
        let terminal = Self { socket: env.folder().join("tmux") };
        let (width, height) = (width.to_string(), height.to_string());
        let shell = format!("exec sh {}", script_path.display());
        let folder = call.get_current_dir().unwrap().display().to_string();
        terminal.tmux(&[
            "new-session",
            "-d",
            "-s",
            "t",
            "-x",
            &width,
            "-y",
            &height,
            "-c",
            &folder,
            &shell,
        ]);
        terminal.tmux(&["set-option", "-g", "status", "off"]);
        terminal.tmux(&["resize-window", "-t", "t", "-x", &width, "-y", &height]);
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(arguments);
        command.env_remove("TMUX");
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What is on the terminal.
    pub(super) fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-t", "t", "-p"])
    }

    pub(super) fn shows(&self, text: &str) {
        let clock = ralph_engine::clock::Stopwatch::start();
        while !self.shown().contains(text) {
            let shown = self.shown();
            assert!(clock.elapsed() < PATIENCE, "{text:?} is not on the terminal:\n{shown}");
            std::thread::park_timeout(std::time::Duration::from_millis(20));
        }
    }

    pub(super) fn presses(&self, keys: &[&str]) {
        let mut arguments = vec!["send-keys", "-t", "t"];
        arguments.extend(keys);
        self.tmux(&arguments);
    }

    pub(super) fn types(&self, text: &str) {
        self.tmux(&["send-keys", "-t", "t", "-l", text]);
    }

    pub(super) fn resizes(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        self.tmux(&["resize-window", "-t", "t", "-x", &width, "-y", &height]);
    }

    pub(super) fn kill(&self) {
        self.tmux(&["kill-session", "-t", "t"]);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
