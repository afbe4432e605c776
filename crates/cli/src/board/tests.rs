//! The board over a real repository.

use ralph_core::ids::QuestionId;
use ralph_core::run::Cancel;
use ralph_core::task::{Actor, Status};
use ralph_engine::git::git;

use super::*;

struct World {
    folder: tempfile::TempDir,
    ports: Arc<dyn Ports>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for call in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "Ada"],
            &["config", "user.email", "ada@example.com"],
            &["commit", "-q", "--allow-empty", "-m", "start"],
        ] {
            git(folder.path(), call).unwrap();
        }
        let environment = Environment {
            user: Some("ada".to_owned()),
            ralph: vec![("RALPH_AGENT_ID".into(), "agent-1".into())],
            ..Environment::default()
        };
        let global =
            GlobalArgs { directory: Some(folder.path().to_owned()), ..GlobalArgs::default() };
        let ports = ports(&Context::new(&environment, &global, crate::app::PROGRAM)).unwrap();
        Self { folder, ports }
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.folder.path().join(".ralph/progress.db")).unwrap()
    }

    fn add(&self, title: &str) -> TaskId {
        let add = UserAction::Add {
            title: title.to_owned(),
            description: String::new(),
            priority: Some(1),
            deps: vec![],
            feature: None,
        };
        let said = self.ports.board().perform(&add).unwrap();
        let id = TaskId::new(said.split(' ').next().unwrap()).unwrap();
        assert_eq!(said, format!("{id} is in the plan"));
        id
    }

    fn status(&self, id: &TaskId) -> Status {
        use ralph_engine::ports::Store;
        self.store().get(id).unwrap().status
    }
}

#[test]
fn actions_do_what_the_commands_do_in_the_name_of_the_user() {
    use ralph_engine::ports::Store;
    let world = World::new();
    let mut board = world.ports.board();
    let id = world.add("Write the parser");
    let log = world.store().log(&id).unwrap();
    assert_eq!(log[0].by.as_str(), "user-ada");

    let edit = UserAction::Edit {
        task: id.clone(),
        title: Some("Write a parser".to_owned()),
        description: Some("By hand.".to_owned()),
        priority: Some(0),
    };
    assert_eq!(board.perform(&edit).unwrap(), format!("{id} is changed"));
    let task = world.store().get(&id).unwrap();
    assert_eq!((task.title.as_str(), task.description.as_str()), ("Write a parser", "By hand."));

    let said = board.perform(&UserAction::Skip { task: id.clone() }).unwrap();
    assert_eq!(world.status(&id), Status::Waiting, "{said}");
    board.perform(&UserAction::Retry { task: id.clone() }).unwrap();
    assert_eq!(world.status(&id), Status::Pending);

    let question = QuestionId::new("q-abcd2345").unwrap();
    let by = Actor::User(ralph_core::AgentId::new("x").unwrap());
    world.store().ask(question.clone(), &id, "Which one?", &by, clock::now()).unwrap();
    let answer = UserAction::Answer { question, text: "The old one.".to_owned() };
    assert!(board.perform(&answer).unwrap().contains("is open again"));

    let told = UserAction::Tell { task: id.clone(), text: "Be quick.".to_owned() };
    assert!(board.perform(&told).unwrap().contains("no run is active"));
    board.perform(&UserAction::Delete { task: id.clone() }).unwrap();
    assert!(board.tasks().unwrap().is_empty());
}

#[test]
fn a_refusal_has_the_hints_of_the_command() {
    let world = World::new();
    let mut board = world.ports.board();
    let id = world.add("Write the parser");
    for action in [UserAction::Pause, UserAction::Cancel { after: Cancel::Now }] {
        let refused = board.perform(&action).unwrap_err();
        assert_eq!(refused.message, "no run is active in this worktree");
        assert_eq!(refused.hints, ["start one: ralph build"]);
        assert!(!refused.missing);
    }
    let unknown = TaskId::new("t-zzzz2345").unwrap();
    assert!(board.task(&unknown).unwrap_err().missing);
    let approve = UserAction::Approve { task: id };
    assert!(board.perform(&approve).unwrap_err().hints[0].contains("ralph approve"));
    let run = RunId::new("r-aaaa2345").unwrap();
    assert!(world.ports.run(&run).err().unwrap().missing);
}

#[test]
fn the_version_changes_with_every_change_and_otherwise_never() {
    let world = World::new();
    let mut board = world.ports.board();
    assert_eq!(board.version().unwrap(), 0);
    let id = world.add("One");
    let mut seen = vec![0, board.version().unwrap()];
    assert_eq!(board.version().unwrap(), seen[1]);
    world.add("Two");
    seen.push(board.version().unwrap());
    board.perform(&UserAction::Delete { task: id }).unwrap();
    seen.push(board.version().unwrap());
    std::fs::remove_dir_all(world.folder.path().join(".ralph")).unwrap();
    assert_eq!(board.version().unwrap(), 0);
    world.add("Three");
    seen.push(board.version().unwrap());
    let mut unique = seen.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), seen.len(), "{seen:?}");
}

/// A display stays open for hours, and others must be able to write meanwhile.
#[test]
fn an_open_board_keeps_no_lock() {
    let world = World::new();
    world.add("One");
    let mut board = world.ports.board();
    board.version().unwrap();
    assert_eq!(board.tasks().unwrap().len(), 1);
    let path = world.folder.path().join(".ralph/progress.db");
    let other = rusqlite::Connection::open(path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let busy: i64 =
        other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0);
}

#[test]
fn answers_are_those_of_the_commands() {
    let world = World::new();
    let first = world.add("One");
    let mut board = world.ports.board();
    let task = board.task(&first).unwrap();
    assert_eq!(task["id"], first.as_str());
    for key in ["log", "attempts", "evidence", "questions", "blockers", "dependents"] {
        assert!(task.get(key).is_some(), "{key}: {task}");
    }
    assert_eq!(board.status().unwrap().counts.open, 1);
    assert!(board.runs().unwrap().is_empty());
    assert!(board.report().unwrap().is_empty());
    let folder = world.folder.path();
    std::fs::write(folder.join("one.txt"), "the work\n").unwrap();
    git(folder, &["add", "one.txt"]).unwrap();
    git(folder, &["commit", "-q", "-m", &format!("one\n\nTask: {first} One")]).unwrap();
    assert!(board.diff(&first).unwrap().contains("\n+the work\n"));
}
