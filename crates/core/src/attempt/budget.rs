//! How much of each text goes into a prompt: a share for each, and a visible note where a text was cut.

use std::borrow::Cow;

use crate::text::printable;

/// How many bytes of text make a token, roughly. Coarse on purpose: agents do not publish their tokenizers.
pub(super) const BYTES_PER_TOKEN: usize = 4;

/// Splits `budget` among texts of these lengths. Whoever needs less than an equal share gets all it
/// needs, and what is left over goes to the others in equal parts.
pub(super) fn shares(needs: &[usize], budget: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|index| needs[*index]);
    let mut given = vec![0; needs.len()];
    let mut left = budget;
    for (served, index) in order.iter().enumerate() {
        let equal = left / (needs.len() - served);
        given[*index] = needs[*index].min(equal);
        left -= given[*index];
    }
    given
}

/// The longest beginning of `text` within `share` bytes: whole lines if that costs at most a
/// quarter of it, whole characters always.
pub(super) fn beginning(text: &str, share: usize) -> &str {
    if text.len() <= share {
        return text;
    }
    let cut = &text[..text.floor_char_boundary(share)];
    match cut.rfind('\n') {
        Some(at) if at >= share - share / 4 => &cut[..at],
        _ => cut,
    }
}

/// `text` within its share, safe to show. A cut says how much is missing and where the rest is.
pub(super) fn fit<'a>(text: &'a str, share: usize, rest: &str) -> Cow<'a, str> {
    let kept = beginning(text, share);
    // Only what is kept is looked at: a text of many megabytes costs no more than its share.
    let shown = printable(kept);
    if kept.len() == text.len() {
        return shown;
    }
    Cow::Owned(format!("{}\n\n{}", shown.trim_end(), note(kept.len(), text.len(), rest)))
}

/// The note under a text of which `kept` of `all` bytes are shown.
pub(super) fn note(kept: usize, all: usize, rest: &str) -> String {
    let (kept, all) = (kept / BYTES_PER_TOKEN, all.div_ceil(BYTES_PER_TOKEN));
    format!("[cut: {kept} of {all} tokens; {rest}]")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_one_does_not_need_the_others_get() {
        assert_eq!(shares(&[10, 500, 500], 300), [10, 145, 145]);
        assert_eq!(shares(&[500, 20], 100), [80, 20]);
        assert_eq!(shares(&[1, 2, 3], 100), [1, 2, 3]);
        assert_eq!(shares(&[], 100), [0; 0]);
        assert_eq!(shares(&[7, 7], 0), [0, 0]);
    }

    #[test]
    fn a_cut_is_at_a_line_and_says_so() {
        assert_eq!(
            fit("one\ntwo\nthree\nfour", 14, "read F"),
            "one\ntwo\nthree\n\n[cut: 3 of 5 tokens; read F]"
        );
        assert_eq!(fit("short", 5, "read F"), "short");
        assert_eq!(fit("ééééé", 5, "read F"), "éé\n\n[cut: 1 of 3 tokens; read F]");
    }

    proptest! {
        #[test]
        fn shares_never_exceed_the_budget_or_the_need(
            needs in prop::collection::vec(0_usize..100_000, 0..12), budget in 0_usize..200_000
        ) {
            let given = shares(&needs, budget);
            prop_assert!(given.iter().sum::<usize>() <= budget);
            prop_assert!(given.iter().zip(&needs).all(|(given, need)| given <= need));
            if needs.iter().sum::<usize>() <= budget {
                prop_assert_eq!(given, needs);
            }
        }

        #[test]
        fn any_text_is_cut_within_its_share(text in any::<String>(), share in 0_usize..64) {
            prop_assert!(beginning(&text, share).len() <= share.max(text.len().min(share)));
            prop_assert!(text.starts_with(beginning(&text, share)));
        }
    }
}
