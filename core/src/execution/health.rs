//! Whether a provider's account may be dispatched to: the health record, what becomes of it, and what is asked before an
//! intent (EX-SCH-09 to EX-SCH-15).

use std::fmt;

use super::backoff;
use super::limits::Limits;
use crate::digest::sha256_hex;
use crate::error::{Code, Error, Result};
use crate::journal::{check_member, number};
use crate::json::{Number, Object, Value};

const VERSION: u64 = 1;

/// Whose health it is: an account of a provider (EX-SCH-09). The library asks nothing of either but that it is not empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HealthScope {
    /// The provider.
    pub provider: String,
    /// The account.
    pub account: String,
}

impl HealthScope {
    /// This account of this provider.
    #[must_use]
    pub fn new(provider: impl Into<String>, account: impl Into<String>) -> Self {
        HealthScope { provider: provider.into(), account: account.into() }
    }
}

/// What a health check has shown, as whoever made it says it.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeResult {
    /// The account can be worked with.
    Success {
        /// What the check has seen, such as that of the sandbox (EX-SCH-19). Nothing is decided by it.
        evidence: Value,
    },
    /// It cannot.
    Failure {
        /// What failed, as a word.
        code: String,
        /// What to do about it, in one sentence: the remedy of every dispatch that is refused by it.
        remedy: String,
        /// What the check has seen.
        evidence: Value,
        /// After how many milliseconds the provider wants to be asked again (EX-SCH-21).
        retry_after_ms: Option<f64>,
    },
}

impl ProbeResult {
    /// Reads a result in its JSON form: `{ok, evidence?, code?, remedy?, retryAfterMs?}`. A failure has a code and a remedy
    /// that are not empty.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` that names the member.
    pub fn from_value(value: &Value) -> Result<Self> {
        let wrong = |message: &str| Error::new(Code::ExecutionInput, message);
        let member = |name| value.get(name).filter(|member| !member.is_null());
        let evidence = member("evidence").cloned().unwrap_or(Value::Null);
        let text = |name| {
            let text = member(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            text.map(str::to_owned)
                .ok_or_else(|| wrong(&format!("{name} of a failed probe is no text, or empty")))
        };
        match value.get("ok").and_then(Value::as_bool) {
            None => Err(wrong("ok of a probe's result is no boolean")),
            Some(true) => Ok(ProbeResult::Success { evidence }),
            Some(false) => Ok(ProbeResult::Failure {
                code: text("code")?,
                remedy: text("remedy")?,
                evidence,
                retry_after_ms: member("retryAfterMs").and_then(Value::as_number).map(Number::as_f64),
            }),
        }
    }
}

/// What the last health check of an account of a provider has shown (EX-SCH-10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthRecord {
    /// The provider.
    pub provider: String,
    /// The account. Two accounts of one provider have nothing to do with each other (EX-SCH-09).
    pub account: String,
    /// Whether the check has succeeded.
    pub ok: bool,
    /// When it ended, in milliseconds since 1970.
    pub checked_at_ms: u64,
    /// When the next one is due, and until when a success counts, in milliseconds since 1970.
    pub next_attempt_at_ms: u64,
    /// How many checks have failed in a row.
    pub failures: u64,
    /// What failed, as a word.
    pub code: Option<String>,
    /// What to do about it, in one sentence.
    pub remedy: Option<String>,
    /// What the check has seen. Nothing is decided by it.
    pub evidence: Value,
    /// Members that this package does not know. They are kept.
    pub unknown: Object,
}

/// The members of a record that this package knows.
const MEMBERS: [&str; 10] = [
    "version",
    "provider",
    "account",
    "ok",
    "checkedAt",
    "nextAttemptAt",
    "failures",
    "code",
    "remedy",
    "evidence",
];

impl HealthRecord {
    /// The record of a check that has just succeeded, with nothing to add.
    #[must_use]
    pub fn success(provider: &str, account: &str, checked_at_ms: u64, next_attempt_at_ms: u64) -> Self {
        HealthRecord {
            provider: provider.to_owned(),
            account: account.to_owned(),
            ok: true,
            checked_at_ms,
            next_attempt_at_ms,
            failures: 0,
            code: None,
            remedy: None,
            evidence: Value::Null,
            unknown: Object::new(),
        }
    }

    /// Reads the bytes of a record's file.
    ///
    /// # Errors
    /// As [`HealthRecord::from_value`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let value = std::str::from_utf8(bytes).ok().and_then(|text| Value::parse(text).ok());
        value.as_ref().map_or_else(|| Err(malformed("it is no JSON")), HealthRecord::from_value)
    }

    /// Reads a record. Its version comes before everything else (EX-UPG-09). `code`, `remedy` and `evidence` may be missing
    /// or null.
    ///
    /// # Errors
    /// `EXECUTION_VERSION` with reason `health` for a version other than 1, `EXECUTION_HEALTH` with reason `shape` for
    /// anything else that is no record.
    pub fn from_value(value: &Value) -> Result<Self> {
        let members = value.as_object().ok_or_else(|| malformed("it is no object"))?;
        check_member(members, "health", "the health record")?;
        let text = |name| members.get(name).and_then(Value::as_str).map(str::to_owned);
        let scope = |name| text(name).filter(|text| !text.is_empty());
        let words = |name, why| match members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| malformed(why)),
        };
        let unknown = members.iter().filter(|(name, _)| !MEMBERS.contains(name));
        Ok(HealthRecord {
            provider: scope("provider").ok_or_else(|| malformed("provider is no text"))?,
            account: scope("account").ok_or_else(|| malformed("account is no text"))?,
            ok: members.get("ok").and_then(Value::as_bool).ok_or_else(|| malformed("ok is no boolean"))?,
            checked_at_ms: number(members, "checkedAt").ok_or_else(|| malformed("checkedAt is no time"))?,
            next_attempt_at_ms: number(members, "nextAttemptAt")
                .ok_or_else(|| malformed("nextAttemptAt is no time"))?,
            failures: number(members, "failures")
                .ok_or_else(|| malformed("failures is no integer from 0"))?,
            code: words("code", "code is no text")?,
            remedy: words("remedy", "remedy is no text")?,
            evidence: members.get("evidence").cloned().unwrap_or(Value::Null),
            unknown: unknown.map(|(name, value)| (name, value.clone())).collect(),
        })
    }

    /// The value of the record's file: the known members in the order of EX-SCH-10, then those that this package does not
    /// know.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let known: [Value; 10] = [
            VERSION.into(),
            self.provider.as_str().into(),
            self.account.as_str().into(),
            self.ok.into(),
            self.checked_at_ms.into(),
            self.next_attempt_at_ms.into(),
            self.failures.into(),
            self.code.clone().into(),
            self.remedy.clone().into(),
            self.evidence.clone(),
        ];
        let known = MEMBERS.into_iter().map(str::to_owned).zip(known);
        Value::Object(known.chain(self.unknown.clone()).collect())
    }

    /// The record that a check leaves which has just ended (EX-SCH-15): what it has shown, after how many failures in a row,
    /// and when the next one is due. `jitter` is from 0 to 1. What the record before it held and this package does not know is
    /// kept.
    #[must_use]
    pub fn after(
        before: Option<&HealthRecord>,
        scope: &HealthScope,
        result: ProbeResult,
        now_ms: u64,
        jitter: f64,
        limits: &Limits,
    ) -> Self {
        let unknown = before.map(|record| record.unknown.clone()).unwrap_or_default();
        let due = |delay_ms| backoff::due_at_ms(now_ms, delay_ms);
        let HealthScope { provider, account } = scope;
        let success = HealthRecord::success(provider, account, now_ms, due(limits.health_refresh_ms));
        match result {
            ProbeResult::Success { evidence } => HealthRecord { evidence, unknown, ..success },
            ProbeResult::Failure { code, remedy, evidence, retry_after_ms } => {
                let failures = before.map_or(0, |record| record.failures).saturating_add(1);
                HealthRecord {
                    ok: false,
                    next_attempt_at_ms: due(backoff::delay_ms(failures, jitter, retry_after_ms, limits)),
                    failures,
                    code: Some(code),
                    remedy: Some(remedy),
                    evidence,
                    unknown,
                    ..success
                }
            }
        }
    }

    /// The same record whose authority has ended, for a refresh that begins before it is due (EX-SCH-13).
    #[must_use]
    pub fn without_authority(self, now_ms: u64) -> Self {
        HealthRecord { next_attempt_at_ms: self.next_attempt_at_ms.min(now_ms), ..self }
    }

    /// Whether it is of this scope.
    #[must_use]
    pub fn is_of(&self, scope: &HealthScope) -> bool {
        self.provider == scope.provider && self.account == scope.account
    }

    /// The name of the file of a scope, below the root of a health store (EX-SCH-10).
    #[must_use]
    pub fn file_name(provider: &str, account: &str) -> String {
        let scope = Value::Array(vec![provider.into(), account.into()]);
        format!("{}.json", sha256_hex(scope.to_canonical().as_bytes()))
    }
}

/// Whether a dispatch is authorised: by a success that still counts. At exactly `nextAttemptAt` it does not any more, and
/// without a record nothing is authorised (EX-SCH-11).
#[must_use]
pub fn authorize(record: Option<&HealthRecord>, now_ms: u64) -> bool {
    record.is_some_and(|record| record.ok && now_ms < record.next_attempt_at_ms)
}

/// Refuses a dispatch that [`authorize`] does not authorise.
///
/// # Errors
/// `EXECUTION_HEALTH`, with the record's own remedy where it has one.
pub fn check(record: Option<&HealthRecord>, now_ms: u64) -> Result<()> {
    if authorize(record, now_ms) {
        return Ok(());
    }
    let error = Error::new(
        Code::ExecutionHealth,
        match record {
            None => "no health check of the account is recorded",
            Some(record) if record.ok => "the last success of the health check does not count any more",
            Some(_) => "the last health check has failed",
        },
    );
    let remedy = record.and_then(|record| record.remedy.clone()).filter(|remedy| !remedy.trim().is_empty());
    Err(match remedy {
        Some(remedy) => error.with_remedy(remedy),
        None => error,
    })
}

/// What vouches for a provider's account before an intent. It never probes and never writes.
pub trait Health: Send + Sync + fmt::Debug {
    /// Whether this account of this provider may be dispatched to now.
    ///
    /// # Errors
    /// `EXECUTION_HEALTH`, with the remedy of the record.
    fn check(&self, provider: &str, account: &str, now_ms: u64) -> Result<()>;

    /// What is recorded of this account; none where nothing is, and of who keeps no records. Reads, and takes no lock
    /// (EX-BND-20).
    ///
    /// # Errors
    /// As [`HealthRecord::from_value`], and `EXECUTION_IO`.
    fn status(&self, _provider: &str, _account: &str) -> Result<Option<HealthRecord>> {
        Ok(None)
    }
}

/// One record that stands for its own scope and for no other.
#[derive(Clone, Debug)]
pub struct FixedHealth(pub HealthRecord);

impl Health for FixedHealth {
    fn check(&self, provider: &str, account: &str, now_ms: u64) -> Result<()> {
        let record = &self.0;
        check(Some(record).filter(|record| record.is_of(&HealthScope::new(provider, account))), now_ms)
    }

    fn status(&self, provider: &str, account: &str) -> Result<Option<HealthRecord>> {
        Ok(Some(&self.0).filter(|record| record.is_of(&HealthScope::new(provider, account))).cloned())
    }
}

/// The coordinator vouches for everything (EX-SCH-17).
#[derive(Clone, Copy, Debug, Default)]
pub struct ExternalHealth;

impl Health for ExternalHealth {
    fn check(&self, _provider: &str, _account: &str, _now_ms: u64) -> Result<()> {
        Ok(())
    }
}

pub(super) fn malformed(why: &str) -> Error {
    let error = Error::new(Code::ExecutionHealth, format!("the health record makes no sense: {why}"));
    error.with_reason("shape").with_remedy("let the health check run again, which writes the record anew")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"version":1,"provider":"p","account":"a","ok":false,"checkedAt":1000,"nextAttemptAt":5000,"failures":2,"code":"auth","remedy":"sign in again","evidence":{"n":12345678901234567890},"later":[1]}"#;

    fn with(from: &str, to: &str) -> Result<HealthRecord> {
        let text = RECORD.replace(from, to);
        assert_ne!(text, RECORD, "{from}");
        HealthRecord::parse(text.as_bytes())
    }

    #[test]
    fn a_record_comes_back_as_it_was_with_what_is_not_known() {
        let record = HealthRecord::parse(RECORD.as_bytes()).expect("a record");
        assert_eq!(record.to_value().to_json(), RECORD);
        assert_eq!((record.failures, record.code.as_deref()), (2, Some("auth")));
        let short = with(r#","code":"auth","remedy":"sign in again""#, "").expect("null where missing");
        assert_eq!((short.code, short.remedy), (None, None));
    }

    #[test]
    fn the_version_is_judged_before_the_rest() {
        for version in ["2", "1.0", "\"1\"", "null", "true"] {
            let error =
                with(r#"{"version":1,"provider":"p""#, &format!(r#"{{"version":{version},"provider":7"#))
                    .expect_err(version);
            assert_eq!((error.code(), error.reason()), (Code::ExecutionVersion, Some("health")), "{version}");
        }
        let error = with(r#""version":1,"#, "").expect_err("none");
        assert_eq!(error.code(), Code::ExecutionVersion);
        assert!(error.remedy().contains("a new dispatch is not a migration"), "{}", error.remedy());
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for (from, to) in [
            (r#""provider":"p""#, r#""provider":"""#),
            (r#""account":"a""#, r#""account":null"#),
            (r#""ok":false"#, r#""ok":0"#),
            (r#""checkedAt":1000"#, r#""checkedAt":1000.5"#),
            (r#""nextAttemptAt":5000"#, r#""nextAttemptAt":null"#),
            (r#""failures":2"#, r#""failures":-1"#),
            (r#""code":"auth""#, r#""code":7"#),
            (r#""remedy":"sign in again""#, r#""remedy":{}"#),
        ] {
            let error = with(from, to).expect_err(to);
            assert_eq!((error.code(), error.reason()), (Code::ExecutionHealth, Some("shape")), "{to}");
        }
        for text in ["", "[]", "{", "null"] {
            let error = HealthRecord::parse(text.as_bytes()).expect_err(text);
            assert_eq!(error.code(), Code::ExecutionHealth, "{text}");
        }
        assert!(HealthRecord::parse(b"\xff").is_err());
    }

    #[test]
    fn a_refusal_has_the_remedy_of_the_record() {
        let record = HealthRecord::parse(RECORD.as_bytes()).expect("a record");
        let error = check(Some(&record), 2000).expect_err("it has failed");
        assert_eq!((error.code(), error.remedy()), (Code::ExecutionHealth, "sign in again"));
        for record in [None, Some(HealthRecord { remedy: Some(" ".into()), ..record })] {
            let error = check(record.as_ref(), 2000).expect_err("nothing vouches");
            assert_eq!(error.remedy(), Code::ExecutionHealth.remedy());
        }
    }

    #[test]
    fn one_record_stands_for_its_own_scope_and_the_coordinator_for_all() {
        let fixed = FixedHealth(HealthRecord::success("p", "a", 1000, 5000));
        assert!(fixed.check("p", "a", 4999).is_ok());
        for (provider, account, now_ms) in [("p", "b", 1000), ("q", "a", 1000), ("p", "a", 5000)] {
            let error = fixed.check(provider, account, now_ms).expect_err("nothing vouches");
            assert_eq!(error.code(), Code::ExecutionHealth);
        }
        assert!(ExternalHealth.check("q", "b", 0).is_ok());
    }

    #[test]
    fn each_scope_has_a_file_of_its_own() {
        let name = HealthRecord::file_name;
        assert_eq!(name("p", "a"), format!("{}.json", sha256_hex(br#"["p","a"]"#)));
        assert_ne!(name("p", "a"), name("a", "p"));
        assert_ne!(name("p,", "a"), name("p", ",a"));
    }
}
