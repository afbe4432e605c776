//! The part of a pull request's body that is ralph's, among what people wrote around it.

use super::words::{MAX_BODY, Words};

/// The line above our part. People do not see it.
pub(super) const BEGIN: &str = "<!-- ralph:begin -->";
/// The line below our part.
pub(super) const END: &str = "<!-- ralph:end -->";

/// The longest body that a server takes, with a margin for how it counts.
const MAX_WHOLE: usize = 65_000;
/// What is left for our part in any case.
const MIN_BODY: usize = 2_000;

/// What to do with an existing pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// It has no part of ralph's: people wrote it, and ralph leaves it alone.
    Theirs,
    /// It is up to date.
    Same,
    /// It needs these changes; `None` leaves the field as it is.
    Change {
        title: Option<String>,
        /// The new body, with everything that people wrote in it.
        body: Option<String>,
    },
}

/// Updates an existing pull request. A title that a user gave stays: ralph's begin with the branch.
pub fn merge(words: &Words, title: &str, body: &str) -> Merged {
    let Some((before, old, after)) = parts(body) else {
        return Merged::Theirs;
    };
    let around = before.chars().count() + after.chars().count();
    let room = MAX_WHOLE.saturating_sub(around).clamp(MIN_BODY, MAX_BODY);
    let new = words.body_within(room);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let title = Some(words.title()).filter(|new| words.is_ours(title) && new != title);
    let body = (lines(old) != lines(&new)).then(|| format!("{before}{new}{after}"));
    match (&title, &body) {
        (None, None) => Merged::Same,
        _ => Merged::Change { title, body },
    }
}

/// What is before our part, our part with its marks, and what is after it.
fn parts(body: &str) -> Option<(&str, &str, &str)> {
    let mut begin = None;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let text = line.trim_end();
        match begin {
            None if text == BEGIN => begin = Some(at),
            Some(begin) if text == END => {
                let end = at + text.len();
                return Some((&body[..begin], &body[begin..end], &body[end..]));
            }
            _ => {}
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        Words { branch: "login".to_owned(), goal: "People log in".to_owned(), ..Words::default() }
    }

    fn change(title: &str, body: &str) -> (Option<String>, Option<String>) {
        match merge(&words(), title, body) {
            Merged::Change { title, body } => (title, body),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_users_wrote_around_our_part_stays() {
        let body = format!("Please read me.\r\n\r\n{BEGIN}\r\nold\r\n{END}\r\n\r\ncc @ada\r\n");
        let (title, body) = change("login: People log in", &body);
        let expected = format!("Please read me.\r\n\r\n{}\r\n\r\ncc @ada\r\n", words().body());
        assert_eq!((title, body), (None, Some(expected)));
    }

    #[test]
    fn a_pull_request_of_the_user_is_theirs() {
        for body in ["", "Mine.", END, BEGIN, "about `<!-- ralph:begin -->`\n<!-- ralph:end -->"] {
            assert_eq!(merge(&words(), "login: old", body), Merged::Theirs, "{body}");
        }
    }

    #[test]
    fn nothing_is_written_that_is_there_already() {
        let body = words().body().replace('\n', "\r\n");
        assert_eq!(merge(&words(), "login: People log in", &body), Merged::Same);
        // And a title that a user changed is kept.
        for title in ["Log in, at last", "login page", "loginX: People", ""] {
            assert_eq!(merge(&words(), title, &body), Merged::Same, "{title}");
        }
        assert_eq!(change("login", &body).0.as_deref(), Some("login: People log in"));
        let (title, body) = change("login: an old goal", &body);
        assert_eq!((title.as_deref(), body), (Some("login: People log in"), None));
    }

    #[test]
    fn a_long_text_of_users_makes_ours_shorter() {
        let mut words = words();
        for n in 0..2_000 {
            words.commits.push(super::super::Commit {
                id: format!("{n:040}"),
                subject: "a subject of some length".to_owned(),
            });
        }
        let theirs = "x".repeat(40_000);
        let Merged::Change { body: Some(body), .. } =
            merge(&words, "t", &format!("{theirs}\n{BEGIN}\n{END}\n"))
        else {
            panic!("it changes");
        };
        assert!(body.starts_with(&theirs) && body.chars().count() <= MAX_WHOLE);
        assert!(body.contains("more commits"));
    }
}
