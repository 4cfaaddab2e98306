//! The clauses of specifications that are begun and not built yet. A clause leaves its row with its test.

/// Of the execution layer: a section, and the numbers in it, as single ones and as ranges.
pub(crate) const EXECUTION: &[(&str, &str)] = &[
    ("EX-TRA", "25 35"),
    ("EX-BND", "1 4 24 27-30 34 46"),
    ("EX-IDN", "12 18 23"),
    ("EX-PRE", "30"),
    ("EX-CAN", "25 48-49"),
    ("EX-COST", "21"),
    ("EX-SCH", "2 4-6 8"),
    ("EX-JRN", "50 60 77"),
    ("EX-RED", "19-20"),
    ("EX-ART", "1-57 67-69"),
    ("EX-VER", "1-42"),
    ("EX-LOC", "1 4-16 19-20 23 27-30"),
    ("EX-UPG", "3"),
    ("EX-ERR", "1"),
    ("EX-SEA", "6-7 15-17 19"),
];

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
