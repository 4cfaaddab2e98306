//! Redaction for JavaScript: texts, the strings of JSON values, and streams.
//!
//! Every call runs on the thread that makes it: it touches no disk and waits for nobody.

use gallivant_core::redaction::{MARK, Patterns, Redactor, Secrets, Stream};
use napi::bindgen_prelude::{Buffer, Uint8Array};
use napi_derive::napi;

use crate::answer::Answer;

/// What stands in the place of whatever was covered.
#[napi(catch_unwind)]
pub fn redaction_mark() -> &'static str {
    MARK
}

/// A redactor.
#[napi]
#[derive(Debug)]
pub struct NativeRedactor {
    pub(crate) redactor: Redactor,
}

#[napi]
impl NativeRedactor {
    /// Builds a redactor for these secrets; what is no string is none.
    #[napi(catch_unwind)]
    pub fn open(secrets: Vec<Option<Uint8Array>>, patterns: bool) -> Answer<NativeRedactor> {
        Answer::of(|| {
            let refused = secrets.iter().position(Option::is_none).map(Secrets::not_a_string);
            refused.map_or(Ok(()), Err)?;
            let secrets = Secrets::strict(secrets.iter().flatten())?;
            let patterns = if patterns { Patterns::Recognised } else { Patterns::Off };
            Ok(NativeRedactor { redactor: Redactor::new(&secrets, patterns)? })
        })
    }

    /// Redacts each text.
    #[napi(catch_unwind)]
    pub fn texts(&self, texts: Vec<String>) -> Answer<Vec<String>> {
        Answer::of(|| Ok(texts.iter().map(|text| self.redactor.text(text).into_owned()).collect()))
    }

    /// Redacts bytes.
    #[napi(catch_unwind)]
    pub fn bytes(&self, bytes: Uint8Array) -> Answer<Buffer> {
        Answer::of(|| Ok(self.redactor.bytes(&bytes).into_owned().into()))
    }

    /// The redacted strings and keys of a JSON text, in their order.
    #[napi(catch_unwind)]
    pub fn strings(&self, json: String) -> Answer<Vec<String>> {
        Answer::of(|| self.redactor.strings(&json))
    }

    /// A text that comes in pieces.
    #[napi(catch_unwind)]
    pub fn stream(&self) -> Answer<NativeRedactionStream> {
        Answer::of(|| Ok(NativeRedactionStream { stream: self.redactor.stream() }))
    }

    /// The most bytes that a stream holds back.
    #[napi(getter, catch_unwind)]
    pub fn most_held_back(&self) -> u32 {
        u32::try_from(self.redactor.most_held_back()).unwrap_or(u32::MAX)
    }
}

/// A stream.
#[napi]
#[derive(Debug)]
pub struct NativeRedactionStream {
    stream: Stream,
}

#[napi]
impl NativeRedactionStream {
    /// Takes pieces and gives what is certain by now.
    #[napi(catch_unwind)]
    pub fn push(&mut self, pieces: Vec<Uint8Array>) -> Answer<Buffer> {
        Answer::of(|| {
            let mut out = Vec::new();
            pieces.iter().for_each(|piece| self.stream.push(piece, &mut out));
            Ok(out.into())
        })
    }

    /// The text ends here: gives the rest.
    #[napi(catch_unwind)]
    pub fn finish(&mut self) -> Answer<Buffer> {
        Answer::of(|| {
            let mut out = Vec::new();
            self.stream.finish(&mut out);
            Ok(out.into())
        })
    }

    /// How many bytes are held back now.
    #[napi(getter, catch_unwind)]
    pub fn held_back(&self) -> u32 {
        u32::try_from(self.stream.held_back()).unwrap_or(u32::MAX)
    }
}
