//! Money, tokens, numbers of things and long lists in words.

use std::fmt::Display;

/// `1 file`, `3 files`.
pub fn count(n: u64, what: &str) -> String {
    let ending = match (n, what.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{n} {what}{ending}")
}

/// At most `most` of these, and how many are left: `a, b and 3 more`.
pub fn first_of<I>(items: I, most: usize) -> String
where
    I: IntoIterator<Item: Display, IntoIter: ExactSizeIterator>,
{
    let items = items.into_iter();
    let more = items.len().saturating_sub(most);
    let named = items.take(most).map(|item| item.to_string()).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// Millionths of a dollar: `$0.08`; less than a cent with more digits, `$0.0042`.
pub fn money(micro_usd: u64) -> String {
    if micro_usd == 0 || micro_usd >= 9_950 {
        let cents = micro_usd.saturating_add(5_000) / 10_000;
        format!("${}.{:02}", cents / 100, cents % 100)
    } else {
        format!("$0.{:04}", (micro_usd + 50) / 100)
    }
}

/// `950`, `12k`, `1.2M`.
pub fn tokens(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..999_500 => format!("{}k", (n + 500) / 1_000),
        _ => {
            let tenths = n.saturating_add(50_000) / 100_000;
            format!("{}.{}M", tenths / 10, tenths % 10)
        }
    }
}
