//! Templates of ralph 0.1: as they were written, edited, and rewritten by the user.

use proptest::prelude::*;
use ralph_core::attempt::AttemptContext;
use ralph_core::attempt::prompt::{DEFAULT_BUDGET, Parts};

use super::*;
use crate::prompts::{CHECKLIST_TEMPLATE, Variables};

const LAST: &str = "writes a note that later sessions are shown.\n";

fn template(text: &str) -> Template {
    Template::new("PROMPT_build.md", text).unwrap()
}

fn build(text: &str) -> OldRules {
    template(text).old_rules(InitFile::Build)
}

/// What an edited template of 0.1 says where these are the rules.
fn rendered(text: &str, rules: &str) -> String {
    let OldRules::Edited(edited) = build(text) else { panic!("{:?}", build(text)) };
    let context = AttemptContext::default();
    let variables = Variables { rules: rules.to_owned(), ..Variables::of(&context) };
    let parts = Parts::of(&context, DEFAULT_BUDGET).with_signals("");
    edited.render(&variables, parts).unwrap().system
}

/// The lines that say something.
fn nonempty_lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::to_owned);
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn a_file_as_0_1_wrote_it_holds_its_rules_alone() {
    assert_eq!(build(BUILD_0_1), OldRules::Alone);
    assert_eq!(template(PLAN_0_1).old_rules(InitFile::Plan), OldRules::Alone);
    assert_eq!(build(&BUILD_0_1.replace('\n', "\r\n")), OldRules::Alone);
    assert_eq!(build(&format!("\u{feff}{RULES}")), OldRules::Alone, "without its comment");
    let comment = BUILD_0_1.replace("Change them as you like.", "Changed in May.");
    assert_eq!(build(&comment), OldRules::Alone, "a comment says nothing");
}

#[test]
fn lines_that_the_user_added_stay_and_the_rules_of_the_preset_replace_the_old_ones() {
    let rules = "RULES\nof the preset";
    for (before, after, expected) in [
        (LAST, format!("{LAST}Never touch vendor/.\n"), "RULES|of the preset|Never touch vendor/."),
        (
            LAST,
            format!("{LAST}\n\n## House\n\nBe kind.\n"),
            "RULES|of the preset|## House|Be kind.",
        ),
        ("# Core", "Read this first.\n\n# Core".into(), "Read this first.|RULES|of the preset"),
        ("3. Finish", "3. Be kind.\n4. Finish".into(), "RULES|of the preset|3. Be kind."),
        ("   it is missing.", "   it is missing.\n   Ever.".into(), "RULES|of the preset|   Ever."),
        ("# Core", "{% if mode %}\n# Core".into(), "RULES|of the preset"),
    ] {
        let mut text = BUILD_0_1.replacen(before, &after, 1);
        assert_ne!(text, BUILD_0_1, "{before}");
        if after.contains("{% if") {
            text.push_str("{% endif %}\n");
        }
        assert_eq!(nonempty_lines(&rendered(&text, rules)).join("|"), expected);
    }
}

#[test]
fn an_item_that_was_added_may_have_renumbered_the_others() {
    let mut text = BUILD_0_1.replace("3. Finish", "3. Be kind.\n4. Finish");
    for (old, new) in [("4. Run", "5. Run"), ("5. Commit", "6. Commit"), ("6. End", "7. End")] {
        text = text.replace(old, new);
    }
    assert_eq!(nonempty_lines(&rendered(&text, "RULES")), ["RULES", "3. Be kind."]);
}

#[test]
fn a_rule_that_the_user_changed_stays_whole() {
    let text = BUILD_0_1.replace("linters and type checks of the project", "and `make lint`");
    let expected = [
        "RULES",
        "4. Run the tests, and `make lint`, and repair what you broke. `AGENTS.md`",
        "   says how, where there is one.",
    ];
    assert_eq!(nonempty_lines(&rendered(&text, "RULES")), expected);
}

#[test]
fn a_rule_that_the_user_removed_leaves_the_others_recognized() {
    let text = BUILD_0_1.replace("5. Commit, with a message that says what changed and why.\n", "");
    assert_eq!(nonempty_lines(&rendered(&text, "RULES")), ["RULES"]);
}

#[test]
fn rules_that_the_user_already_placed_are_not_doubled() {
    let text = format!("{BUILD_0_1}\nAnd again:\n{{{{ rules }}}}\n");
    assert_eq!(nonempty_lines(&rendered(&text, "RULES")), ["And again:", "RULES"]);
}

#[test]
fn a_template_of_the_users_own_stays_untouched() {
    for text in [
        "Do it well.\n",
        "",
        "Nobody watches this session and nobody can answer during it.\n",
        InitFile::Build.text(),
        CHECKLIST_TEMPLATE,
        "# Core instructions\n\n2. Search the code base before you write. Neither take for granted that \
         something is there nor that\n   it is missing.\n\nThe rest is mine.\n",
    ] {
        assert_eq!(build(text), OldRules::Absent, "{text}");
    }
    // The old text is a quotation here.
    let body = InitFile::Build.old_rules()[0];
    assert_eq!(build(&format!("{{#\n{body}#}}\nMine.\n")), OldRules::Absent);
    assert_eq!(build(&format!("{{%- raw %}}\n{body}{{% endraw %}}\nMine.\n")), OldRules::Absent);
}

#[test]
fn a_fault_in_an_edited_template_is_shown_on_its_line() {
    let text = format!("{BUILD_0_1}\nDo {{{{ tesk_id }}}} now.\n");
    let line = text.lines().position(|line| line.contains("tesk_id")).unwrap() + 1;
    let OldRules::Edited(edited) = build(&text) else { panic!() };
    let context = AttemptContext::default();
    let error = edited.render(&Variables::of(&context), Parts::of(&context, 100)).unwrap_err();
    assert!(error.to_string().contains(&format!("PROMPT_build.md:{line}:7")), "{error}");
}

#[test]
fn init_writes_rules_and_nothing_else() {
    for file in [InitFile::Build, InitFile::Plan] {
        let context = AttemptContext::default();
        let variables = Variables { rules: "RULES".to_owned(), ..Variables::of(&context) };
        let parts = Parts::of(&context, 100).with_signals("");
        let prompt = template(file.text()).render(&variables, parts).unwrap();
        assert_eq!(prompt.system, "RULES");
        assert!(file.wrote(file.text()) && !file.wrote("mine"));
    }
    assert!(InitFile::Build.wrote(BUILD_0_1) && InitFile::Plan.wrote(PLAN_0_1));
    assert!(InitFile::Build.had(RULES) && InitFile::Plan.had(PLAN_TEMPLATE));
    assert!(!InitFile::Build.had(CHECKLIST_TEMPLATE));
}

proptest! {
    /// Whatever lines are added wherever: they are there, in their order, and no old rule is.
    #[test]
    fn added_lines_survive_in_order(
        added in proptest::collection::vec((0_usize..40, "[A-Z][a-z ]{0,8}[a-z]"), 1..8),
    ) {
        let mut added = added;
        added.sort_by_key(|(at, _)| *at);
        let body = InitFile::Build.old_rules()[0];
        let mut lines: Vec<String> = body.lines().map(str::to_owned).collect();
        for (at, line) in added.iter().rev() {
            lines.insert((*at).min(lines.len()), format!("Mine: {line}"));
        }
        let text = rendered(&lines.join("\n"), "RULES");
        let mine: Vec<String> =
            nonempty_lines(&text).into_iter().filter(|line| line != "RULES").collect();
        let expected: Vec<String> = lines.into_iter().filter(|line| line.starts_with("Mine")).collect();
        prop_assert_eq!(mine, expected);
    }

    #[test]
    fn any_text_is_looked_through(
        text in "(\\{\\{|\\}\\}|\\{%|%\\}|#\\}|\\{#|raw|endraw| |\n|é|6\\. End|# Core instructions\n){0,30}",
    ) {
        if let Ok(template) = Template::new("x", text) {
            prop_assert_eq!(template.old_rules(InitFile::Build), OldRules::Absent);
        }
    }
}
