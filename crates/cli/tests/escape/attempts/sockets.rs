//! Sockets of programs that would act with the person's rights.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};

use super::files::late;
use super::{Attempt, held, lets, no};

pub(super) const ALL: &[Attempt] = &[
    lets("named_socket", "connect to a program beside the repository", |aim| {
        connect(&aim.outside("service.sock"))
    }),
    lets("docker_socket", "connect to docker in the home", |aim| {
        connect(&aim.home(".docker/run/docker.sock"))
    }),
    lets("shared_socket", "connect to a program in /tmp", |aim| connect(&aim.path("tmp_socket"))),
    lets("found_socket", "connect to any program that the system lists", |aim| {
        // Its own are no way out: whoever sits there knows who calls.
        let own = std::env::var("RALPH_SOCKET").unwrap_or_default();
        let own = Path::new(&own).parent().map(Path::to_owned).unwrap_or_default();
        let listed = fs::read("/proc/net/unix")?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let names = listed
            .lines()
            .filter_map(|line| Some(PathBuf::from("/").join(line.split_once(" /")?.1)));
        let mut names =
            names.filter(|name| name.starts_with(aim.path("outside")) && !name.starts_with(&own));
        // One that came later is an attempt of its own.
        let mut names = names.by_ref().filter(|name| !name.ends_with("late.sock"));
        match names.any(|name| connect(&name).is_ok()) {
            true => Ok(()),
            false => Err(no("none answers")),
        }
    }),
    lets("control_socket", "connect to the socket that stops runs", |aim| {
        let listed = fs::read("/proc/net/unix")?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let names = listed
            .lines()
            .filter_map(|line| Some(PathBuf::from("/").join(line.split_once(" /")?.1)));
        let mut names =
            names.filter(|name| name.starts_with(aim.path("runtime")) && name.ends_with("control"));
        match names.any(|name| connect(&name).is_ok()) {
            true => Ok(()),
            false => Err(no("it is not there")),
        }
    }),
    held("abstract_socket", "connect to an abstract socket", |aim| {
        let address = SocketAddr::from_abstract_name(aim.text("abstract"))?;
        UnixStream::connect_addr(&address).map(drop)
    }),
    held("agent_of_keys", "connect to ssh-agent", |_| {
        let path = std::env::var_os("SSH_AUTH_SOCK").ok_or_else(|| no("it is not set"))?;
        connect(Path::new(&path))
    }),
    held("message_bus", "connect to the message bus", |_| {
        std::env::var("DBUS_SESSION_BUS_ADDRESS").map(drop).map_err(|_| no("it is not set"))
    }),
    lets("renamed_socket", "connect to a renamed socket in the home", |aim| {
        connect(&aim.home("notes/renamed.sock"))
    }),
    lets(
        "late_home_socket",
        "connect to a socket in the home made after the session began",
        |aim| {
            late()?;
            connect(&aim.home("notes/late.sock"))
        },
    ),
    lets(
        "late_socket",
        "connect to a socket outside the home made after the session began",
        |aim| {
            late()?;
            connect(&aim.outside("late.sock"))
        },
    ),
];

fn connect(path: &Path) -> io::Result<()> {
    UnixStream::connect(path).map(drop)
}
