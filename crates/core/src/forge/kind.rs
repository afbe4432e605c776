//! The kinds of servers for pull requests, as rows of data: where their APIs are, which requests they take
//! and how their answers are read. Pure: nothing here sends a request or holds a token.

use std::fmt;

use serde_json::{Map, Value, json};

use super::pull::{Pull, PullState};
use super::remote::{Address, percent};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeKind {
    /// github.com, and GitHub Enterprise.
    GitHub,
    /// gitlab.com, and GitLab on any server.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
}

/// What sets a kind apart.
#[derive(Debug)]
pub struct ForgeRow {
    pub name: &'static str,
    /// What it calls a pull request.
    pub request: &'static str,
    /// The API of a server, below its address.
    pub api: &'static str,
    /// The word before a token in the header `Authorization`.
    pub auth: &'static str,
    /// Headers of every request.
    pub headers: &'static [&'static str],
    /// The variables that hold a token, the first one first.
    pub tokens: &'static [&'static str],
    /// Its best-known server.
    pub home: &'static str,
    /// The ref of the last commit of a pull request, around its number.
    head_ref: (&'static str, &'static str),
    change: &'static str,
    /// How many lists of pull requests are read at most; 1 where the server finds those of a branch itself.
    pub lists: u64,
    sent: Sent,
    read: Read,
}

/// The names in what is sent.
#[derive(Debug)]
struct Sent {
    body: &'static str,
    head: &'static str,
    base: &'static str,
}

/// Where the parts of a pull request are in an answer.
#[derive(Debug)]
struct Read {
    number: &'static str,
    page: &'static str,
    body: &'static str,
    /// The branch; the first that is a branch's name counts.
    branch: &'static [&'static str],
    base: &'static str,
    head: &'static str,
    /// What names the repository of the branch, and that of the base where both are needed.
    source: &'static str,
    target: &'static str,
}

const GITHUB_READ: Read = Read {
    number: "/number",
    page: "/html_url",
    body: "/body",
    branch: &["/head/ref"],
    base: "/base/ref",
    head: "/head/sha",
    source: "/head/repo/full_name",
    target: "/base/repo/full_name",
};

static GITHUB: ForgeRow = ForgeRow {
    name: "GitHub",
    request: "pull request",
    api: "/api/v3",
    auth: "Bearer",
    headers: &["Accept: application/vnd.github+json", "X-GitHub-Api-Version: 2022-11-28"],
    tokens: &["GH_TOKEN", "GITHUB_TOKEN"],
    home: "github.com",
    head_ref: ("refs/pull/", "/head"),
    change: "PATCH",
    lists: 1,
    sent: Sent { body: "body", head: "head", base: "base" },
    read: GITHUB_READ,
};

static GITLAB: ForgeRow = ForgeRow {
    name: "GitLab",
    request: "merge request",
    api: "/api/v4",
    auth: "Bearer",
    headers: &["Accept: application/json"],
    tokens: &["GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN"],
    home: "gitlab.com",
    head_ref: ("refs/merge-requests/", "/head"),
    change: "PUT",
    lists: 1,
    sent: Sent { body: "description", head: "source_branch", base: "target_branch" },
    read: Read {
        number: "/iid",
        page: "/web_url",
        body: "/description",
        branch: &["/source_branch"],
        base: "/target_branch",
        head: "/sha",
        source: "/source_project_id",
        target: "/target_project_id",
    },
};

static GITEA: ForgeRow = ForgeRow {
    name: "Gitea",
    request: "pull request",
    api: "/api/v1",
    auth: "token",
    headers: &["Accept: application/json"],
    tokens: &["GITEA_TOKEN", "FORGEJO_TOKEN"],
    home: "codeberg.org",
    head_ref: ("refs/pull/", "/head"),
    change: "PATCH",
    lists: 20,
    sent: Sent { body: "body", head: "head", base: "base" },
    // Once the branch is deleted, only the label is its name.
    read: Read { branch: &["/head/ref", "/head/label"], ..GITHUB_READ },
};

/// Where the pull requests of a branch are, and where the branch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub kind: ForgeKind,
    /// The repository that pull requests go to.
    pub target: Address,
    /// The repository that branches are pushed to: the same one, or a fork of it.
    pub source: Address,
    /// The numbers of both, where the server identifies repositories by number and they differ.
    pub ids: Option<(u64, u64)>,
}

impl ForgeKind {
    pub const ALL: [Self; 3] = [Self::GitHub, Self::GitLab, Self::Gitea];

    pub const fn row(self) -> &'static ForgeRow {
        match self {
            Self::GitHub => &GITHUB,
            Self::GitLab => &GITLAB,
            Self::Gitea => &GITEA,
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "github" => Some(Self::GitHub),
            "gitlab" => Some(Self::GitLab),
            "gitea" | "forgejo" => Some(Self::Gitea),
            _ => None,
        }
    }
}

impl fmt::Display for ForgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

impl Route {
    pub fn is_fork(&self) -> bool {
        !self.target.to_string().eq_ignore_ascii_case(&self.source.to_string())
    }

    /// The resource of a repository, below the root of the API.
    pub fn repository(&self, address: &Address) -> String {
        match self.kind {
            ForgeKind::GitLab => format!("projects/{}", percent(&address.to_string(), "")),
            ForgeKind::GitHub | ForgeKind::Gitea => {
                format!("repos/{}/{}", percent(&address.owner, ""), percent(&address.repo, ""))
            }
        }
    }

    /// The resource that has the pull requests of a repository.
    fn pulls(&self, address: &Address) -> String {
        let name = if self.kind == ForgeKind::GitLab { "merge_requests" } else { "pulls" };
        format!("{}/{name}", self.repository(address))
    }

    /// The branch as the server takes it for the head of a pull request.
    fn head(&self, branch: &str) -> String {
        match self.is_fork() && self.kind != ForgeKind::GitLab {
            true => format!("{}:{branch}", self.source.owner),
            false => branch.to_owned(),
        }
    }

    /// The resource that lists the pull requests of a branch in any state, the newest first.
    pub fn list(&self, branch: &str, page: u64) -> String {
        let filter = match self.kind {
            ForgeKind::GitHub => {
                let head = percent(&format!("{}:{branch}", self.source.owner), "");
                format!("state=all&per_page=100&head={head}")
            }
            ForgeKind::GitLab => {
                format!("state=all&per_page=100&source_branch={}", percent(branch, ""))
            }
            // It has no filter for branches.
            ForgeKind::Gitea => "state=all&sort=recentupdate&limit=50".to_owned(),
        };
        format!("{}?{filter}&page={page}", self.pulls(&self.target))
    }

    /// The resource of one pull request.
    pub fn one(&self, number: u64) -> String {
        format!("{}/{number}", self.pulls(&self.target))
    }

    /// The resource that takes a new pull request, and what to send there.
    pub fn create(&self, title: &str, body: &str, branch: &str, base: &str) -> (String, Value) {
        let sent = &self.kind.row().sent;
        let mut value = json!({
            "title": title, sent.body: body, sent.head: self.head(branch), sent.base: base,
        });
        // GitLab takes it where the branch is.
        let place = match self.kind {
            ForgeKind::GitLab => &self.source,
            ForgeKind::GitHub | ForgeKind::Gitea => &self.target,
        };
        if let Some((_, target)) = self.ids {
            value["target_project_id"] = target.into();
        }
        if self.is_fork() && self.kind == ForgeKind::GitHub {
            value["head_repo"] = self.source.repo.clone().into();
        }
        (self.pulls(place), value)
    }

    /// The method and the resource that change a pull request, and what to send there.
    pub fn change(
        &self,
        number: u64,
        title: Option<String>,
        body: Option<String>,
    ) -> (&'static str, String, Value) {
        let row = self.kind.row();
        let mut value = Map::new();
        value.extend(title.map(|title| ("title".to_owned(), title.into())));
        value.extend(body.map(|body| (row.sent.body.to_owned(), body.into())));
        (row.change, self.one(number), Value::Object(value))
    }

    /// The ref at the target that holds the last commit of a pull request, when its branch is gone too.
    pub fn head_ref(&self, number: u64) -> String {
        let (before, after) = self.kind.row().head_ref;
        format!("{before}{number}{after}")
    }

    /// Reads a pull request; what is missing, as a sentence.
    pub fn read(&self, value: &Value) -> Result<Pull, String> {
        let read = &self.kind.row().read;
        let text = |at: &str| value.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let must = |at: &str| text(at).ok_or_else(|| format!("{at} is missing"));
        let number = value.pointer(read.number).and_then(Value::as_u64);
        let state = match must("/state")?.as_str() {
            "open" | "opened" | "locked" => PullState::Open,
            "merged" => PullState::Merged,
            _ if text("/merged_at").is_some() || value["merged"] == true => PullState::Merged,
            _ => PullState::Closed,
        };
        let branches = read.branch.iter().filter_map(|at| text(at));
        let is_name =
            |name: &String| !name.is_empty() && !name.starts_with(self.kind.row().head_ref.0);
        Ok(Pull {
            number: number.ok_or_else(|| format!("{} is missing", read.number))?,
            page: must(read.page)?,
            title: must("/title")?,
            body: text(read.body).unwrap_or_default(),
            state,
            branch: branches.into_iter().find(is_name).unwrap_or_default(),
            base: must(read.base)?,
            head: text(read.head).unwrap_or_default(),
            is_ours: self.is_source(value.pointer(read.source), value.pointer(read.target)),
        })
    }

    /// Whether a pull request comes from the repository that branches are pushed to.
    fn is_source(&self, source: Option<&Value>, target: Option<&Value>) -> bool {
        match source {
            Some(Value::String(name)) => name.eq_ignore_ascii_case(&self.source.to_string()),
            Some(number @ Value::Number(_)) => match self.ids {
                Some((source, _)) => number.as_u64() == Some(source),
                None => !self.is_fork() && target == Some(number),
            },
            _ => false,
        }
    }

    /// The page on which you can open a pull request.
    pub fn new_page(&self, base: &str, branch: &str) -> String {
        let Address { host, .. } = &self.target;
        let root = format!("https://{host}/{}", self.target);
        let head = match self.is_fork() {
            true => format!("{}:{branch}", self.source.owner),
            false => branch.to_owned(),
        };
        match self.kind {
            ForgeKind::GitHub => {
                let (base, head) = (percent(base, "/"), percent(&head, "/:"));
                format!("{root}/compare/{base}...{head}?expand=1")
            }
            ForgeKind::Gitea => {
                format!("{root}/compare/{}...{}", percent(base, "/"), percent(&head, "/:"))
            }
            ForgeKind::GitLab => {
                let source = &self.source;
                let (base, branch) = (percent(base, ""), percent(branch, ""));
                format!(
                    "https://{host}/{source}/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}\
                     &merge_request%5Btarget_branch%5D={base}"
                )
            }
        }
    }

    /// The words of a command that opens a pull request by the server's own program, its text read from a file.
    pub fn command(&self, title: &str, branch: &str, base: &str, draft: &str) -> Vec<String> {
        let Address { host, .. } = &self.target;
        let (program, repo) = match self.kind {
            ForgeKind::GitHub if host == "github.com" => ("gh pr create", self.target.to_string()),
            ForgeKind::GitHub => ("gh pr create", format!("{host}/{}", self.target)),
            ForgeKind::GitLab => ("glab mr create", format!("https://{host}/{}", self.target)),
            ForgeKind::Gitea => ("tea pulls create", self.target.to_string()),
        };
        let (onto, from) = (format!("--base={base}"), format!("--head={}", self.head(branch)));
        let mut words: Vec<String> = program.split(' ').map(str::to_owned).collect();
        words.push(format!("--repo={repo}"));
        match self.kind {
            ForgeKind::GitHub => words.extend([onto, from]),
            ForgeKind::GitLab => {
                words.extend(self.is_fork().then(|| format!("--head={}", self.source)));
                words.push(format!("--source-branch={branch}"));
                words.push(format!("--target-branch={base}"));
            }
            ForgeKind::Gitea => words.extend([from, onto]),
        }
        words.push(format!("--title={title}"));
        // The others do not read the text from a file, and it is too long to type as an argument.
        words.extend((self.kind == ForgeKind::GitHub).then(|| format!("--body-file={draft}")));
        words
    }
}

#[cfg(test)]
#[path = "kind/tests.rs"]
mod tests;
