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

use clap::{Args, Subcommand};

use crate::error::Done;
use crate::wiring::Context;

pub(crate) use edit::text_error;
pub(crate) use for_session::{cmd_hook_for_session, cmd_task_for_session};
pub(crate) use reopen::{Reopened, reopen};
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

#[derive(Debug, Subcommand)]
enum TaskCommand {
    Add(edit::AddArgs),
    Create(edit::CreateArgs),
    Update(edit::UpdateArgs),
    Delete(edit::DeleteArgs),
    List(query::ListArgs),
    Show(query::ShowArgs),
    Tree(query::TreeArgs),
    Deps(query::DepsArgs),
    Block(edit::BlockArgs),
    Unblock(edit::UnblockArgs),
    Ready(query::ReadyArgs),
    Peek(query::PeekArgs),
    Claim(claim::ClaimArgs),
    Renew(claim::RenewArgs),
    Done(claim::DoneArgs),
    Fail(claim::FailArgs),
    Reset(claim::ResetArgs),
    Reopen(reopen::ReopenArgs),
    Ask(notes::AskArgs),
    Log(notes::LogArgs),
    PlanStatus(plan::PlanStatusArgs),
    PlanSync(plan::PlanSyncArgs),
    Agent(agent::AgentArgs),
}

pub(crate) fn cmd_task(args: TaskArgs, context: &mut Context<'_>) -> Done {
    if let Some(socket) = context.session_socket() {
        return session::pass_on(socket, &args, context);
    }
    match args.command {
        TaskCommand::Add(args) => edit::cmd_add(&args, context),
        TaskCommand::Create(args) => edit::cmd_create(&args, context),
        TaskCommand::Update(args) => edit::cmd_update(&args, context),
        TaskCommand::Delete(args) => edit::cmd_delete(&args, context),
        TaskCommand::List(args) => query::cmd_list(&args, context),
        TaskCommand::Show(args) => query::cmd_show(&args, context),
        TaskCommand::Tree(args) => query::cmd_tree(&args, context),
        TaskCommand::Deps(args) => query::cmd_deps(&args, context),
        TaskCommand::Block(args) => edit::cmd_block(&args, context),
        TaskCommand::Unblock(args) => edit::cmd_unblock(&args, context),
        TaskCommand::Ready(args) => query::cmd_ready(&args, context),
        TaskCommand::Peek(args) => query::cmd_peek(&args, context),
        TaskCommand::Claim(args) => claim::cmd_claim(&args, context),
        TaskCommand::Renew(args) => claim::cmd_renew(&args, context),
        TaskCommand::Done(args) => claim::cmd_done(&args, context),
        TaskCommand::Fail(args) => claim::cmd_fail(&args, context),
        TaskCommand::Reset(args) => claim::cmd_reset(&args, context),
        TaskCommand::Reopen(args) => reopen::cmd_reopen(&args, context),
        TaskCommand::Ask(args) => notes::cmd_ask(&args, context),
        TaskCommand::Log(args) => notes::cmd_log(&args, context),
        TaskCommand::PlanStatus(args) => plan::cmd_plan_status(&args, context),
        TaskCommand::PlanSync(args) => plan::cmd_plan_sync(&args, context),
        TaskCommand::Agent(args) => agent::cmd_agent(&args, context),
    }
}
