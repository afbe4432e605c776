//! `ralph task`.

mod added;
mod agent;
mod claim;
mod edit;
mod for_session;
mod notes;
mod plan;
mod proposed;
mod query;
mod reopen;
mod session;

use clap::Args;

use crate::error::Done;
use crate::wiring::Context;

pub(crate) use edit::add;
pub(crate) use for_session::{cmd_hook_for_session, cmd_task_for_session};
pub(crate) use query::Looked;
pub(crate) use reopen::{Reopened, given_reason, reopen};
pub(crate) use session::unanswered;

/// Show and change the tasks of the plan
///
/// You and your agents use the same commands. If RALPH_AGENT_ID is set, the caller is an agent, which can only
/// finish tasks that it has claimed; otherwise the caller is you.
///
/// In a session of a run (RALPH_SOCKET is set) the call goes to the loop. There done, fail and ask are requests,
/// which the loop checks after the session. add can add up to ten tasks, and their logs name the session. In a
/// session of ralph feature build, commands that change tasks make proposals: ralph checks them at once and
/// applies them after the session.
///
/// Statuses: open, active, waiting, done, failed, deleted; an open task with an unfinished blocker is
/// shown as blocked.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Example: ralph task add \"Write the parser\" -p 1 && ralph task ready"
)]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    command: TaskCommand,
}

commands! {
    enum TaskCommand {
        Add(edit::AddArgs) => edit::cmd_add,
        Create(edit::CreateArgs) => edit::cmd_create,
        Update(edit::UpdateArgs) => edit::cmd_update,
        Delete(edit::DeleteArgs) => edit::cmd_delete,
        List(query::ListArgs) => query::cmd_list,
        Show(query::ShowArgs) => query::cmd_show,
        Tree(query::TreeArgs) => query::cmd_tree,
        Deps(query::DepsArgs) => query::cmd_deps,
        Block(edit::BlockArgs) => edit::cmd_block,
        Unblock(edit::UnblockArgs) => edit::cmd_unblock,
        Ready(query::ReadyArgs) => query::cmd_ready,
        Peek(query::PeekArgs) => query::cmd_peek,
        Claim(claim::ClaimArgs) => claim::cmd_claim,
        Renew(claim::RenewArgs) => claim::cmd_renew,
        Done(claim::DoneArgs) => claim::cmd_done,
        Fail(claim::FailArgs) => claim::cmd_fail,
        Reset(claim::ResetArgs) => claim::cmd_reset,
        Reopen(reopen::ReopenArgs) => reopen::cmd_reopen,
        Ask(notes::AskArgs) => notes::cmd_ask,
        Log(notes::LogArgs) => notes::cmd_log,
        PlanStatus(plan::PlanStatusArgs) => plan::cmd_plan_status,
        PlanSync(plan::PlanSyncArgs) => plan::cmd_plan_sync,
        Agent(agent::AgentArgs) => agent::cmd_agent,
    }
}

pub(crate) fn cmd_task(args: &TaskArgs, context: &mut Context<'_>) -> Done {
    match context.session_socket() {
        Some(socket) => session::pass_on(socket, args, context),
        None => args.command.run(context),
    }
}
