//! Real programs through bridge and proxy: curl and git, over HTTP and HTTPS.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use ralph_engine::sandbox::net::bridge;

use crate::kit::{World, head, mirror, server};

/// A program with the variables of a box, and none of ours.
fn sandboxed(program: &str, port: u16, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home);
    command.env("GIT_CONFIG_NOSYSTEM", "1").envs(bridge::variables(port));
    command.current_dir(home);
    command
}

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// A repository with one commit, laid out for servers that only know files.
fn repository(folder: &Path) -> PathBuf {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(folder);
        command.args(["-c", "user.name=Tester", "-c", "user.email=tester@example.com"]);
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    };
    git(&["init", "--quiet", "--initial-branch=main", "source"]);
    fs::write(folder.join("source/file.txt"), "through the proxy\n").unwrap();
    git(&["-C", "source", "add", "."]);
    git(&["-C", "source", "commit", "--quiet", "--message", "one"]);
    git(&["clone", "--quiet", "--bare", "source", "project.git"]);
    git(&["-C", "project.git", "update-server-info"]);
    let info = folder.join("project.git/info");
    fs::copy(info.join("refs"), info.join("refs?service=git-upload-pack")).unwrap();
    folder.join("project.git")
}

/// Serves files over HTTP.
fn files(mut stream: TcpStream, root: &Path) {
    let request = head(&mut stream);
    let path = request.split(' ').nth(1).unwrap().trim_start_matches('/').to_owned();
    let answer = match fs::read(root.join(path)) {
        Ok(bytes) => {
            let length = bytes.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            [head.into_bytes(), bytes].concat()
        }
        Err(_) => {
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec()
        }
    };
    let _ = stream.write_all(&answer);
}

#[test]
fn curl_asks_and_is_refused() {
    let port = server(mirror).port();
    let entries = [format!("a.example:{port}"), format!("127.0.0.1:{port}")];
    let world = World::new(&[&entries[0], &entries[1]]);
    let bridge = world.bridge();
    let curl = |arguments: &[&str]| {
        let mut curl = sandboxed("curl", bridge, world.folder.path());
        curl.args(["--silent", "--show-error", "--max-time", "60"])
            .args(arguments)
            .output()
            .unwrap()
    };
    let asked = curl(&[&format!("http://a.example:{port}/x")]);
    let expected = format!("GET /x HTTP/1.1\r\nHost: a.example:{port}\r\n");
    assert!(text(&asked).starts_with(&expected), "{}", text(&asked));
    let tunnelled = curl(&["--proxytunnel", &format!("http://a.example:{port}/x")]);
    assert!(text(&tunnelled).starts_with(&expected), "{}", text(&tunnelled));
    for kind in ["socks5h", "socks5"] {
        let proxy = format!("{kind}://127.0.0.1:{bridge}");
        // By `socks5` curl looks the name up itself, so it is given an address.
        let host = if kind == "socks5" { "127.0.0.1" } else { "a.example" };
        let asked = curl(&["--noproxy", "", "--proxy", &proxy, &format!("http://{host}:{port}/x")]);
        assert!(text(&asked).starts_with("GET /x HTTP/1.1\r\n"), "{kind}: {}", text(&asked));
    }
    let posted = curl(&["--data", "a=b", &format!("http://a.example:{port}/y")]);
    assert!(text(&posted).starts_with("POST /y HTTP/1.1\r\n"), "{}", text(&posted));
    let refused = curl(&["http://b.example/"]);
    let sentence =
        "ralph: b.example:80 is not in the list of allowed hosts (sandbox.network.allowed)\n";
    assert_eq!(text(&refused), sentence);
    let refused = curl(&["https://b.example/"]);
    assert!(!refused.status.success() && text(&refused).contains("403"), "{}", text(&refused));
    assert_eq!(world.proxy().refusals().len(), 2, "{:?}", world.proxy().refusals());
}

#[test]
fn git_clones_over_http() {
    let folder = tempfile::tempdir().unwrap();
    repository(folder.path());
    let root = folder.path().to_owned();
    let port = server(move |stream| files(stream, &root)).port();
    let entries = [format!("git.example:{port}"), format!("127.0.0.1:{port}")];
    let world = World::new(&[&entries[0], &entries[1]]);
    let bridge = world.bridge();
    let clone = |host: &str| {
        let mut git = sandboxed("git", bridge, world.folder.path());
        let url = format!("http://{host}:{port}/project.git");
        git.args(["clone", "--quiet", &url, host]).output().unwrap()
    };
    let cloned = clone("git.example");
    assert!(cloned.status.success(), "{}", text(&cloned));
    let file = world.folder.path().join("git.example/file.txt");
    assert_eq!(fs::read_to_string(file).unwrap(), "through the proxy\n");
    let refused = clone("evil.example");
    assert!(text(&refused).contains("403"), "{}", text(&refused));
}

/// Ends a server with its test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn git_and_curl_over_https() {
    let folder = tempfile::tempdir().unwrap();
    repository(folder.path());
    let Some((_server, port)) = encrypted(folder.path()) else {
        return ralph_testkit::skip("HTTPS through the proxy: there is no openssl");
    };
    let entries = [format!("git.example:{port}"), format!("127.0.0.1:{port}")];
    let world = World::new(&[&entries[0], &entries[1]]);
    let bridge = world.bridge();
    let certificate = folder.path().join("certificate.pem");
    let page = format!("https://git.example:{port}/source/file.txt");
    let mut curl = sandboxed("curl", bridge, world.folder.path());
    curl.args(["--silent", "--show-error", "--max-time", "60", "--cacert"]).arg(&certificate);
    let asked = curl.arg(page).output().unwrap();
    assert_eq!(text(&asked), "through the proxy\n");
    let mut git = sandboxed("git", bridge, world.folder.path());
    git.env("GIT_SSL_CAINFO", &certificate);
    let url = format!("https://git.example:{port}/project.git");
    let cloned = git.args(["clone", "--quiet", &url, "cloned"]).output().unwrap();
    assert!(cloned.status.success(), "{}", text(&cloned));
    assert!(world.folder.path().join("cloned/file.txt").is_file());
}

/// The files of a folder over HTTPS; `None` without openssl.
fn encrypted(folder: &Path) -> Option<(Server, u16)> {
    let openssl = || {
        let mut command = Command::new("openssl");
        command.current_dir(folder).stdin(Stdio::null());
        command
    };
    let made = openssl()
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "2", "-keyout", "key.pem", "-out", "certificate.pem"])
        .args(["-subj", "/CN=git.example", "-addext", "subjectAltName=DNS:git.example"])
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        return None;
    }
    let mut server = openssl();
    server.args(["s_server", "-accept", "127.0.0.1:0", "-WWW"]);
    server.args(["-cert", "certificate.pem", "-key", "key.pem"]);
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let place = lines.find_map(|line| Some(line.ok()?.strip_prefix("ACCEPT ")?.to_owned()));
    // What it prints later has to go somewhere.
    std::thread::spawn(move || lines.count());
    let port = place.unwrap().rsplit(':').next().unwrap().parse().unwrap();
    Some((Server(server), port))
}
