//! opencode, which takes half a minute for a session on a busy machine: one test.

use super::*;

#[test]
fn a_task_is_done_and_judged() {
    let Some(env) = playing(AgentKind::Opencode, Script::new().session(session("hello"))) else {
        return;
    };
    let output = output_of(build(&env, &["--once"]), 0);
    has(&output, "✓ done     a");
    assert_eq!(outcomes(&env), ["done"]);
    assert_eq!(env.git(&["show", "HEAD:hello.txt"]), "hello\n");
    assert_eq!(env.server().unscripted(), 0);
    assert_eq!(processes(&env), [""; 0]);
}
