//! A box with nothing but loopback: what leaves it leaves through the bridge and the proxy, and nothing
//! else does. Real bubblewrap, real curl, the real Claude Code.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "tests start programs and read the environment")]

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use ralph_core::net::{Endpoint, Policy, Rules};
use ralph_engine::sandbox::net::{Addresses, Proxy, Resolver};
use ralph_testkit::skip;
use tokio::runtime::Runtime;

const BRIDGE: &str = env!("CARGO_BIN_EXE_sandbox_bridge");
/// Long enough for a loaded machine.
const SOON: Duration = Duration::from_secs(60);

/// Every name leads to the metadata service.
struct Metadata;

impl Resolver for Metadata {
    fn resolve<'a>(&'a self, _name: &'a str) -> Addresses<'a> {
        Box::pin(async { Ok(vec![IpAddr::from([169, 254, 169, 254])]) })
    }
}

/// A proxy outside, with what a box may reach.
struct Outside {
    _runtime: Runtime,
    proxy: Proxy,
    folder: tempfile::TempDir,
    ports: String,
}

impl Outside {
    fn new(rules: Rules) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let ports: Vec<String> = rules.loopback_ports().iter().map(u16::to_string).collect();
        let entered = runtime.enter();
        let proxy = Proxy::start(rules, &folder.path().join("proxy"), Metadata).unwrap();
        drop(entered);
        Self { _runtime: runtime, proxy, folder, ports: ports.join(",") }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("proxy")
    }

    /// A program in a box; `None`, said aloud, where there are no boxes. `ports` are those of the bridge.
    fn sandboxed(&self, writable: &[&Path], ports: &str, program: &Path) -> Option<Command> {
        let isolated = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net"];
        let probe =
            Command::new("bwrap").args(isolated).args(["--ro-bind", "/", "/", "true"]).output();
        if !probe.is_ok_and(|probe| probe.status.success()) {
            skip("the network of a box: there is no bubblewrap that works here");
            return None;
        }
        let mut command = Command::new("bwrap");
        // Its own environment can be read from inside.
        command.env_clear().stdin(Stdio::null());
        command.args(isolated).args(["--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"]);
        command.args(["--new-session", "--die-with-parent", "--ro-bind", "/", "/"]);
        command.args(["--dev", "/dev", "--proc", "/proc", "--ro-bind"]);
        command.arg(self.socket()).arg(self.socket());
        for folder in writable {
            command.arg("--bind").arg(folder).arg(folder);
        }
        command.arg("--setenv").arg("PATH").arg(std::env::var_os("PATH").unwrap());
        command.arg(BRIDGE).arg(self.socket()).arg(if ports.is_empty() { "-" } else { ports });
        command.arg(program);
        Some(command)
    }

    /// Runs a script of bash in a box.
    fn script(&self, script: &str) -> Option<Output> {
        let mut command = self.sandboxed(&[], &self.ports, Path::new("bash"))?;
        Some(command.args(["-uc", script]).output().unwrap())
    }
}

fn rules(entries: &[String]) -> Rules {
    let entries = entries.iter().map(|entry| entry.parse().unwrap()).collect();
    Rules::new(Policy::Allowlist, entries, vec![])
}

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// A server that says hello to whoever asks.
fn hello() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = vec![];
            while !bytes.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read_exact(&mut byte).is_err() {
                    break;
                }
                bytes.push(byte[0]);
            }
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// An address of this machine that is not loopback, if it has one.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

#[test]
fn what_is_listed_is_reached_and_nothing_else() {
    let (listed, other) = (hello(), hello());
    let outside = Outside::new(rules(&[listed.to_string(), "named.example".to_owned()]));
    let curl = "curl --silent --show-error --max-time 60";
    let script = format!(
        "echo door: $({curl} http://{listed}/)
         echo name: $({curl} http://localhost:{}/)
         echo proxy: $({curl} --noproxy '' http://{listed}/)
         echo other: $({curl} --noproxy '' http://{other}/)
         echo metadata: $({curl} http://169.254.169.254/latest/)
         echo named: $({curl} http://named.example/)",
        listed.port()
    );
    let Some(output) = outside.script(&script) else { return };
    let printed = text(&output);
    for line in [
        "door: hello".to_owned(),
        "name: hello".to_owned(),
        "proxy: hello".to_owned(),
        format!("other: ralph: {other} is not in the list of allowed hosts (sandbox.network.allowed)"),
        "metadata: ralph: 169.254.169.254:80 is not in the list of allowed hosts (sandbox.network.allowed)"
            .to_owned(),
        "named: ralph: named.example:80 leads to 169.254.169.254, a metadata service; such an address \
         must be in sandbox.network.allowed itself"
            .to_owned(),
    ] {
        assert!(printed.lines().any(|known| known == line), "{line}\n{printed}");
    }
    assert_eq!(outside.proxy.refusals().len(), 3, "{:?}", outside.proxy.refusals());
}

#[test]
fn nothing_leaves_by_itself() {
    let other = hello();
    let outside = Outside::new(rules(&["example.com".to_owned()]));
    // A program that does not know of the proxy: to this machine, and to what others could reach it by.
    let direct = "curl --silent --show-error --noproxy '*' --max-time 60";
    let mut targets = vec![other.to_string(), "192.0.2.1:80".to_owned(), "1.1.1.1:80".to_owned()];
    targets.extend(own_address().map(|address| SocketAddr::new(address, other.port()).to_string()));
    for target in targets {
        let Some(output) = outside.script(&format!("{direct} http://{target}/")) else { return };
        let code = output.status.code();
        // 7: there is no way there.
        assert_eq!(code, Some(7), "{target}: {}", text(&output));
    }
    let names = outside.script("getent ahosts example.com").unwrap();
    assert!(!names.status.success(), "names are looked up inside: {}", text(&names));
    let interfaces = outside.script("cat /proc/net/dev").unwrap();
    let interfaces = text(&interfaces).lines().filter(|line| line.contains(':')).count();
    assert_eq!(interfaces, 1, "there is more than loopback");
    assert_eq!(outside.proxy.refused(), 0, "nobody asked the proxy");
}

#[test]
fn no_datagram_leaves() {
    let ears: Vec<UdpSocket> = [Some(IpAddr::from([127, 0, 0, 1])), own_address()]
        .into_iter()
        .flatten()
        .map(|address| UdpSocket::bind((address, 0)).unwrap())
        .collect();
    let outside = Outside::new(rules(&["example.com".to_owned()]));
    for listener in ears {
        let place = listener.local_addr().unwrap();
        let (host, port) = (place.ip(), place.port());
        // The shell of the box can send: it does so to itself first.
        let script = format!(
            "exec 3>/dev/udp/127.0.0.1/9 && echo works
             echo from the box > /dev/udp/{host}/{port}
             true"
        );
        let Some(output) = outside.script(&script) else { return };
        assert!(text(&output).contains("works"), "{}", text(&output));
        // What was sent earlier would come earlier.
        UdpSocket::bind((host, 0)).unwrap().send_to(b"from outside", place).unwrap();
        listener.set_read_timeout(Some(SOON)).unwrap();
        let mut bytes = [0; 100];
        let count = listener.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..count], b"from outside", "{place}");
    }
}

#[test]
fn a_server_of_the_sandbox_is_found_in_the_sandbox() {
    let outside = Outside::new(rules(&["example.com".to_owned()]));
    // The bridge itself is a server on loopback: asked directly, it is no proxy's business.
    let script = "curl --silent --show-error --max-time 60 \"http://127.0.0.1:${HTTP_PROXY##*:}/\"";
    let Some(output) = outside.script(script) else { return };
    let printed = text(&output);
    assert_eq!(printed, "ralph: this is a proxy, but the request is not a proxy request\n");
    assert_eq!(outside.proxy.refused(), 0, "{:?}", outside.proxy.refusals());
}

#[test]
fn a_port_that_a_sandbox_may_not_have_does_not_keep_it_from_starting() {
    let outside = Outside::new(rules(&["localhost:80".to_owned()]));
    let Some(output) = outside.script("echo started") else { return };
    assert_eq!(text(&output), "started\n");
}

#[test]
fn many_connections_at_once_come_through() {
    let listed = hello();
    let outside = Outside::new(rules(&[listed.to_string()]));
    let urls = format!("http://{listed}/[1-60]");
    let script = format!(
        "curl --silent --no-progress-meter --max-time 60 --parallel --parallel-max 60 '{urls}' | sort | uniq -c"
    );
    let Some(output) = outside.script(&script) else { return };
    assert_eq!(text(&output).trim(), "60 hello");
}

mod claude_code {
    //! The agent itself, in a box whose only way out is to its model.

    use ralph_testkit::claude::ClaudeEnv;
    use ralph_testkit::model_server::{Script, Turn};
    use serde_json::Value;

    use super::*;

    /// Runs a session whose network is closed but for its model. `is_at_its_place`: the model is offered at
    /// its own place in the box. `variables` are the last word on the environment. The proxy with what it
    /// refused, and whether all went well.
    fn session(env: &ClaudeEnv, is_at_its_place: bool, variables: &[&str]) -> Option<Outside> {
        let model = env.server().url();
        let model: Endpoint = model.strip_prefix("http://").unwrap().parse().unwrap();
        let outside = Outside::new(Rules::new(Policy::Deny, vec![], vec![model]));
        let wanted = env.claude_command(&["go on", "--allowed-tools", "Bash"]);
        let ports = if is_at_its_place { outside.ports.as_str() } else { "" };
        let mut command = outside.sandboxed(&[env.folder()], ports, Path::new("env"))?;
        command.args(variables).arg(wanted.get_program()).args(wanted.get_args());
        // bubblewrap passes on what it has; there is nothing in it that is not for the agent.
        for (name, value) in wanted.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let output = command.current_dir(env.repo()).output().unwrap();
        let printed = text(&output);
        let last = String::from_utf8_lossy(&output.stdout).lines().last().map(serde_json::from_str);
        let result: Value = last.unwrap_or_else(|| panic!("{printed}")).unwrap();
        assert_eq!(output.status.code(), Some(0), "{printed}");
        assert_eq!(result["result"], "All done.", "{result}");
        assert_eq!(env.sessions_seen().len(), 1);
        Some(outside)
    }

    /// A session that tries to reach somebody else, through the proxy and past it.
    fn closed_session(is_at_its_place: bool, variables: &[&str]) {
        let other = hello();
        let script = Script::new().session([
            Turn::bash(format!(
                "curl --silent --noproxy '' http://{other}/ > said.txt; \
                 curl --silent --noproxy '*' http://{other}/ >> said.txt; echo $? >> said.txt"
            )),
            Turn::text("All done."),
        ]);
        let Some(env) = ClaudeEnv::new("/no/ralph/here", script) else { return };
        let Some(outside) = session(&env, is_at_its_place, variables) else { return };
        let output = std::fs::read_to_string(env.repo().join("said.txt")).unwrap();
        let closed = format!(
            "ralph: {other} cannot be reached, because the network is closed (sandbox.network is deny)\n7\n"
        );
        assert_eq!(output, closed);
        let refusals = outside.proxy.refusals();
        let refused: Vec<_> =
            refusals.iter().map(|(host, port, _)| (host.as_str(), *port)).collect();
        assert_eq!(refused, [("127.0.0.1", other.port())], "the agent asks for nobody else");
    }

    #[test]
    fn a_session_finds_its_model_at_its_own_place_in_the_sandbox() {
        closed_session(true, &[]);
    }

    /// Without `NO_PROXY` it sends requests for a model without TLS to the proxy as they are, and one after
    /// the other on the same connection where it is not told otherwise.
    #[test]
    fn a_session_finds_its_model_through_the_proxy() {
        closed_session(false, &["NO_PROXY=", "no_proxy="]);
    }

    /// So the variables of a box lead it to the place of its model, and not to the proxy.
    #[test]
    fn what_is_in_no_proxy_is_asked_directly() {
        let script = Script::new().session([Turn::text("All done.")]);
        let Some(env) = ClaudeEnv::new("/no/ralph/here", script) else { return };
        let nobody =
            ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
                .map(|name| format!("{name}=http://127.0.0.1:9"));
        session(&env, true, &nobody.each_ref().map(String::as_str));
    }
}
