//! A writer to be killed: adds, claims and finishes tasks as fast as it can and tells each step on
//! standard output once the store has acknowledged it.
//!
//! `store_writer DB PREFIX`

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for tests may stop")]

use std::io::Write;
use std::path::PathBuf;

use ralph_core::task::{Actor, NewTask};
use ralph_core::text::Title;
use ralph_core::{AgentId, Lease, TaskId};
use ralph_engine::clock;
use ralph_engine::ports::{ClaimRequest, Scope, Store};
use ralph_engine::store::SqliteStore;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().unwrap());
    let prefix = arguments.next().unwrap();
    let mut store = SqliteStore::open(&path).unwrap();
    let agent = AgentId::new(format!("writer-{prefix}")).unwrap();
    let actor = Actor::Agent(agent.clone(), None);
    let mut out = std::io::stdout();
    for number in 0.. {
        let id = TaskId::new(format!("{prefix}-{number}")).unwrap();
        let title = Title::new("written under fire").unwrap();
        store.add(id.clone(), NewTask::titled(title), &actor, clock::now()).unwrap();
        writeln!(out, "added {id}").unwrap();
        let request = ClaimRequest {
            agent: agent.clone(),
            task: Some(id.clone()),
            scope: Scope::All,
            lease: Lease::DEFAULT,
        };
        store.claim(&request, clock::now()).unwrap();
        writeln!(out, "claimed {id}").unwrap();
        store.done(&id, None, &actor, clock::now()).unwrap();
        writeln!(out, "done {id}").unwrap();
    }
}
