//! EX-ART-37, EX-ART-39: what a publication does next, row by row, and what no combination of facts may lead to.

use gallivant_core::publication::{Block, Facts, Found, Next, Status, functions, publication_next};

const INPUT: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const APPLIED: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const OTHER: &str = "cccccccccccccccccccccccccccccccccccccccc";

fn found(status: Status) -> Found {
    Found { status, applied_head: Some(APPLIED.to_owned()) }
}

/// Everything as it should be, at this head.
fn facts(head: &str) -> Facts {
    Facts {
        owner_matches: true,
        fingerprint_matches: true,
        head: Some(head.to_owned()),
        input_head: Some(INPUT.to_owned()),
        applied_matches: head == APPLIED,
        clean: true,
        evidence_complete: true,
        provenance: true,
    }
}

fn next(status: Status, facts: &Facts) -> Next {
    publication_next(Some(&found(status)), facts)
}

/// Every combination of status and facts.
fn all() -> Vec<(Option<Found>, Facts)> {
    let statuses = [None].into_iter().chain(Status::ALL.iter().copied().map(Some));
    let heads = [None, Some(INPUT), Some(APPLIED), Some(OTHER)];
    let mut all = Vec::new();
    for status in statuses {
        for head in heads {
            for bits in 0_u8..64 {
                let bit = |place: u8| bits & (1 << place) != 0;
                let facts = Facts {
                    owner_matches: bit(0),
                    fingerprint_matches: bit(1),
                    head: head.map(str::to_owned),
                    input_head: Some(INPUT.to_owned()),
                    applied_matches: bit(2),
                    clean: bit(3),
                    evidence_complete: bit(4),
                    provenance: bit(5),
                };
                all.push((status.map(found), facts));
            }
        }
    }
    all
}

#[test]
fn ex_art_39_another_owner_or_fingerprint_is_refused_before_anything_else() {
    for (found, facts) in all() {
        let refused = publication_next(found.as_ref(), &facts) == Next::Refuse;
        assert_eq!(refused, !facts.owner_matches || !facts.fingerprint_matches, "{found:?} {facts:?}");
    }
    assert_eq!(Next::Refuse.reason(), Some("foreign"));
}

#[test]
fn ex_art_39_a_result_without_a_checkpoint_is_applied() {
    assert_eq!(publication_next(None, &facts(INPUT)), Next::Apply);
}

#[test]
fn ex_art_39_a_begun_application_is_repeated_taken_over_or_blocked() {
    assert_eq!(next(Status::Applying, &facts(INPUT)), Next::Apply);
    assert_eq!(next(Status::Applying, &facts(APPLIED)), Next::Verify);
    let blocked = Next::Block(Block::Validation);
    for other in [
        Facts { clean: false, ..facts(INPUT) },
        Facts { applied_matches: false, ..facts(APPLIED) },
        facts(OTHER),
        Facts { head: None, ..facts(INPUT) },
        Facts { head: None, input_head: None, ..facts(INPUT) },
    ] {
        assert_eq!(next(Status::Applying, &other), blocked, "{other:?}");
    }
    // A child that equals the manifest is taken over whatever stands beside it; what verifies says that it is not clean.
    assert_eq!(next(Status::Applying, &Facts { clean: false, ..facts(APPLIED) }), Next::Verify);
}

#[test]
fn ex_art_39_an_interrupted_verification_is_blocked_whatever_is_found() {
    for (found, facts) in all() {
        let is_verifying = found.as_ref().is_some_and(|found| found.status == Status::Verifying);
        if is_verifying && facts.owner_matches && facts.fingerprint_matches {
            let blocked = Next::Block(Block::Interrupted);
            assert_eq!(publication_next(found.as_ref(), &facts), blocked, "{facts:?}");
        }
    }
}

#[test]
fn ex_upg_03_a_verification_from_before_an_upgrade_is_interrupted_too() {
    let text = r#"{"checkpoint":{"status":"verifying"},"facts":{"ownerMatches":true,"fingerprintMatches":true,"head":null,
        "inputHead":null,"appliedMatches":true,"clean":true,"evidenceComplete":true,"provenance":true}}"#;
    let answer = functions::call("publicationNext", text).expect("an answer").to_json();
    assert_eq!(answer, r#"{"action":"block","reason":"verification-interrupted"}"#);
}

#[test]
fn ex_art_39_a_verified_result_is_published_or_blocked_by_what_is_missing() {
    assert_eq!(next(Status::Verified, &facts(APPLIED)), Next::Publish);
    for (facts, block) in [
        (Facts { provenance: false, ..facts(APPLIED) }, Block::SandboxUnavailable),
        (facts(OTHER), Block::RevisionChanged),
        (facts(INPUT), Block::RevisionChanged),
        (Facts { head: None, ..facts(APPLIED) }, Block::RevisionChanged),
        (Facts { clean: false, ..facts(APPLIED) }, Block::Dirty),
        (Facts { evidence_complete: false, ..facts(APPLIED) }, Block::Verification),
    ] {
        assert_eq!(next(Status::Verified, &facts), Next::Block(block), "{facts:?}");
    }
    let headless = Found { status: Status::Verified, applied_head: None };
    let nowhere = Facts { head: None, ..facts(APPLIED) };
    assert_eq!(publication_next(Some(&headless), &nowhere), Next::Block(Block::RevisionChanged));
}

#[test]
fn ex_art_39_what_has_ended_is_given_back() {
    for (found, facts) in all() {
        let status = found.as_ref().map(|found| found.status);
        let has_ended = matches!(status, Some(Status::Published | Status::Blocked));
        if facts.owner_matches && facts.fingerprint_matches {
            let is_return = publication_next(found.as_ref(), &facts) == Next::Return;
            assert_eq!(is_return, has_ended, "{found:?} {facts:?}");
        }
    }
}

#[test]
fn i14_nothing_is_published_without_every_proof_and_i15_nothing_is_verified_again() {
    let mut published = 0;
    for (found, facts) in all() {
        match publication_next(found.as_ref(), &facts) {
            Next::Publish => {
                published += 1;
                let found = found.expect("a checkpoint");
                assert_eq!(found.status, Status::Verified);
                assert!(facts.provenance && facts.clean && facts.evidence_complete, "{facts:?}");
                assert!(facts.owner_matches && facts.fingerprint_matches, "{facts:?}");
                assert_eq!(facts.head, found.applied_head);
            }
            Next::Verify => assert_eq!(found.expect("a checkpoint").status, Status::Applying),
            Next::Apply => assert!(found.is_none_or(|found| found.status == Status::Applying)),
            Next::Return | Next::Block(_) | Next::Refuse => {}
        }
    }
    // Of the one status with every proof, the other fact may be either.
    assert_eq!(published, 2);
}

#[test]
fn ex_art_37_a_status_moves_only_forward() {
    let all = || [None].into_iter().chain(Status::ALL.iter().copied().map(Some));
    let mut allowed = Vec::new();
    for before in all() {
        for after in Status::ALL.iter().copied() {
            if after.follows(before) {
                allowed.push((before.map(Status::word), after.word()));
            }
        }
    }
    let steps = [
        (None, "applying"),
        (None, "blocked"),
        (Some("applying"), "verifying"),
        (Some("applying"), "blocked"),
        (Some("verifying"), "verified"),
        (Some("verifying"), "blocked"),
        (Some("verified"), "published"),
        (Some("verified"), "blocked"),
    ];
    assert_eq!(allowed, steps);
}

#[test]
fn ex_sea_16_the_functions_facts_are_all_wanted_and_its_answer_is_action_and_reason() {
    let members = r#""ownerMatches":true,"fingerprintMatches":true,"head":"a","inputHead":"a","appliedMatches":true,"clean":true,"evidenceComplete":true,"provenance":true"#;
    let call = |checkpoint: &str, facts: &str| {
        functions::call("publicationNext", &format!(r#"{{"checkpoint":{checkpoint},"facts":{{{facts}}}}}"#))
    };
    assert_eq!(call("null", members).expect("an answer").to_json(), r#"{"action":"apply"}"#);
    let verified = r#"{"status":"verified","appliedHead":"b"}"#;
    let answer = call(verified, members).expect("an answer").to_json();
    assert_eq!(answer, r#"{"action":"block","reason":"revision-changed"}"#);
    let kept = members.replace(r#""provenance":true"#, r#""provenance":1"#);
    for facts in [kept.as_str(), ""] {
        let error = call("null", facts).expect_err("a fact is missing");
        assert_eq!(error.code(), gallivant_core::Code::ExecutionInput);
    }
    let error = call(r#"{"status":"done"}"#, members).expect_err("no status");
    assert_eq!(error.code(), gallivant_core::Code::ExecutionInput);
    assert_eq!(functions::call("crc32c", r#"{"text":"a"}"#).expect("a sum").to_json(), r#""c1d04330""#);
}
