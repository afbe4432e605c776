//! "Did you mean": the few known names that are nearest to an unknown one.

/// At most `most` of `known` that are close enough to `wanted` to be what was meant, best first.
pub fn nearest<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let mut close: Vec<(f64, &str)> = known
        .into_iter()
        .filter(|name| *name != wanted)
        .map(|name| (likeness(wanted, name), name))
        .filter(|(likeness, _)| *likeness >= 0.7)
        .collect();
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    close.into_iter().take(most).map(|(_, name)| name).collect()
}

fn likeness(a: &str, b: &str) -> f64 {
    // Generated ids share a prefix, which Jaro-Winkler alone would take for likeness.
    let distance = strsim::osa_distance(a, b);
    let longest = a.chars().count().max(b.chars().count());
    if distance * 3 > longest.max(3) {
        return 0.0;
    }
    strsim::jaro_winkler(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_a_stranger_finds_none() {
        let known = ["t-abcd2345", "t-zzzz7777", "loop.max_retries", "login"];
        assert_eq!(nearest("t-abcd2354", known, 3), ["t-abcd2345"]);
        assert_eq!(nearest("loop.max_retrys", known, 3), ["loop.max_retries"]);
        assert_eq!(nearest("logn", known, 3), ["login"]);
        assert!(nearest("t-qqqqqqqq", known, 3).is_empty());
    }
}
