//! Signals and a box: the agent hears what is meant for it, and nothing of a box outlives its run.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::{send_signal, times, wait_until};

use crate::world::{PATIENCE, Who, World, has_boxes, processes};

/// An agent that ignores what it can, with a grandchild in a session of its own that does the same.
const STUBBORN: &str = "trap '' INT TERM HUP\n\
                        setsid bash -c \"trap '' INT TERM HUP; exec sleep 600.NUMBER\" &\n\
                        touch ready.txt\nwait\nsleep 600.NUMBER\n";

fn stubborn(world: &World) {
    world.aim("");
    world.set_agent(&STUBBORN.replace("NUMBER", &world.number));
}

/// A run that does not go on when its test has failed.
struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(world: &World) -> Run {
    let _ = fs::remove_file(world.repo("ready.txt"));
    let output = fs::File::create(world.path("said.txt")).unwrap();
    let mut command = world.command(&["build", "--task", "mine"]);
    command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
    let run = Run(command.spawn().unwrap());
    wait_until("the session is ready", PATIENCE, || world.repo("ready.txt").exists());
    run
}

fn nothing_is_left(world: &World) {
    let inside = world.repo("");
    let inside = inside.display().to_string();
    wait_until("nothing of the box is left", PATIENCE, || {
        let sandboxes = processes(|line, _| line.contains("bwrap") && line.contains(&inside));
        world.left().is_empty() && sandboxes.is_empty()
    });
}

#[test]
fn a_sandboxed_session_hears_the_second_interrupt_and_may_end_by_itself() {
    if !has_boxes("a boxed session is interrupted") {
        return;
    }
    let world = World::new(Who::Me, "full");
    world.aim("");
    // It does nothing until it hears of it, and then finishes its work.
    world.set_agent(
        "trap 'heard=1' INT\ntouch ready.txt\n\
         until [ \"$heard\" ]; do sleep 0.05; done\ntouch heard.txt\n",
    );
    let mut run = start(&world);
    send_signal("INT", run.0.id());
    wait_until("ralph has taken it in", PATIENCE, || {
        crate::world::all_output(&world).contains("Stopping after this session.")
    });
    assert!(!world.repo("heard.txt").exists(), "the first one is not for the session");
    send_signal("INT", run.0.id());
    wait_until("the session has heard it", PATIENCE, || world.repo("heard.txt").exists());
    let end = run.0.wait().unwrap();
    let output = crate::world::all_output(&world);
    assert_eq!(end.code(), Some(130), "{output}");
    assert!(world.repo("work.txt").exists(), "it finished its work: {output}");
    nothing_is_left(&world);
}

#[test]
fn a_sandboxed_session_that_ignores_everything_is_gone_with_all_that_it_started() {
    if !has_boxes("a boxed session that ignores everything") {
        return;
    }
    let world = World::new(Who::Me, "full");
    stubborn(&world);
    let mut run = start(&world);
    wait_until("its grandchild is there", PATIENCE, || !world.left().is_empty());
    let clock = Instant::now();
    send_signal("TERM", run.0.id());
    let end = run.0.wait().unwrap();
    assert_eq!(end.code(), Some(130), "{}", crate::world::all_output(&world));
    assert!(clock.elapsed() < Duration::from_secs(30), "{:?}", clock.elapsed());
    nothing_is_left(&world);
}

#[test]
fn kill_9_of_a_run_leaves_nothing_of_its_sandbox() {
    if !has_boxes("kill -9 of a run with a box") {
        return;
    }
    let world = World::new(Who::Me, "full");
    stubborn(&world);
    for _ in 0..times(6, 100) {
        let mut run = start(&world);
        wait_until("its grandchild is there", PATIENCE, || !world.left().is_empty());
        send_signal("KILL", run.0.id());
        run.0.wait().unwrap();
        nothing_is_left(&world);
    }
}
