//! Versions as harnesses print them.

/// The numbers of a version, as a harness prints it. It is the first word that begins with a number, since some print their name
/// before it, and whatever follows the numbers says nothing. None where no word begins so.
pub(crate) fn numbers(version: &str) -> Option<Vec<u64>> {
    let mut words = version.split_whitespace().map(|word| word.trim_start_matches('v'));
    let text = words.find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let found: Option<Vec<u64>> =
        text[..end].trim_end_matches('.').split('.').map(|part| part.parse().ok()).collect();
    found.filter(|numbers| !numbers.is_empty())
}

pub(crate) fn dotted(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

/// Whether a version is this one or a later one. Numbers are compared one by one, and what is missing is 0. One that is not known
/// is none.
pub(crate) fn is_at_least(version: &str, minimum: &str) -> bool {
    let (Some(mut version), Some(mut minimum)) = (numbers(version), numbers(minimum)) else { return false };
    let length = version.len().max(minimum.len());
    version.resize(length, 0);
    minimum.resize(length, 0);
    version >= minimum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ex_pre_33_versions_are_compared_by_their_numbers() {
        for (version, minimum) in [
            ("2.1.0", "2.1.0"),
            ("v10.0", "9.9.9"),
            ("2.1.0 (Claude Code)", "2.1"),
            ("1.0.1-rc.1", "1.0.1"),
            ("codex-cli 0.171.0", "0.171.0"),
        ] {
            assert!(is_at_least(version, minimum), "{version} {minimum}");
        }
        for (version, minimum) in [
            ("2.0.9", "2.1.0"),
            ("", "1"),
            ("nightly", "1"),
            ("1", "1.0.1"),
            ("..", "1"),
            ("tool 2.0.9 v3", "2.1.0"),
        ] {
            assert!(!is_at_least(version, minimum), "{version} {minimum}");
        }
    }
}
