//! A repository, a home full of secrets, programs that listen, a process that waits to be harmed, and an
//! agent that starts the attacker. Nothing of it lies in `/tmp`: a box has one of its own.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use ralph_testkit::{TestEnv, skip, wait_until};
use serde_json::{Value, json};

use crate::attempts::{self, Tried};

pub(crate) const RALPH: &str = env!("CARGO_BIN_EXE_ralph");
/// How long anything may take that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The user that nobody is.
const NOBODY: u32 = 65_534;

/// As whom ralph runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// Whoever runs the tests.
    Me,
    /// An ordinary user; only root can become one.
    Nobody,
}

impl Who {
    pub(crate) fn is_root(self) -> bool {
        self == Self::Me && is_root()
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Everybody that ralph can be tried as here; who cannot is said aloud.
pub(crate) fn everybody(what: &str) -> Vec<Who> {
    let mut all = vec![Who::Me];
    let becomes = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "true"]);
        command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    match (is_root(), becomes()) {
        (true, true) => all.push(Who::Nobody),
        (true, false) => skip(&format!("{what}: nobody else can be become here")),
        (false, _) => skip(&format!("{what}: not as root")),
    }
    all
}

/// Whether a box of mounts can be made here; said aloud where not. On a machine of ours it must.
pub(crate) fn has_boxes(what: &str) -> bool {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true"]);
    let works = command.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !works {
        skip(&format!("{what}: bubblewrap does not work here"));
    }
    works
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) output: String,
}

pub(crate) struct World {
    pub(crate) env: TestEnv,
    pub(crate) who: Who,
    pub(crate) level: &'static str,
    pub(crate) number: String,
    pub(crate) secret: String,
    /// How often anybody who listens was reached.
    reached: Arc<AtomicUsize>,
    victim: Child,
    ports: (u16, u16),
}

impl World {
    pub(crate) fn new(who: Who, level: &'static str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = format!("{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut env = TestEnv::below(RALPH, &place());
        env.at_level(level, "escapes are tried at each level");
        let base = env.folder().to_owned();
        let secret = format!("secret-{number}");
        for folder in ["outside", "bin", "run", "moved"] {
            fs::create_dir(base.join(folder)).unwrap();
        }
        let mode = |path: &str, mode| {
            fs::set_permissions(base.join(path), Permissions::from_mode(mode)).unwrap();
        };
        mode("", 0o755);
        mode("run", 0o700);
        for (name, text) in [("file", "before\n"), ("doomed", "before\n"), ("timed", "before\n")] {
            fs::write(base.join("outside").join(name), text).unwrap();
        }
        furnish(&env.home(), &secret);
        make_repository(&env, &secret);
        share(Path::new(RALPH), &base.join("bin/ralph"));
        share(&std::env::current_exe().unwrap(), &base.join("bin/attacker"));
        set_variables(&mut env, &secret);
        let reached = Arc::new(AtomicUsize::new(0));
        let sockets = [
            base.join("outside/service.sock"),
            env.home().join(".docker/run/docker.sock"),
            env.home().join("notes/named.sock"),
            tmp_socket(&number),
        ];
        for path in &sockets {
            listen(UnixListener::bind(path).unwrap(), &reached);
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        }
        // The system still lists it by the name that it had.
        let notes = env.home().join("notes");
        fs::rename(notes.join("named.sock"), notes.join("renamed.sock")).unwrap();
        let address = SocketAddr::from_abstract_name(format!("ralph-escape-{number}")).unwrap();
        listen(UnixListener::bind_addr(&address).unwrap(), &reached);
        let ports = (listen_tcp(&reached), listen_udp(&reached));
        let victim = victim(&base, who, &number, &secret);
        let world = Self { env, who, level, number, secret, reached, victim, ports };
        world.set_agent("");
        world
    }

    /// The stand-in for the agent: first this shell script, then the attacker.
    pub(crate) fn set_agent(&self, before: &str) {
        let script = format!(
            r#"#!/bin/bash
if [ "$1" = --version ]; then echo "2.1.999 (Claude Code)"; exit 0; fi
printf '%s\0' "$@" > agent.argv
attack() {{ {bin}/attacker attempts::go --exact --ignored --nocapture --test-threads=1 > attacker.out 2>&1; }}
result() {{
  echo '{{"type":"system","subtype":"init","session_id":"s","model":"claude-fake","claude_code_version":"2.1.999"}}'
  echo '{{"type":"result","subtype":"success","is_error":false,"duration_ms":7,"num_turns":1,"result":"'"$1"'","stop_reason":"end_turn","terminal_reason":"completed","total_cost_usd":0.01,"usage":{{"input_tokens":3,"output_tokens":5}},"permission_denials":[]}}'
}}
{before}
attack
echo work >> work.txt
result '<task-done>mine</task-done>'
"#,
            bin = self.path("bin").display(),
        );
        let program = self.path("bin/claude");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.env.folder().join(name)
    }

    pub(crate) fn repo(&self, name: &str) -> PathBuf {
        self.env.repo().join(name)
    }

    /// Tells the attacker which groups of attempts to go through.
    pub(crate) fn aim(&self, groups: &str) {
        let aim = json!({
            "groups": groups,
            "boxed": self.level != "none",
            "outside": self.path("outside"),
            "home": self.env.home(),
            "repo": self.env.repo(),
            "other": self.path("other"),
            "bin": self.path("bin"),
            "runtime": self.path("run"),
            "tmp_socket": tmp_socket(&self.number),
            "abstract": format!("ralph-escape-{}", self.number),
            "secret": self.secret,
            "number": self.number,
            "pid": self.victim.id(),
            "tcp": self.ports.0,
            "udp": self.ports.1,
            "commit": fs::read_to_string(self.repo(".git/refs/heads/main")).unwrap().trim(),
        });
        let _ = fs::remove_file(self.repo("tried.jsonl"));
        fs::write(self.repo("aim.json"), aim.to_string()).unwrap();
    }

    /// A call of ralph as whoever runs it here, not started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.give();
        let command = self.env.command(arguments);
        let mut whole = as_user(self.who, &self.path("bin/ralph"));
        whole.args(command.get_args()).current_dir(command.get_current_dir().unwrap());
        let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        whole.env_clear().envs(set).stdin(Stdio::null());
        whole
    }

    /// Everything that ralph works with belongs to whoever runs it.
    fn give(&self) {
        if self.who == Who::Nobody {
            let user = NOBODY.to_string();
            let mut command = Command::new("chown");
            command
                .args(["-R", "-h", "--from=0:0", &format!("{user}:{user}")])
                .arg(self.env.folder());
            assert!(command.status().unwrap().success());
        }
    }

    pub(crate) fn ralph(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let code = output.status.code();
        Ended {
            code: code.unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0)),
            output: String::from_utf8_lossy(&printed).into_owned(),
        }
    }

    /// One session on the task that is its own. While it runs, whoever asks gets a socket that was not
    /// there before.
    pub(crate) fn build(&self, extra: &[&str]) -> Ended {
        let mut arguments = vec!["build", "--task", "mine"];
        arguments.extend(extra);
        let asked = self.repo("late.ask");
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                wait_until("the run is over, or asks for a socket", PATIENCE * 4, || {
                    asked.exists() || over.load(Ordering::Relaxed)
                });
                if asked.exists() {
                    self.meanwhile();
                    fs::write(self.repo("late.there"), "").unwrap();
                }
            });
            let ended = self.ralph(&arguments);
            over.store(true, Ordering::Relaxed);
            ended
        })
    }

    /// What the user's programs do while a session runs: they listen, and they write logins, new and in the
    /// place of old ones.
    fn meanwhile(&self) {
        let home = self.env.home();
        for path in [self.path("outside/late.sock"), home.join("notes/late.sock")] {
            listen(UnixListener::bind(&path).unwrap(), &Arc::new(AtomicUsize::new(0)));
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        }
        fs::write(home.join(".late.tmp"), &self.secret).unwrap();
        fs::rename(home.join(".late.tmp"), home.join(".git-credentials")).unwrap();
        put(&home.join(".config/late/hosts.yml"), &self.secret);
        put(&home.join(".late-login"), &self.secret);
        let late = [".git-credentials", ".config/late", ".config/late/hosts.yml", ".late-login"];
        for name in late.iter().filter(|_| self.who == Who::Nobody) {
            std::os::unix::fs::chown(home.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// What came of the attempts of the last session.
    pub(crate) fn tried(&self, ended: &Ended) -> Tried {
        let text = fs::read_to_string(self.repo("tried.jsonl")).unwrap_or_else(|error| {
            let attacker = fs::read_to_string(self.repo("attacker.out")).unwrap_or_default();
            panic!("nothing was tried ({error}): {}\n{attacker}", ended.output)
        });
        let attacker = fs::read_to_string(self.repo("attacker.out")).unwrap_or_default();
        assert!(attacker.contains("1 passed"), "the attacker fell: {attacker}");
        attempts::read(&text)
    }

    /// How often anybody outside was reached.
    pub(crate) fn reached(&self) -> usize {
        self.reached.load(Ordering::Relaxed)
    }

    /// Everything outside as it is now: what a session could have changed.
    pub(crate) fn picture(&self) -> Picture {
        let mut all = Picture::new();
        for folder in ["outside", "home", "bin", "other"] {
            collect(&self.path(folder), &mut all);
        }
        collect(Path::new("/etc"), &mut all);
        for path in [self.env.folder(), self.env.folder().parent().unwrap()] {
            let names = fs::read_dir(path).unwrap().flatten().map(|entry| entry.file_name());
            all.extend(names.filter(|_| path == self.env.folder()).map(|name| {
                (path.join(&name), fs::symlink_metadata(path.join(name)).unwrap().ino().to_string())
            }));
        }
        // What ralph itself writes outside: caches of sandboxes, and the records of runs.
        let own = [".cache", ".local/state/ralph"].map(|name| self.env.home().join(name));
        let is_own = |path: &Path| own.iter().any(|place| path.starts_with(place));
        let late = ["late.sock", ".git-credentials", ".late-login"];
        let is_late = |path: &Path| late.iter().any(|name| path.ends_with(name));
        let config = self.env.home().join(".config");
        all.retain(|path, _| {
            !is_own(path) && !is_late(path) && !path.starts_with(config.join("late"))
        });
        all.remove(&config);
        all.remove(&self.env.home().join("notes"));
        // What lies in it is looked at by name; a folder that got one more says no more than that.
        for name in ["outside", "home"] {
            all.remove(&self.path(name));
        }
        all
    }

    /// Processes that this world's sessions have left.
    pub(crate) fn left(&self) -> Vec<String> {
        let own = format!("600.{}", self.number);
        processes(|line, pid| line.contains(&own) && pid != self.victim.id())
    }

    pub(crate) fn show(&self, task: &str) -> Value {
        let shown = self.command(&["task", "show", task, "--json"]).output().unwrap();
        let answer: Value = serde_json::from_slice(&shown.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&shown.stderr)));
        answer["data"].clone()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        let _ = fs::remove_file(tmp_socket(&self.number));
    }
}

/// What a file was like.
pub(crate) type Picture = BTreeMap<PathBuf, String>;

fn collect(path: &Path, all: &mut Picture) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    // The time of its last change tells of modes and attributes too.
    let changed = (found.ctime(), found.ctime_nsec(), found.mtime());
    let line =
        format!("{} {:o} {} {} {changed:?}", found.ino(), found.mode(), found.uid(), found.size());
    all.insert(path.to_owned(), line);
    if found.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), all);
        }
    }
}

/// Processes by their command line.
pub(crate) fn processes(wanted: impl Fn(&str, u32) -> bool) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let line = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        wanted(&line, pid).then(|| format!("{pid}: {}", line.chars().take(200).collect::<String>()))
    };
    all.filter_map(line).collect()
}

/// A program as whoever runs it here.
fn as_user(who: Who, program: &Path) -> Command {
    match who {
        Who::Me => Command::new(program),
        Who::Nobody => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
            command.arg(program);
            command
        }
    }
}

/// A folder that everybody may go through, not too deep: names of sockets are short.
fn place() -> PathBuf {
    let build = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    if !is_root() {
        return build;
    }
    let open = |path: &Path| {
        let passable = |folder: &Path| {
            fs::metadata(folder).is_ok_and(|found| found.is_dir() && found.mode() & 0o001 != 0)
        };
        path.ancestors().all(passable) && path.as_os_str().len() < 48
    };
    let places = [build, "/home".into(), "/srv".into(), "/opt".into()];
    places.into_iter().find(|path| open(path)).expect("a folder that everybody may go through")
}

fn tmp_socket(number: &str) -> PathBuf {
    PathBuf::from(format!("/tmp/ralph-escape-{number}.sock"))
}

/// The same file elsewhere, for everybody to run.
fn share(from: &Path, to: &Path) {
    // A copy: what lies in the build folder keeps its owner.
    fs::copy(from, to).unwrap();
    fs::set_permissions(to, Permissions::from_mode(0o755)).unwrap();
}

fn furnish(home: &Path, secret: &str) {
    let secrets = [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".netrc",
        ".config/gh/hosts.yml",
        ".cargo/credentials.toml",
        ".npmrc",
        ".git-credentials",
        ".bash_history",
        ".claude/history.jsonl",
        ".unheard-of/token",
        "notes/private.txt",
        ".cache/ralph/other-0123/agents/claude/.credentials.json",
        "../moved/gnupg/key",
        "../moved/kube",
        "../moved/config/gh/hosts.yml",
    ];
    for name in secrets {
        put(&home.join(name), secret);
    }
    put(&home.join("dotfiles/ralph.toml"), &format!("# {secret}\n"));
    fs::create_dir_all(home.join(".config/ralph")).unwrap();
    symlink(home.join("dotfiles/ralph.toml"), home.join(".config/ralph/config.toml")).unwrap();
    for name in [".bashrc", ".gitconfig", ".profile", ".cargo/bin/rustc", ".cargo/config.toml"] {
        put(&home.join(name), "");
    }
    put(&home.join(".claude/settings.json"), "{}");
    put(&home.join(".claude/.credentials.json"), "{\"login\":1}");
    put(&home.join(".cargo/registry/cache/crate"), "crate");
    put(&home.join(".npm/_cacache/entry"), "entry");
    fs::create_dir_all(home.join(".docker/run")).unwrap();
    fs::create_dir_all(home.join(".local/state/ralph")).unwrap();
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn make_repository(env: &TestEnv, secret: &str) {
    fs::create_dir(env.repo()).unwrap();
    env.git(&["init", "--quiet", "--initial-branch=main"]);
    env.git(&["config", "user.name", "Tester"]);
    env.git(&["config", "user.email", "tester@example.org"]);
    env.write("README.md", "A project.\n");
    // Settings of git that lie in the worktree, and a worktree within it.
    env.write("conf/git.inc", "[alias]\n\tfirst = log\n");
    env.git(&["config", "include.path", "../conf/git.inc"]);
    let own = "aim.json\ntried.jsonl\nattacker.out\nagent.argv\nlate.*\nturns*\nleads.*\n*.node\n.worktrees/\n";
    env.write(".gitignore", own);
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "first"]);
    env.git(&["branch", "foreign"]);
    env.git(&["worktree", "add", "--quiet", "../other"]);
    env.git(&["worktree", "add", "--quiet", ".worktrees/inner"]);
    fs::write(env.folder().join("other/secret.txt"), secret).unwrap();
    for task in ["mine", "foreign"] {
        env.task(&["add", task, "--id", task]);
    }
}

/// Secrets that sessions have no business with, and ways to programs that have the person's rights.
fn set_variables(env: &mut TestEnv, secret: &str) {
    let path = std::env::var("PATH").unwrap();
    let base = env.folder().display().to_string();
    env.set("RALPH_TEST_SEED", "").set("PATH", &format!("{base}/bin:{path}"));
    env.set("XDG_RUNTIME_DIR", &format!("{base}/run"));
    env.set("GNUPGHOME", &format!("{base}/moved/gnupg"));
    env.set("KUBECONFIG", &format!("{base}/moved/kube"));
    env.set("GH_CONFIG_DIR", &format!("{base}/moved/config/gh"));
    env.set("SSH_AUTH_SOCK", &format!("{base}/outside/service.sock"));
    env.set("DBUS_SESSION_BUS_ADDRESS", &format!("unix:path={base}/outside/service.sock"));
    for name in [
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DATABASE_URL",
        "CARGO_REGISTRY_TOKEN",
        "NPM_TOKEN",
        "NODE_AUTH_TOKEN",
        "UV_PUBLISH_TOKEN",
        "YARN_NPM_AUTH_TOKEN",
    ] {
        env.set(name, secret);
    }
    env.set("ANTHROPIC_API_KEY", "login-of-the-agent");
}

/// Counts whoever comes.
fn listen(listener: UnixListener, reached: &Arc<AtomicUsize>) {
    let reached = Arc::clone(reached);
    std::thread::spawn(move || {
        while listener.accept().is_ok() {
            reached.fetch_add(1, Ordering::Relaxed);
        }
    });
}

fn listen_tcp(reached: &Arc<AtomicUsize>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, reached) = (listener.local_addr().unwrap().port(), Arc::clone(reached));
    std::thread::spawn(move || {
        while listener.accept().is_ok() {
            reached.fetch_add(1, Ordering::Relaxed);
        }
    });
    port
}

fn listen_udp(reached: &Arc<AtomicUsize>) -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (port, reached) = (socket.local_addr().unwrap().port(), Arc::clone(reached));
    std::thread::spawn(move || {
        while let Ok((_, from)) = socket.recv_from(&mut [0; 64]) {
            reached.fetch_add(1, Ordering::Relaxed);
            let _ = socket.send_to(b"seen", from);
        }
    });
    port
}

/// A process outside with the secret in its environment and in an open file.
fn victim(base: &Path, who: Who, number: &str, secret: &str) -> Child {
    let held = base.join("run/held");
    let mut file = File::options().read(true).write(true).create_new(true).open(&held).unwrap();
    file.write_all(secret.as_bytes()).unwrap();
    let file = File::open(&held).unwrap();
    fs::remove_file(held).unwrap();
    let mut command = as_user(who, Path::new("sleep"));
    command.arg(format!("600.{number}")).env_clear().env("SECRET", secret).stdin(file);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The names of everything below a folder.
pub(crate) fn names_below(folder: &Path) -> Vec<String> {
    let mut all = Picture::new();
    collect(folder, &mut all);
    all.keys().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
}

/// The modes of all files below a folder, and not of folders.
pub(crate) fn modes_below(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut all = Picture::new();
    collect(folder, &mut all);
    let mode = |path: PathBuf| {
        let found = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Some((path, found.mode()))
    };
    all.into_keys().filter_map(mode).collect()
}

/// The first file of this name below a folder.
pub(crate) fn find_below(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut all = Picture::new();
    collect(folder, &mut all);
    all.into_keys().find(|path| path.ends_with(name))
}

/// What a run that was started has said so far.
pub(crate) fn all_output(world: &World) -> String {
    fs::read_to_string(world.path("said.txt")).unwrap_or_default()
}
