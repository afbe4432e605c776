//! What a person can type where ralph has no way to the server.

use ralph_core::forge::Address;

use crate::ports::{ByHand, ForgeError, PullRequest};
use crate::project::write_privately;

/// Leaves the text in its file and says what to do with it.
pub(super) fn by_hand(
    why: String,
    address: &Address,
    wanted: &PullRequest<'_>,
) -> Result<ByHand, ForgeError> {
    let draft = wanted.draft;
    let failed = |error: std::io::Error| ForgeError::Local {
        what: draft.display().to_string(),
        said: error.to_string(),
    };
    write_privately(draft, &(wanted.words.body() + "\n")).map_err(failed)?;
    let repo = match address.host.as_str() {
        "github.com" => address.to_string(),
        host => format!("{host}/{address}"),
    };
    let branch = &wanted.words.branch;
    let words = [
        format!("--repo={repo}"),
        format!("--base={}", wanted.base),
        format!("--head={branch}"),
        format!("--title={}", wanted.words.title()),
        format!("--body-file={}", draft.display()),
    ];
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    Ok(ByHand {
        why,
        command: format!("gh pr create {}", words.join(" ")),
        page: address.compare_page(wanted.base, branch),
        draft: draft.to_owned(),
    })
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::forge::Words;

    use super::*;

    #[test]
    fn the_command_is_safe_to_paste() {
        let folder = tempfile::tempdir().unwrap();
        let draft = folder.path().join("drafts/x.md");
        let words = Words {
            branch: "fix/it's".to_owned(),
            goal: "$(touch x); `id`\nnext".to_owned(),
            ..Words::default()
        };
        let wanted = PullRequest { words: &words, base: "main", draft: &draft };
        let address = Address::of("git@git.acme.org:o/r").unwrap();
        let hand = by_hand("there is no way".to_owned(), &address, &wanted).unwrap();
        let expected = format!(
            "gh pr create --repo=git.acme.org/o/r --base=main '--head=fix/it'\\''s' \
             '--title=fix/it'\\''s: $(touch x); `id` next' --body-file={}",
            draft.display()
        );
        assert_eq!(hand.command, expected);
        let page = "https://git.acme.org/o/r/compare/main...fix/it%27s?expand=1";
        assert_eq!(hand.page, page);
        assert_eq!(std::fs::read_to_string(&draft).unwrap(), words.body() + "\n");
    }
}
