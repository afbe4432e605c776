//! Templates that work, and templates that do not.

use proptest::prelude::*;
use ralph_core::TaskId;
use ralph_core::attempt::context::{AssignedTask, Skill};
use ralph_core::attempt::prompt::{DEFAULT_BUDGET, LEARNING, built_in};

use super::*;
use ralph_core::attempt::prompt::SIGNALS;

fn context() -> AttemptContext {
    AttemptContext {
        task: Some(AssignedTask {
            id: TaskId::new("t-1").unwrap(),
            title: "Add {{ braces }} & <tags>".into(),
            description: "{% not a tag %}".into(),
            steps: vec![],
            category: None,
            spec: None,
            reference: None,
        }),
        skills: vec![Skill { name: "s".into(), description: "d".into() }],
        learn: true,
        ..AttemptContext::default()
    }
}

fn render(text: &str) -> Result<Prompt, TemplateError> {
    let context = context();
    Template::new("PROMPT_build.md", text)?
        .render(&Variables::of(&context), Parts::of(&context, DEFAULT_BUDGET))
}

/// What the template alone gives, without the parts that follow it.
fn alone(text: &str) -> String {
    let all = "{# {{ #}{% if false %}{{ signals }}{{ skills }}{{ learning }}{{ task }}{% endif %}";
    render(&format!("{text}{all}")).unwrap().system
}

fn fault(text: &str) -> TemplateFault {
    match render(text) {
        Err(TemplateError::Fault(fault)) => *fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_template_of_init_says_what_the_built_in_says() {
    for context in [context(), AttemptContext::default()] {
        let parts = Parts::of(&context, DEFAULT_BUDGET);
        let template = Template::new("PROMPT_build.md", InitFile::Build.text()).unwrap();
        let prompt = template.render(&Variables::of(&context), parts).unwrap();
        assert_eq!(prompt, built_in(&context, DEFAULT_BUDGET));
    }
}

#[test]
fn the_comment_of_the_template_of_init_names_every_variable() {
    let (comment, _) = InitFile::Build.text().split_once("-#}").unwrap();
    let words: Vec<&str> =
        comment.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    for name in VARIABLES {
        assert!(words.contains(&name), "{name}");
    }
}

#[test]
fn variables_have_their_values() {
    assert_eq!(
        alone("{{ task_id }}|{{ mode }}|{{ specs_dir }}|{{ iteration }}"),
        "t-1|build|specs|1"
    );
    assert_eq!(alone("{{ task_title }}"), "Add {{ braces }} & <tags>", "values are not templates");
    assert_eq!(alone("{{ rules }}"), RULES);
    assert_eq!(alone("{% if feature %}a{% else %}b{% endif %}"), "b");
    for name in VARIABLES {
        alone(&format!("{{{{ {name} }}}}"));
    }
}

#[test]
fn a_file_without_variables_is_followed_by_the_other_parts() {
    let prompt = render("Do it well.\n").unwrap();
    assert!(prompt.system.starts_with(&format!("Do it well.\n\n{SIGNALS}\n\n## Available skills")));
    assert!(prompt.system.ends_with(LEARNING));
    assert!(prompt.task.starts_with("## Assigned task"));
}

#[test]
fn what_the_template_places_is_not_repeated() {
    let prompt = render("A\n{{ task }}\nB\n{{ signals }}\nC").unwrap();
    assert_eq!(prompt.system.matches("## Assigned task").count(), 1);
    assert_eq!(prompt.system.matches("## Signals").count(), 1);
    assert!(prompt.system.find("C\n\n## Available skills").is_some());
    assert_eq!(prompt.task, "");
    assert_eq!(prompt.task_file(), "Follow your instructions.");
}

#[test]
fn literal_braces_are_written_as_jinja_does() {
    assert_eq!(alone("{% raw %}${{ secrets.X }}{% endraw %}"), "${{ secrets.X }}");
    assert_eq!(alone("{{ '{{' }} {% raw %}{%{% endraw %}"), "{{ {%");
    assert_eq!(alone("{ x } %}"), "{ x } %}");
}

#[test]
fn a_file_called_html_is_not_escaped() {
    let context = context();
    let template = Template::new("prompt.html", "{{ task_title }}").unwrap();
    let prompt = template.render(&Variables::of(&context), Parts::of(&context, 100)).unwrap();
    assert!(prompt.system.starts_with("Add {{ braces }} & <tags>\n"));
}

#[test]
fn an_unknown_variable_is_shown_in_its_place() {
    let fault = fault("# Build\n\n設計 of {{ tesk_id }} now\n");
    assert_eq!((fault.line, fault.column), (3, 10));
    let shown = "there is no variable tesk_id\n \
                 --> PROMPT_build.md:3:10\n  \
                 |\n\
                 3 | 設計 of {{ tesk_id }} now\n  \
                 |            ^^^^^^^ did you mean task_id?";
    assert_eq!(fault.to_string(), shown);
}

#[test]
fn an_unknown_variable_in_a_condition_is_an_error_too() {
    let fault = fault("{% if whatever %}x{% endif %}");
    assert_eq!((fault.line, fault.column), (1, 7));
    assert!(fault.message.contains("whatever"), "{fault}");
    assert!(fault.hint.unwrap().contains("task_title"));
}

#[test]
fn a_syntax_error_is_shown_in_its_place() {
    let fault = fault("a\n\tb {{ task_id + }} c\n");
    assert_eq!(fault.line, 2);
    assert!(fault.message.starts_with("syntax error"), "{fault}");
    assert!(fault.hint.clone().unwrap().contains("{% raw %}"));
    assert!(
        fault
            .to_string()
            .contains("\n2 |  b {{ task_id + }} c\n  |                 ^^ for literal"),
        "{fault}"
    );
    assert!(Template::new("x", "{% include 'y' %}").is_err(), "a template reads no files");
    assert!(Template::new("x", "{% endif %}").is_err());
}

#[test]
fn a_file_is_loaded_and_a_missing_one_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("PROMPT_build.md");
    assert_eq!(Template::load(folder.path(), &path).unwrap(), None);
    std::fs::write(&path, "\u{feff}{{ mode }}\r\n").unwrap();
    let template = Template::load(folder.path(), &path).unwrap().unwrap();
    assert_eq!(template.path(), Some(path.as_path()));
    let prompt = template.render(&Variables::of(&context()), Parts::of(&context(), 9)).unwrap();
    assert!(prompt.system.starts_with("build\n\n## Signals"), "{}", prompt.system);
    std::fs::write(&path, b"a\nb\n\xff\n").unwrap();
    let error = Template::load(folder.path(), &path).unwrap_err();
    assert!(error.to_string().ends_with("PROMPT_build.md:3 is not UTF-8 text"), "{error}");
    let error = Template::load(folder.path(), folder.path()).unwrap_err();
    assert!(matches!(error, TemplateError::Unreadable { .. }), "{error}");
}

#[test]
fn a_template_that_would_take_all_memory_is_refused_by_name() {
    let doubled = "{% set x = x ~ x %}".repeat(40);
    for (text, why) in [
        (
            "{% for i in range(99999) %}{% for j in range(99999) %}xxxxxxxxxxxxxxxx{% endfor %}{% endfor %}",
            "10000 steps",
        ),
        (&format!("{{% for i in range(5000) %}}{}{{% endfor %}}", "x".repeat(10_000)), "4 MiB"),
        (&format!("{{% set x = 'a' %}}{doubled}"), "a plain value"),
        ("{% set x %}{{ rules }}{{ rules }}{% endset %}", "{% set %} without"),
        ("{% with x = [rules, rules] %}{{ x }}{% endwith %}", "a plain value"),
        ("{% filter upper %}{{ rules }}{% endfilter %}", "{% filter %}"),
        ("{% for i in [1] recursive %}{{ loop([1, 1]) }}{% endfor %}", "recursive loop"),
        ("{{ 'a' * 100000 }}", "multiply"),
        ("{% set n = namespace(x='a') %}", "a plain value"),
        ("{{ rules | replace('', rules) | replace('', rules) }}", "4 MiB"),
        ("{{ rules | indent(10000000) }}", "4 MiB"),
        ("{{ [rules, rules] | join(rules) }}", "join"),
    ] {
        let error = render(text).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("PROMPT_build.md:"), "{text:.80}: {error}");
    }
}

#[test]
fn a_template_still_loops_sets_replaces_and_indents() {
    let text = "{% set first = iteration == 1 %}{% if first %}{% for n in range(3) %}{{ n }}{% endfor %}\
                {% endif %} {{ 'a-b' | replace('-', '+') ~ '!' }} {{ 'x\ny' | indent(2) }}\
                {% raw %}{% set x = x ~ x %} 2 * 3{% endraw %} 2 * 3";
    let output = alone(text);
    assert!(output.starts_with("012 a+b! x\n  y{% set x = x ~ x %} 2 * 3 2 * 3"), "{output}");
}

#[test]
fn a_prompt_is_a_regular_file_of_bounded_size_outside_of_git() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join(".git/config"), "url = https://token@host").unwrap();
    std::fs::write(root.join("long.md"), "x".repeat(2 << 20)).unwrap();
    std::os::unix::fs::symlink(".git/config", root.join("link.md")).unwrap();
    for (path, why) in [
        (".git/config", "it is in .git"),
        ("link.md", "symbolic link to .git/config"),
        ("long.md", "larger than 1 MiB"),
        ("../elsewhere.md", "outside the repository"),
    ] {
        let error = Template::load(root, Path::new(path)).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains(path), "{path}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_renders_or_names_its_fault(
        text in prop_oneof![
            any::<String>(),
            "(\\{\\{|\\}\\}|\\{%|%\\}|#\\}|\\{#| |\n|é|\t|task|if|'|\\(|[a-z.|]){0,30}",
        ]
    ) {
        if let Err(error) = render(&text) {
            prop_assert!(error.to_string().contains("PROMPT_build.md:"), "{error}");
        }
    }
}
