//! EX-RED by seeded texts: against a plain model, in every cutting, a second time, and for I10.
//!
//! Texts are made of pieces that are likely to meet: secrets and their parts, marks and their parts, anchors of patterns
//! and what may follow them. A failing seed is in the panic's message; `GALLIVANT_SEED` runs one seed alone.

use std::borrow::Cow;
use std::fmt::Write as _;

use gallivant_core::redaction::{MARK, Patterns, Redactor, Secrets};
use gallivant_core::testing::SeededRandom;

const SEEDS: u64 = 400;

fn seeds() -> std::ops::RangeInclusive<u64> {
    match std::env::var("GALLIVANT_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("GALLIVANT_SEED is a number");
            seed..=seed
        }
        Err(_) => 1..=SEEDS,
    }
}

fn pick<'a, T: ?Sized>(dice: &SeededRandom, from: &[&'a T]) -> &'a T {
    from[dice.below(from.len() as u64) as usize]
}

/// Texts over few letters meet often.
fn word(dice: &SeededRandom, letters: &[&str], longest: u64) -> String {
    (0..=dice.below(longest)).map(|_| pick(dice, letters)).collect()
}

/// A set of secrets: short ones that overlap, and ones that share bytes with the mark or with patterns.
fn secrets(dice: &SeededRandom) -> Vec<String> {
    let special = [
        "redacted",
        "red",
        "[",
        "]",
        "d]a",
        "a[red",
        "[redacted]",
        "a[redacted]b",
        "sk-",
        "k-a",
        "Bearer",
        "zation: B",
        "://",
        "@",
        "eyJ",
        "BEGIN",
        "ä",
        "a\nb",
        "abcdefgh\nb\r\nabcdefgi",
        "a\"b",
        "\\",
        "a/b",
        "PRIVATE KEY-----\na",
    ];
    (0..dice.below(5))
        .map(|_| match dice.below(3) {
            0 => pick(dice, &special).to_owned(),
            _ => word(dice, &["a", "b", "c"], 5),
        })
        .collect()
}

fn text(dice: &SeededRandom, secrets: &[String]) -> String {
    let pieces = [
        "a",
        "b",
        "c",
        "ab",
        "abc",
        "[",
        "]",
        "[reda",
        "cted]",
        "[redacted]",
        "[redacted]",
        "\n",
        "\r\n",
        "    ",
        " ",
        "\\n",
        "\"",
        "'",
        ":",
        "=",
        ",",
        ".",
        "@",
        "/",
        "ä",
        "\u{1f600}",
        "\u{1b}[31m",
        "m",
        "sk-",
        "sk-aaaaaaaaaaaaaaaaaaa",
        "sk-aaaaaaaaaaaaaaaaaaaa",
        "ghp_0123456789ab",
        "github_pat_0123456789",
        "xoxb-12345678",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA0123456789abcdefgh",
        "glpat-0123456789",
        "eyJ",
        "eyJhbGciOiJIUzI1NiJ9",
        ".e30.abc",
        "Bearer ",
        "bearer",
        "Authorization: ",
        "authorization",
        "Digest a=",
        "OAuth ",
        "https://",
        "http:\\/\\/",
        "user:pass",
        "a@b@c/",
        "-----BEGIN ",
        "RSA ",
        "PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "MIIEpAIBAAKCAQEAMIIEpAIBAAKCAQEAMIIEpAIBAAKC",
        "-----END PRIVATE KEY-----",
        "-----END ",
        "\u{e4}\u{20ac}",
        "\\u00e4",
        "a\\nb",
        "a\\\"b",
    ];
    let mut text = String::new();
    for _ in 0..dice.below(30) {
        match dice.below(4) {
            0 if !secrets.is_empty() => {
                let secret = &secrets[dice.below(secrets.len() as u64) as usize];
                let cut = dice.below(secret.chars().count() as u64 + 1) as usize;
                match dice.below(3) {
                    0 => text.extend(secret.chars().take(cut)),
                    1 => text.extend(secret.chars().skip(cut)),
                    _ => text.push_str(secret),
                }
            }
            // Long enough for what a pattern may wait for.
            1 if dice.below(40) == 0 => text.push_str(&"a1".repeat(dice.below(1200) as usize)),
            _ => text.push_str(pick(dice, &pieces)),
        }
    }
    text
}

fn redactor(secrets: &[String], patterns: Patterns) -> Redactor {
    Redactor::new(&Secrets::lenient(secrets), patterns).expect("small enough")
}

/// Pushes a text in pieces and gives what came out.
fn streamed(redactor: &Redactor, text: &[u8], mut next: impl FnMut() -> usize) -> Vec<u8> {
    let (mut stream, mut out) = (redactor.stream(), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(next().min(rest.len()));
        stream.push(piece, &mut out);
        assert!(stream.held_back() <= redactor.most_held_back(), "it holds back {}", stream.held_back());
        rest = behind;
    }
    stream.finish(&mut out);
    out
}

/// What the rule says, byte by byte: no automaton, no forms but the secret itself.
fn model(text: &str, secrets: &[String]) -> String {
    let bytes = text.as_bytes();
    let marks: Vec<usize> = text.match_indices(MARK).map(|(at, _)| at).collect();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        for start in 0..bytes.len() {
            let end = start + secret.len();
            let is_there = bytes[start..].starts_with(secret.as_bytes());
            if is_there && !marks.iter().any(|mark| start < mark + MARK.len() && *mark < end) {
                spans.push((start, end));
            }
        }
    }
    spans.sort_unstable();
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (start, end) in spans {
        match merged.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    let (mut out, mut kept) = (String::new(), 0);
    for (start, end) in merged {
        out.push_str(&text[kept..start]);
        out.push_str(MARK);
        kept = end;
    }
    out + &text[kept..]
}

#[test]
fn ex_red_05_what_is_covered_is_what_a_plain_model_covers() {
    for seed in seeds() {
        let dice = SeededRandom::new(seed);
        // None with line breaks, escapes or marks, which have further forms.
        let plain = ["redacted", "red", "[", "]", "d]a", "a[red", "ab", "bc", "ä", "://"];
        let secrets: Vec<String> = (0..dice.below(5))
            .map(|_| {
                if dice.below(3) == 0 {
                    pick(&dice, &plain).to_owned()
                } else {
                    word(&dice, &["a", "b", "c"], 5)
                }
            })
            .collect();
        // A letter beyond ASCII has escapes too, so texts have none of those.
        let text = text(&dice, &secrets).replace('\\', "");
        let redactor = redactor(&secrets, Patterns::Off);
        assert_eq!(
            redactor.text(&text),
            model(&text, &secrets),
            "GALLIVANT_SEED={seed} {secrets:?} {text:?}"
        );
    }
}

#[test]
fn ex_red_12_every_cutting_of_a_text_gives_what_the_whole_gives() {
    for seed in seeds() {
        let dice = SeededRandom::new(seed);
        let secrets = secrets(&dice);
        let text = text(&dice, &secrets);
        let patterns = if dice.below(4) == 0 { Patterns::Off } else { Patterns::Recognised };
        let redactor = redactor(&secrets, patterns);
        let whole = redactor.text(&text).into_owned();
        let mut tell = format!("GALLIVANT_SEED={seed} {secrets:?} {text:?}");
        for longest in [1, 2, 3, 7, 30, 500] {
            let mut cuts = Vec::new();
            let out = streamed(&redactor, text.as_bytes(), || {
                let length = 1 + dice.below(longest) as usize;
                cuts.push(length);
                length
            });
            if out != whole.as_bytes() {
                let _ = write!(tell, "\ncut {cuts:?}\n{:?}\nwhole {whole:?}", String::from_utf8_lossy(&out));
                panic!("{tell}");
            }
        }
    }
}

#[test]
fn ex_red_12_every_single_cut_of_a_short_text_is_tried() {
    for seed in seeds().filter(|seed| seed % 10 == 0 || seeds().count() == 1) {
        let dice = SeededRandom::new(seed);
        let secrets = secrets(&dice);
        let text = text(&dice, &secrets);
        let redactor = redactor(&secrets, Patterns::Recognised);
        let whole = redactor.bytes(text.as_bytes()).into_owned();
        for cut in 0..text.len().min(400) {
            let mut first = true;
            let out = streamed(&redactor, text.as_bytes(), || {
                if std::mem::take(&mut first) { cut } else { usize::MAX }
            });
            assert_eq!(out, whole, "GALLIVANT_SEED={seed} cut={cut} {secrets:?} {text:?}");
        }
    }
}

#[test]
fn ex_red_11_a_second_pass_changes_nothing() {
    for seed in seeds() {
        let dice = SeededRandom::new(seed);
        let secrets = secrets(&dice);
        let text = text(&dice, &secrets);
        let redactor = redactor(&secrets, Patterns::Recognised);
        let once = redactor.text(&text).into_owned();
        let twice = redactor.text(&once);
        assert_eq!(twice, once, "GALLIVANT_SEED={seed} {secrets:?} {text:?}");
        assert!(matches!(twice, Cow::Borrowed(_)), "and says so");
    }
}

#[test]
fn ex_red_04_the_order_of_the_list_has_no_effect() {
    for seed in seeds().filter(|seed| seed % 4 == 0 || seeds().count() == 1) {
        let dice = SeededRandom::new(seed);
        let mut secrets = secrets(&dice);
        let text = text(&dice, &secrets);
        let one = redactor(&secrets, Patterns::Recognised).text(&text).into_owned();
        secrets.reverse();
        secrets.extend(secrets.first().cloned());
        assert_eq!(
            redactor(&secrets, Patterns::Recognised).text(&text),
            one,
            "GALLIVANT_SEED={seed} {secrets:?} {text:?}"
        );
    }
}

#[test]
fn i10_no_supplied_secret_is_in_what_is_kept() {
    for seed in seeds() {
        let dice = SeededRandom::new(seed);
        let secrets = secrets(&dice);
        let text = text(&dice, &secrets);
        let redacted = redactor(&secrets, Patterns::Recognised).text(&text).into_owned();
        // What stands between marks was kept; a mark's own letters are nobody's secret.
        for kept in redacted.split(MARK) {
            for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
                assert!(
                    !kept.contains(secret.as_str()),
                    "GALLIVANT_SEED={seed} {secret:?} is in {redacted:?} of {text:?}"
                );
            }
        }
    }
}
