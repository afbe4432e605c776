//! `ralph serve`: the page in a browser, by itself or beside a run.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_engine::{entropy, untrusted};
use ralph_web::{Access, FIRST_PORT, Server, TOKEN_MIN, is_token};

use crate::error::{CliError, Done, Result};
use crate::wiring::Context;

/// Show the runs and the plan in a browser, until Ctrl-C
///
/// Prints a link. Its page shows what agents do as it happens, the plan and the evidence for each task, and costs. You
/// can answer, approve, tell, pause and cancel there, as with the commands. Runs need not be started in a special way,
/// and end or continue independently of the page.
///
/// The link contains a random token, which is valid until the command ends: whoever has the link can do what you can.
/// The read-only link lets others look. Only this machine can reach the page; from a phone or another machine, use a
/// tunnel: ssh -L 4650:127.0.0.1:4650 HOST.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph serve\n  ralph serve --read-only\n  ralph build --serve    # beside a run\n  ralph serve --listen 192.168.1.5 --token-file ~/.ralph-token"
)]
pub(crate) struct ServeArgs {
    /// The port [default: the first free one from 4650]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// The address to listen on; one that other machines can reach needs --token-file
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// Only show: the link allows no actions
    #[arg(long)]
    read_only: bool,
    /// Use the token in this file instead of a random one [default: RALPH_SERVE_TOKEN, if it is set]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub(crate) fn cmd_serve(args: &ServeArgs, context: &mut Context<'_>) -> Done {
    let ports = (context.program.ports)(context)?;
    context.project()?.check_ours()?;
    let chosen = chosen_token(args.token_file.as_deref(), context)?;
    if !args.listen.is_loopback() && chosen.is_none() {
        let text =
            format!("{} can be reached from other machines, so you choose the token", args.listen);
        return Err(CliError::usage(text)
            .hint("name a file with it: --token-file FILE, or set RALPH_SERVE_TOKEN")
            .hint("or stay on this machine, and use a tunnel: ssh -L 4650:127.0.0.1:4650 HOST"));
    }
    let server = Server::bind(args.listen, args.port).map_err(|error| not_bound(args, &error))?;
    let links = Links::new(chosen, args.read_only)?;
    links.print(&server, context)?;
    if !args.listen.is_loopback() {
        let text = match args.read_only {
            true => {
                "anyone with this link can see your plan, your code and what agents say; the connection is not encrypted"
            }
            false => {
                "anyone with this link can control ralph and so run commands here; the connection is not encrypted"
            }
        };
        context.out.warning(text);
    }
    context.out.note("Press Ctrl-C to stop serving. Runs continue.");
    context.out.finish()?;
    let ended = server.run_until_interrupted(ports, links.access);
    ended.map_err(|error| failed!("the page can no longer be served: {error}"))
}

/// Serves the page beside a run, if that is asked for. Neither waits for the other, and the run goes on without a page.
pub(super) fn beside(asked: bool, context: &mut Context<'_>) {
    if !asked {
        return;
    }
    if let Err(error) = try_beside(context) {
        let (message, _, hints) = error.parts();
        let hint = hints.first().map(|hint| format!(" ({hint})")).unwrap_or_default();
        context.out.warning(format!("no page: {message}{hint}"));
    }
}

fn try_beside(context: &mut Context<'_>) -> Result<()> {
    let ports = (context.program.ports)(context)?;
    let chosen = chosen_token(None, context)?;
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let server = Server::bind(local, None)
        .map_err(|error| failed!("port {FIRST_PORT} and those after it are not free: {error}"))?;
    let links = Links::new(chosen, false)?;
    context.out.wanted(format!("page: {}", links.full(&server)));
    context.out.finish()?;
    std::thread::Builder::new()
        .name("page".to_owned())
        .spawn(move || server.run(ports, links.access))
        .map_err(|error| failed!("the thread of the page does not start: {error}"))?;
    Ok(())
}

/// The tokens, and whether the user chose theirs: then no output repeats it.
struct Links {
    access: Access,
    chosen: bool,
}

impl Links {
    fn new(chosen: Option<String>, read_only: bool) -> Result<Self> {
        let random = || {
            entropy::secret().map_err(|error| failed!("the system has no random numbers: {error}"))
        };
        let is_chosen = chosen.is_some();
        let first = chosen.map_or_else(random, Ok)?;
        let access = match read_only {
            true => Access { full: None, read_only: first },
            false => Access { full: Some(first), read_only: random()? },
        };
        Ok(Self { access, chosen: is_chosen })
    }

    fn full(&self, server: &Server) -> String {
        let token = self.access.full.as_deref().unwrap_or(&self.access.read_only);
        server.link(if self.chosen { "YOUR-TOKEN" } else { token })
    }

    fn print(&self, server: &Server, context: &mut Context<'_>) -> Done {
        context.out.line(self.full(server))?;
        if self.access.full.is_some() {
            let look = server.link(&self.access.read_only);
            context.out.note(format!("To let others look, give them the read-only link: {look}"));
        }
        Ok(())
    }
}

/// The token that the user has chosen.
fn chosen_token(file: Option<&Path>, context: &Context<'_>) -> Result<Option<String>> {
    let (text, place) = match file {
        Some(file) => (token_of(file, context)?, file.display().to_string()),
        None => match context.environment.get("RALPH_SERVE_TOKEN") {
            Some(text) => (text.to_owned(), "RALPH_SERVE_TOKEN".to_owned()),
            None => return Ok(None),
        },
    };
    let token = text.trim().to_owned();
    match is_token(&token) {
        true => Ok(Some(token)),
        false => Err(CliError::failed(format!(
            "the token of {place} is not usable: it needs at least {TOKEN_MIN} letters, digits or -_.~"
        ))
        .hint("make one: openssl rand -hex 16")),
    }
}

/// The text of a token file, which must be one that sessions cannot read.
fn token_of(file: &Path, context: &Context<'_>) -> Result<String> {
    let unreadable = |error| CliError::file(file, "read", error);
    let place = file.canonicalize().map_err(unreadable)?;
    let root = context.project()?.worktree;
    if place.starts_with(root.canonicalize().unwrap_or(root)) {
        return Err(failed!("{} is in the repository, where agents can read it", file.display())
            .hint("keep it in your home directory: --token-file ~/.ralph-token"));
    }
    let mode = place.metadata().map_err(unreadable)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(failed!("other users can read {}", file.display())
            .hint(format!("chmod 600 {}", file.display())));
    }
    let bytes = untrusted::read_through_links(&place, untrusted::SMALL).map_err(unreadable)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn not_bound(args: &ServeArgs, error: &io::Error) -> CliError {
    let place = match args.port {
        Some(port) => format!("port {port} of {}", args.listen),
        None => format!("port {FIRST_PORT} of {}", args.listen),
    };
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            let next = args.port.unwrap_or(FIRST_PORT).wrapping_add(1);
            failed!("{place} is in use").hint(format!("choose another: ralph serve --port {next}"))
        }
        io::ErrorKind::AddrNotAvailable => {
            failed!("{} is not an address of this machine", args.listen)
                .hint("see its addresses: ip address")
        }
        _ => failed!("{place} cannot be used: {error}")
            .hint("choose another: ralph serve --port PORT"),
    }
}
