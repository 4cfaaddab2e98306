//! The rows of redaction over the core, and bare aho-corasick over the same chunks and secrets.
//!
//! `redaction ROW DIRECTORY` is a row, as those of the other programs. `redaction prepare DIRECTORY` makes the files
//! `text` and `secrets` that the rows of all languages read: a mebibyte of lines, and one secret a line.

use std::path::Path;
use std::process::ExitCode;

use aho_corasick::{AhoCorasick, MatchKind};
use gallivant_core::Host;
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use gallivant_core::testing::SeededRandom;

#[path = "../redaction_text.rs"]
mod redaction_text;
mod serving;

use redaction_text::CHUNK;
use serving::{Failure, Operation, serve};

/// Bytes of the text that an operation redacts.
const TEXT: usize = 1 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [row, directory] = arguments.as_slice() else {
        eprintln!("usage: redaction ROW DIRECTORY");
        return ExitCode::FAILURE;
    };
    let done = if row == "prepare" { prepare(directory) } else { open(row, directory).and_then(serve) };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn prepare(directory: &str) -> Result<(), Failure> {
    let run = Host::system().files.open_or_create(Path::new(directory))?;
    let dice = SeededRandom::new(1);
    let secrets = redaction_text::secrets(&dice);
    run.create("text")?.write_all(&redaction_text::lines(&dice, TEXT, &[]))?;
    run.create("secrets")?.write_all(secrets.join("\n").as_bytes())?;
    Ok(())
}

fn open(row: &str, directory: &str) -> Result<Operation, Failure> {
    let run = Host::system().files.open_to_read(Path::new(directory))?;
    let (mut text, mut secrets) = (Vec::new(), Vec::new());
    run.read("text", 2 * TEXT as u64, &mut text)?;
    run.read("secrets", TEXT as u64, &mut secrets)?;
    let secrets: Vec<&[u8]> = secrets.split(|byte| *byte == b'\n').collect();
    let redactor = Redactor::new(&Secrets::strict(&secrets)?, Patterns::Off)?;
    match row {
        "bare" => bare(text, &secrets),
        "stream" => Ok(stream(text, &redactor)),
        "texts" => {
            let chunks: Result<Vec<&str>, _> = text.chunks(CHUNK).map(std::str::from_utf8).collect();
            Ok(texts(chunks?.into_iter(), redactor))
        }
        "lines" => Ok(texts(std::str::from_utf8(&text)?.lines(), redactor)),
        _ => Err("no such row".into()),
    }
}

/// All occurrences, chunk by chunk; nothing is kept and nothing written.
fn bare(text: Vec<u8>, secrets: &[&[u8]]) -> Result<Operation, Failure> {
    let automaton = AhoCorasick::builder().match_kind(MatchKind::Standard).build(secrets)?;
    Ok(Box::new(move || {
        let found: usize =
            text.chunks(CHUNK).map(|chunk| automaton.find_overlapping_iter(chunk).count()).sum();
        if found == 0 { Ok(()) } else { Err("a secret was found where none is".into()) }
    }))
}

/// A text in chunks, redacted as it comes, into one buffer.
fn stream(text: Vec<u8>, redactor: &Redactor) -> Operation {
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    Box::new(move || {
        out.clear();
        text.chunks(CHUNK).for_each(|chunk| stream.push(chunk, &mut out));
        stream.finish(&mut out);
        if out.len() == text.len() { Ok(()) } else { Err("the text is another one".into()) }
    })
}

/// Texts that have nothing to do with each other, each of them on its own.
fn texts<'t>(texts: impl Iterator<Item = &'t str>, redactor: Redactor) -> Operation {
    let texts: Vec<String> = texts.map(str::to_owned).collect();
    Box::new(move || {
        let redacted: Vec<String> = texts.iter().map(|text| redactor.text(text).into_owned()).collect();
        if redacted.len() == texts.len() { Ok(()) } else { Err("texts are missing".into()) }
    })
}
