//! The command or link for the user where ralph has no transport to the server.

use ralph_core::forge::{Address, ForgeKind, Route};
use ralph_core::shell::quoted;

use crate::ports::{ForgeError, ManualSteps, PullRequest};
use crate::project::write_privately;

pub(super) fn unknown(address: &Address) -> String {
    format!("ralph does not know what kind of server {} is: see publish.hosts", address.host)
}

/// Leaves the text in its file and says what to do with it. The link that the server itself printed is the best.
pub(super) fn pushed(
    why: String,
    route: Option<&Route>,
    wanted: &PullRequest<'_>,
) -> Result<ManualSteps, ForgeError> {
    let draft = wanted.draft;
    let failed = |error: std::io::Error| ForgeError::Local {
        what: draft.display().to_string(),
        message: error.to_string(),
    };
    write_privately(draft, &(wanted.words.body() + "\n")).map_err(failed)?;
    let (branch, base) = (&wanted.words.branch, wanted.base);
    let page = wanted.link.map(str::to_owned);
    let page = page.or_else(|| route.map(|route| route.new_page(base, branch)));
    let command = route.map(|route| {
        let file = draft.display().to_string();
        let words = route.command(&wanted.words.title(), branch, base, &file);
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        match route.kind {
            ForgeKind::GitHub => words.join(" "),
            // Their programs read no text from a file.
            ForgeKind::GitLab | ForgeKind::Gitea => {
                format!("{} --description \"$(cat {})\"", words.join(" "), quoted(&file))
            }
        }
    });
    Ok(ManualSteps {
        why,
        command: command.unwrap_or_default(),
        page: page.unwrap_or_default(),
        draft: draft.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use ralph_core::forge::Words;

    use super::*;

    fn steps(kind: ForgeKind, link: Option<&str>) -> (ManualSteps, Words) {
        let folder = tempfile::tempdir().unwrap();
        let draft = folder.path().join("drafts/x.md");
        let words = Words {
            branch: "fix/it's".to_owned(),
            goal: "$(touch x); `id`\nnext".to_owned(),
            ..Words::default()
        };
        let wanted = PullRequest { words: &words, base: "main", draft: &draft, link };
        let address = Address::of("git@git.acme.org:o/r").unwrap();
        let route = Route { kind, target: address.clone(), source: address, ids: None };
        let manual = pushed("there is no way".to_owned(), Some(&route), &wanted).unwrap();
        assert_eq!(std::fs::read_to_string(&draft).unwrap(), words.body() + "\n");
        (manual, words)
    }

    #[test]
    fn the_command_is_safe_to_paste() {
        let (manual, _) = steps(ForgeKind::GitHub, None);
        let expected = format!(
            "gh pr create --repo=git.acme.org/o/r --base=main '--head=fix/it'\\''s' \
             '--title=fix/it'\\''s: $(touch x); `id` next' --body-file={}",
            manual.draft.display()
        );
        assert_eq!(manual.command, expected);
        let page = "https://git.acme.org/o/r/compare/main...fix/it%27s?expand=1";
        assert_eq!(manual.page, page);
    }

    #[test]
    fn each_server_gets_its_own_command_and_page() {
        let (lab, _) = steps(ForgeKind::GitLab, None);
        assert!(
            lab.command
                .starts_with("glab mr create --repo=https://git.acme.org/o/r '--source-branch")
        );
        assert!(
            lab.command.ends_with(&format!("--description \"$(cat {})\"", lab.draft.display()))
        );
        assert!(
            lab.page.starts_with("https://git.acme.org/o/r/-/merge_requests/new?"),
            "{}",
            lab.page
        );
        let (tea, _) = steps(ForgeKind::Gitea, Some("https://git.acme.org/o/r/compare/main...x"));
        assert!(tea.command.starts_with("tea pulls create --repo=o/r "), "{}", tea.command);
        assert_eq!(tea.page, "https://git.acme.org/o/r/compare/main...x", "the server's own link");
    }
}
