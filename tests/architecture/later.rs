//! The clauses of specifications that are begun and not built yet. A clause leaves its row with its test.

/// Of the execution layer: a section, and the numbers in it, as single ones and as ranges.
pub(crate) const EXECUTION: &[(&str, &str)] = &[];

/// The clauses of such a list, one by one.
pub(crate) fn clauses(list: &[(&str, &str)]) -> Vec<String> {
    let numbers = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        from.parse::<u32>().expect("a number")..=to.parse::<u32>().expect("a number")
    };
    let section = |(name, parts): &(&str, &str)| {
        let name = (*name).to_owned();
        parts
            .split_whitespace()
            .flat_map(numbers)
            .map(move |number| format!("{name}-{number:02}"))
            .collect::<Vec<_>>()
    };
    list.iter().flat_map(section).collect()
}
