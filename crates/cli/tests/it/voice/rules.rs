//! The words and phrases that ralph does not use, and what it says instead.
//!
//! A pattern is a phrase: words in lower case, with a blank between them. A word may be a choice (`is|are`), a
//! beginning (`mend*`) or any word (`*`). A pattern that begins with `!there|here` matches behind everything but these
//! words; one that ends with `!longer|more` matches before any word but these.

use Scope::{Everywhere, ForUsers};

/// Where a rule holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scope {
    /// In everything, doc comments and pages for developers included.
    Everywhere,
    /// In what users and agents read. The code has a type of this name, and its documentation may say it.
    ForUsers,
}

/// Patterns that are not used, and what to say instead.
pub(super) struct Rule {
    pub(super) not: &'static [&'static str],
    pub(super) say: &'static str,
    pub(super) scope: Scope,
}

const fn rule(not: &'static [&'static str], say: &'static str) -> Rule {
    Rule { not, say, scope: Everywhere }
}

const fn for_users(not: &'static [&'static str], say: &'static str) -> Rule {
    Rule { not, say, scope: ForUsers }
}

/// Every rule. Spelling is American, but `cancelled` keeps both letters: `"cancelled"` is a value in the journal, which
/// stays, and one thing has one spelling.
pub(super) const RULES: &[Rule] = &[
    // One word per thing.
    rule(&["box|boxes|boxed|unboxed"], "sandbox; in a checklist: checkbox"),
    rule(&["guest|guests|house|houses"], "sandboxed command; sandbox config"),
    rule(&["room|rooms"], "space; of a sandbox: its mounts"),
    rule(&["person|persons|somebody"], "you, the user; another process, run or agent"),
    rule(&["by|in hand", "hands and feet"], "yourself, manually; the current tasks"),
    for_users(&["judge|judges|judged|judging"], "check; the noun is gate or verifier"),
    for_users(&["settle|settles|settled|settling|unsettled"], "done, failed, finished"),
    for_users(&["!to|can|could|may|must|not|will|would|ralph|they store"], "task database"),
    for_users(&["come|comes|came|coming back"], "is returned for retry"),
    rule(&["bring|brings|brought|bringing|come|comes|came home"], "merged"),
    rule(&["build|plan|prompt|once|run|loop mode|modes"], "preset; the command's name"),
    rule(&["in force"], "active, configured"),
    rule(&["keeper|keepers"], "subreaper"),
    rule(&["family|families"], "process tree"),
    rule(&["herald|heralds"], "notification rules"),
    rule(&["purse|purses"], "shared budget"),
    rule(&["crew|crews"], "run context"),
    rule(&["desk|desks"], "session request handler"),
    rule(&["seat|seats|seated"], "session identity; for this session"),
    rule(&["rehears*"], "dry run"),
    rule(&["astray"], "off its branch"),
    rule(&["dear"], "expensive; exceeds the budget"),
    rule(&["restless"], "changed while it was checked"),
    rule(&["hopeless"], "needs you"),
    rule(&["surroundings"], "inputs, environment"),
    // Plain verbs of the trade.
    rule(&["mend*"], "fix, repair"),
    rule(&["anew"], "again; reread, recreate, restart"),
    rule(&["work|works|worked|working off"], "work through"),
    rule(&["wants money"], "out of credit"),
    for_users(&["did not end", "no end after|within"], "timed out after"),
    rule(&["is|are|was|were|be|been|being ended"], "stopped, killed; it ended, it timed out"),
    rule(
        &["put|puts|putting back", "put|puts|putting * back", "put|puts|putting * * back"],
        "revert, restore, reopen",
    ),
    rule(&["ways out"], "escapes"),
    rule(&["shell does not find"], "command not found: NAME"),
    rule(&["than the model takes"], "too long for this model"),
    rule(&["sessions may count"], "maximum number of sessions (0 = unlimited)"),
    rule(&["aloud"], "print, warn"),
    // Who does what.
    rule(
        &[
            "is|are|was|were|be|been|being|not|never|only|also|then told",
            "told once|apart|from|of|by",
        ],
        "who reports what to whom; distinguish",
    ),
    rule(&["wait|waits|waited|waiting out"], "wait until it resets"),
    rule(&["is|are|was|were|be|been|not waited for"], "who waits for what"),
    rule(
        &[
            "take|takes|taken|took|taking up again",
            "take|takes|took * up again",
            "take|takes|took * * up again",
        ],
        "retry, reopen, continue",
    ),
    rule(&["!top|copy|all|one of yours"], "your, before the noun"),
    // A noun before a clause.
    rule(
        &["what|whatever|something|nothing come|comes|came|become|becomes|became of"],
        "the result of, what happened to",
    ),
    rule(&["come|comes|came|coming to nothing"], "fails, is empty"),
    rule(&["what is red"], "failing checks"),
    rule(&["what it|they left"], "its changes, its unfinished work"),
    rule(&["how things stand"], "status"),
    rule(&["owner alone"], "only you can read it"),
    rule(&["proves the work"], "work is accepted unchecked"),
    rule(
        &["!there|here|where is|are|was|were no !longer|more|less|reason|problem|use"],
        "is not a; (0 = unlimited)",
    ),
    // American spelling.
    rule(&["colour*", "behaviour*", "honour*", "favour*", "flavour*", "neighbour*"], "-or"),
    rule(&["recognis*", "normalis*", "initialis*", "serialis*", "summaris*", "customis*"], "-ize"),
    rule(&["prioritis*", "synchronis*", "utilis*", "authoris*", "finalis*", "sanitis*"], "-ize"),
    rule(&["tokenis*", "minimis*", "organise*", "optimise*", "realise*", "emphasise*"], "-ize"),
    rule(&["analyse|analysed|analysing"], "analyze"),
    rule(&["dialled", "dialling", "labelled", "labelling", "signalled", "signalling"], "one l"),
    rule(&["modelled", "modelling", "travelled", "travelling"], "one l"),
    rule(&["centre*", "licence*", "defence*", "offence*"], "center, license, defense"),
    rule(&["grey*", "artefact*", "programme|programmes"], "gray, artifact, program"),
    rule(&["learnt", "spelt", "burnt"], "-ed"),
    rule(&["whilst", "amongst"], "while, among"),
    rule(&["for ever"], "forever"),
];

/// Doc comments that say nothing: leave them out, or say something.
pub(super) const EMPTY_COMMENTS: &[&str] = &[
    "how",
    "how many",
    "how much",
    "how often",
    "how long",
    "in words",
    "what",
    "when",
    "where",
    "where not",
    "where to",
    "which",
    "which one",
    "who",
    "whose",
    "why",
    "why not",
];
