//! Pushing and pull requests, with real git, stand-ins for GitHub, GitLab and Gitea, and the real `gh`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "tests start git and read the environment")]

#[path = "forge/courses.rs"]
mod courses;
#[path = "forge/feedback.rs"]
mod feedback;
#[path = "forge/kit.rs"]
mod kit;
#[path = "forge/publishing.rs"]
mod publishing;
#[path = "forge/pushing.rs"]
mod pushing;
#[path = "forge/refusals.rs"]
mod refusals;
#[path = "forge/servers.rs"]
mod servers;
