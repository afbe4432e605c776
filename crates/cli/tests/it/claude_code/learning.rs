//! What a session learned is offered to the next one.

use ralph_testkit::model_server::{Script, Turn};

use super::*;

#[test]
fn s1_16_s1_41_claude_is_offered_the_skill_that_the_session_before_it_wrote() {
    let learns = "mkdir -p .ralph/skills/greet && printf -- '---\\ndescription: How to greet\\n---\\n' > \
                  .ralph/skills/greet/SKILL.md";
    let script = Script::new()
        .session([Turn::bash(learns), commits(), Turn::text(DONE)])
        .session([Turn::bash("echo b > b.txt"), Turn::text(DONE)]);
    let Some(env) = playing(script) else { return };
    env.task(&["add", "Again", "--id", "b", "-p", "3"]);
    output_of(env.build(&[]), 0);
    let text: Vec<String> = openings(&env).iter().map(Request::system_text).collect();
    has(&text[0], "## Learning");
    has_not(&text[0], "**greet**");
    has(&text[1], "- **greet**: How to greet");
    env.task(&["add", "Third", "--id", "c"]);
    env.play(Script::new().session([Turn::bash("echo c > c.txt"), Turn::text(DONE)]));
    output_of(env.build(&["--no-learn"]), 0);
    let last = openings(&env).pop().unwrap().system_text();
    has_not(&last, "## Learning");
    has(&last, "- **greet**: How to greet");
}
