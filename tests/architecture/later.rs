//! The clauses of specifications that are begun and not built yet. A clause leaves its row with its test.

/// Of the execution layer: a section, and the numbers in it, as single ones and as ranges.
pub(crate) const EXECUTION: &[(&str, &str)] = &[
    ("EX-CAP", "7 11-12 14-15 19-20 22-23 25"),
    ("EX-TRA", "6 9 15 17-20 22-25 28 32-33 35"),
    ("EX-BND", "1 3-31 33-35 37-38 44-46"),
    ("EX-CUR", "7-13 15 23"),
    ("EX-OBS", "1-38"),
    ("EX-IDN", "1-25"),
    ("EX-PRE", "1-33"),
    ("EX-LED", "1-12 16-41 47-72"),
    ("EX-REC", "1-34 36-48"),
    ("EX-CAN", "25 37-38 48-49 54"),
    ("EX-COST", "1 5-7 10-19 21"),
    ("EX-SCH", "2 4-6 8"),
    ("EX-JRN", "1-2 22 50 60 77"),
    ("EX-RED", "15 19-20"),
    ("EX-ART", "1-57 60-69"),
    ("EX-VER", "1-42"),
    ("EX-LOC", "1 4-16 18-20 23-24 27-30"),
    ("EX-UPG", "1-13"),
    ("EX-ERR", "1 5-6 8"),
    ("EX-SEA", "4 6-8 15-17 19"),
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
