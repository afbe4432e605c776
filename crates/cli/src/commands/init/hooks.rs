//! Adds ralph's hooks to the JSON file in which an agent looks for hooks, and leaves every other byte as it is.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::value::RawValue;

/// The events and what `ralph hook` calls them.
type Events = [(&'static str, &'static str)];

/// The command of a hook. Outside of ralph's sessions it starts nothing, so the user's own sessions
/// and machines without ralph are not affected, and it never fails the session. The agent gets ralph's
/// output.
fn command(event: &str) -> String {
    format!("[ -z \"$RALPH_AGENT_ID\" ] || ralph hook {event} || true")
}

/// The settings with a hook for each event, or `None` if they are already there. A hook that calls ralph with
/// another command stays, unless `refresh`.
pub(crate) fn with_hooks(
    text: Option<&str>,
    events: &Events,
    refresh: bool,
) -> Result<Option<String>, String> {
    let before = text.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
    let mut after = before.to_owned();
    for (event, word) in events {
        if let Some(changed) = with_hook(&after, event, word, refresh)? {
            after = changed;
        }
    }
    Ok((text != Some(after.as_str())).then_some(after))
}

fn with_hook(text: &str, event: &str, word: &str, refresh: bool) -> Result<Option<String>, String> {
    let top = members(text).map_err(|error| format!("it is not a JSON object: {error}"))?;
    let whole = text.len() - text.trim_start().len()..text.trim_end().len();
    let Some(hooks) = top.get("hooks") else {
        let item = member("hooks", '{', &member(event, '[', &group(word), ']'), '}');
        return Ok(Some(inserted(text, &whole, &item, 0)));
    };
    let inside = members(hooks.get()).map_err(|_| "its \"hooks\" are not an object".to_owned())?;
    let Some(list) = inside.get(event) else {
        let item = member(event, '[', &group(word), ']');
        return Ok(Some(inserted(text, &span(text, hooks.get()), &item, 1)));
    };
    let groups: Vec<&RawValue> = serde_json::from_str(list.get())
        .map_err(|_| format!("its \"hooks.{event}\" is not a list"))?;
    let wanted = serde_json::Value::from(command(word)).to_string();
    match groups.into_iter().find_map(|group| ours(group.get(), word)) {
        None => Ok(Some(inserted(text, &span(text, list.get()), &group(word), 2))),
        Some(found) if refresh && found != wanted => {
            let place = span(text, found);
            let mut text = text.to_owned();
            text.replace_range(place, &wanted);
            Ok(Some(text))
        }
        Some(_) => Ok(None),
    }
}

/// The settings without ralph's hooks; `None` if there are none, or if the text cannot be read. Lists and
/// objects that are empty without them are removed too.
pub(crate) fn without_hooks(text: &str, events: &Events) -> Option<String> {
    let mut text = text.to_owned();
    let mut changed = false;
    for (event, word) in events {
        while let Some(shorter) = without_hook(&text, event, word) {
            text = shorter;
            changed = true;
        }
    }
    changed.then_some(text)
}

fn without_hook(text: &str, event: &str, word: &str) -> Option<String> {
    let top = members(text).ok()?;
    let hooks = members(top.get("hooks")?.get()).ok()?;
    let list = hooks.get(event)?;
    let groups: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
    let wanted = serde_json::Value::from(command(word)).to_string();
    let is_ours = |group: &&RawValue| ours(group.get(), word) == Some(wanted.as_str());
    let at = groups.iter().position(is_ours)?;
    if groups.len() > 1 {
        return Some(without(text, &span(text, groups[at].get())));
    }
    match hooks.len() {
        1 if top.len() == 1 => Some("{}\n".to_owned()),
        1 => Some(without(text, &place(&top, text, "hooks")?)),
        _ => Some(without(text, &place(&hooks, text, event)?)),
    }
}

/// `text` without the item at `place`, the blanks before it, and the comma that divided it from the others.
fn without(text: &str, place: &Range<usize>) -> String {
    let before = text[..place.start].trim_end();
    if let Some(before) = before.strip_suffix(',') {
        return format!("{before}{}", &text[place.end..]);
    }
    let after = &text[place.end..];
    let after = after.trim_start().strip_prefix(',').unwrap_or(after);
    format!("{before}{after}")
}

/// The command in this group of hooks that calls ralph, as it is written.
fn ours<'a>(group: &'a str, word: &str) -> Option<&'a str> {
    let hooks = *members(group).ok()?.get("hooks")?;
    let hooks: Vec<&RawValue> = serde_json::from_str(hooks.get()).ok()?;
    hooks.into_iter().find_map(|hook| {
        let written = members(hook.get()).ok()?.get("command")?.get();
        let command: String = serde_json::from_str(written).ok()?;
        command.contains(&format!("ralph hook {word}")).then_some(written)
    })
}

/// Lines of JSON to insert, each with its depth.
type Lines = Vec<(usize, String)>;

fn group(word: &str) -> Lines {
    let command = serde_json::Value::from(command(word));
    // Without its own timeout a hook at the end of a session may be killed early.
    let fields = [
        "\"type\": \"command\",".to_owned(),
        format!("\"command\": {command},"),
        "\"timeout\": 30".to_owned(),
    ];
    let hook = wrapped("{", fields.into_iter().map(|field| (0, field)).collect(), "}");
    wrapped("{", wrapped("\"hooks\": [", hook, "]"), "}")
}

fn member(name: &str, open: char, inside: &Lines, close: char) -> Lines {
    wrapped(&format!("\"{name}\": {open}"), inside.clone(), &close.to_string())
}

fn wrapped(open: &str, inside: Lines, close: &str) -> Lines {
    let mut lines = vec![(0, open.to_owned())];
    lines.extend(inside.into_iter().map(|(depth, line)| (depth + 1, line)));
    lines.push((0, close.to_owned()));
    lines
}

/// `text` with `lines` as the last item of the object or list at `place`, which lies `depth` deep.
fn inserted(text: &str, place: &Range<usize>, lines: &Lines, depth: usize) -> String {
    let unit = text
        .lines()
        .map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()])
        .find(|indent| !indent.is_empty())
        .unwrap_or("  ");
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let close = place.end - 1;
    let last = text[..close].trim_end().len();
    let is_empty = last == place.start + 1;
    let mut item = String::from(if is_empty { "" } else { "," });
    for (deeper, line) in lines {
        item.push_str(end);
        item.push_str(&unit.repeat(depth + 1 + deeper));
        item.push_str(line);
    }
    let gap = &text[last..close];
    let gap =
        if gap.contains('\n') { gap.to_owned() } else { format!("{end}{}", unit.repeat(depth)) };
    format!("{}{item}{gap}{}", &text[..last], &text[close..])
}

/// Where `part`, which was read from `whole`, lies in it.
fn span(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}

/// The members of an object, each value as it is written. Of several with the same name the last one counts, as
/// everywhere.
type Members<'a> = BTreeMap<String, &'a RawValue>;

fn members(text: &str) -> serde_json::Result<Members<'_>> {
    serde_json::from_str(text)
}

/// Where a member lies in the whole text, with its name.
fn place(members: &Members<'_>, whole: &str, name: &str) -> Option<Range<usize>> {
    let value = span(whole, members.get(name)?.get());
    let quoted = serde_json::Value::from(name).to_string();
    let start = whole[..value.start].rfind(&quoted)?;
    Some(start..value.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &Events = &[("SessionEnd", "session-end"), ("PreCompact", "pre-compact")];
    use serde_json::{Value, json};

    fn read(text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn added(text: &str) -> String {
        let after = with_hooks(Some(text), EVENTS, false).unwrap().unwrap();
        assert_eq!(with_hooks(Some(&after), EVENTS, false), Ok(None), "twice: {after}");
        assert_eq!(with_hooks(Some(&after), EVENTS, true), Ok(None), "twice, by force: {after}");
        after
    }

    fn hook(event: &str) -> Value {
        json!({"hooks": [{"type": "command", "command": command(event), "timeout": 30}]})
    }

    #[test]
    fn a_new_file_has_both_hooks_and_nothing_else() {
        let both = json!({"hooks": {
            "SessionEnd": [hook("session-end")], "PreCompact": [hook("pre-compact")],
        }});
        for text in [None, Some(""), Some(" \n"), Some("{}"), Some("{ }\n")] {
            let after = with_hooks(text, EVENTS, false).unwrap().unwrap();
            assert_eq!(read(&after), both, "{text:?}");
        }
        let pretty = with_hooks(None, EVENTS, false).unwrap().unwrap();
        assert!(pretty.starts_with("{\n  \"hooks\": {\n    \"SessionEnd\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n"), "{pretty}");
        assert!(pretty.ends_with("      }\n    ]\n  }\n}\n"), "{pretty}");
    }

    #[test]
    fn every_byte_of_the_user_stays_in_its_place() {
        for before in [
            "{\n\t\"z\": 1.50e1,\n\t\"a\": [ 1,2 ],\n\t\"env\": {\"A\": \"\\u00e9 é\"}\n}\n",
            r#"{"permissions":{"allow":["Bash(ls:*)"]},"hooks":{"Stop":[{"hooks":[]}]}}"#,
            "{\r\n    \"hooks\": {\r\n        \"SessionEnd\": [\r\n        ]\r\n    }\r\n}",
            "{\"hooks\": {}, \"big\": 123456789012345678901234567890}",
            "{\"hooks\":{\"SessionEnd\":[{\"matcher\":\"clear\",\"hooks\":[{\"type\":\"command\",\"command\":\"./mine\"}]}]}}",
            "{\"hooks\": {\"Stop\": []}, \"hooks\": {\"PreCompact\": []}}",
            "{\"hooks\":{\"SessionEnd\":[\"odd\",{\"hooks\":3},{\"hooks\":[7,{\"command\":5}]}]}}",
        ] {
            let after = added(before);
            let mut rest = after.as_str();
            // What was there is still there, in order; only whitespace before a bracket may grow.
            for letter in before.chars().filter(|letter| !letter.is_whitespace()) {
                let at =
                    rest.find(letter).unwrap_or_else(|| panic!("{letter} of {before}\n{after}"));
                rest = &rest[at + letter.len_utf8()..];
            }
            let (mut was, mut is) = (read(before), read(&after));
            for event in ["SessionEnd", "PreCompact"] {
                let list = is["hooks"][event].as_array_mut().unwrap();
                assert!(
                    list.pop().unwrap()["hooks"][0]["command"].as_str().unwrap().contains("ralph")
                );
                if was["hooks"][event].is_null() {
                    assert!(list.is_empty());
                    is["hooks"].as_object_mut().unwrap().remove(event);
                }
            }
            if was["hooks"].is_null() {
                was["hooks"] = json!({});
            }
            assert_eq!(was, is, "{after}");
        }
        assert!(added("{\n\t\"a\": 1\n}\n").contains("\n\t\t\"SessionEnd\": [\n\t\t\t{\n"));
        assert!(!added("{\r\n  \"a\": 1\r\n}").replace("\r\n", "").contains('\n'));
    }

    #[test]
    fn a_hook_in_other_words_is_kept_and_refreshed_by_force() {
        let before = added("{}").replace("[ -z ", "[ -n \\\"\\\" -o -z ");
        assert_eq!(with_hooks(Some(&before), EVENTS, false), Ok(None));
        let after = with_hooks(Some(&before), EVENTS, true).unwrap().unwrap();
        assert_eq!(after, added("{}"));
    }

    #[test]
    fn what_cannot_be_understood_is_refused_with_its_name() {
        for (text, word) in [
            ("nonsense", "not a JSON object"),
            ("[]", "not a JSON object"),
            ("null", "not a JSON object"),
            ("{\"a\": 1,}", "line 1 column 9"),
            ("// comment\n{}", "not a JSON object"),
            ("{\"a\": \"\\x\"}", "not a JSON object"),
            ("\u{feff}{}", "not a JSON object"),
            ("{} {}", "not a JSON object"),
            ("{\"hooks\": []}", "\"hooks\" are not an object"),
            ("{\"hooks\": null}", "\"hooks\" are not an object"),
            ("{\"hooks\": {\"PreCompact\": {}}}", "\"hooks.PreCompact\" is not a list"),
        ] {
            let output = with_hooks(Some(text), EVENTS, true).unwrap_err();
            assert!(output.contains(word), "{text}: {output}");
        }
        let deep = "[".repeat(100_000);
        assert!(with_hooks(Some(&deep), EVENTS, false).is_err());
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(with_hooks(Some(&deep), EVENTS, false).unwrap().unwrap().contains("ralph hook"));
    }
}
