//! Sections A and B: files, encoding, constants, decoding.

use gallivant_core::harness_state::{
    Ask, BlockedOn, InputBuffer, MAX_RECORD_BYTES, Observation, Options, Outcome, Reader, Refusal, State,
    decode, mint_token,
};
use gallivant_core::{Code, Host};

use crate::support::{NOW, Seat, active, claimant, identity, idle, line, observe};

#[test]
fn hs_01_record_lock_and_floor_stand_in_the_agents_directory() {
    let seat = Seat::new();
    seat.owner("tok-a");
    assert_eq!(
        seat.names(),
        [".harness-context.lock", ".harness-state.lock", ".harness-state.seq", "harness-state"]
    );
    let by_directory = seat.read();
    let by_record = Reader::open(seat.path("harness-state"), &seat.options, seat.machine.host()).read(None);
    assert!(by_directory.is_some());
    assert_eq!(by_directory, by_record);
}

#[test]
fn hs_02_a_record_is_one_line_of_compact_utf8() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let odd = "a\"b\\c\n\r\t\u{0}\u{1f} é \u{2028} 🦀";
    observe(&writer, &active().with_reason(odd));
    let text = seat.text("harness-state").expect("a record");
    assert_eq!(text.matches('\n').count(), 1);
    assert!(text.ends_with("}\n"));
    assert!(text.contains("é \u{2028} 🦀"), "non-ASCII is written as itself: {text}");
    assert!(!text.contains(": ") && !text.contains(", "), "compact: {text}");
    assert_eq!(seat.record().reason.as_deref(), Some(odd));
}

#[test]
fn hs_03_files_are_private_and_no_umask_takes_them_from_their_owner() {
    let seat = Seat::new();
    let dir = seat.dir.join("new/deep");
    let status = crate::support::in_forked_child(|| {
        // SAFETY: the umask of the forked child only.
        unsafe { libc::umask(0o777) };
        let claimed = gallivant_core::harness_state::claim(
            &dir,
            &claimant("tok-a"),
            &Options::default(),
            &Host::system(),
        );
        u8::from(claimed.is_err())
    });
    assert_eq!(status, 0, "the directory is created with its parents");
    for name in ["harness-state", ".harness-state.seq", ".harness-state.lock", ".harness-context.lock"] {
        assert_eq!(seat.mode(&format!("new/deep/{name}")), 0o600, "{name}");
    }
    assert_eq!(seat.mode("new") & 0o700, 0o700);
    assert_eq!(seat.mode("new/deep") & 0o700, 0o700);
}

#[test]
fn hs_04_staged_names_are_unique_removed_on_failure_and_swept_when_abandoned() {
    let seat = Seat::new();
    seat.claim("tok-a");
    let staged: Vec<String> = seat
        .machine
        .operations()
        .iter()
        .filter_map(|operation| operation.split(' ').find(|word| word.contains("tmp-")).map(str::to_owned))
        .collect();
    let record =
        staged.iter().find(|name| name.starts_with(".harness-state.tmp-")).expect("the record is staged");
    let floor =
        staged.iter().find(|name| name.starts_with(".harness-state.seq.tmp-")).expect("the floor is staged");
    let parts: Vec<&str> = record.trim_start_matches(".harness-state.tmp-").split('-').collect();
    let number = |part: &str| u64::from_str_radix(part, 36);
    assert_eq!(number(parts[0]), Ok(std::process::id().into()), "{record}");
    assert_eq!(number(parts[1]), Ok(seat.machine.host().processes.own_start()), "{record}");
    assert!(parts[2].len() == 7 && number(parts[2]).is_ok(), "36 random bits: {record}");
    assert_ne!(record.rsplit('-').next(), floor.rsplit('-').next());

    // The clock of the test is years ahead of the disk's, so what is planted now was abandoned long ago.
    seat.plant(".harness-state.tmp-1-2-3", "x");
    seat.plant(".harness-state.seq.tmp-1-2-3", "x");
    seat.plant(".harness-state.tmpfile", "not ours");
    assert_eq!(seat.claim("tok-b").swept, 2);
    assert!(!seat.names().iter().any(|name| name.contains("tmp-")));
    assert!(seat.path(".harness-state.tmpfile").exists());

    let young = Seat::new();
    let real_now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    young.machine.set_wall_ms(u64::try_from(real_now.as_millis()).expect("in range"));
    young.plant(".harness-state.tmp-1-2-3", "x");
    assert_eq!(young.claim("tok-a").swept, 0, "a young one may be in use");

    let failing = Seat::with_faults(Some(r#"[{"on":"rename","nth":1,"do":"error","errno":"EIO"}]"#));
    let error = gallivant_core::harness_state::claim(
        &failing.dir,
        &claimant("tok-a"),
        &failing.options,
        failing.machine.host(),
    )
    .expect_err("the rename fails");
    assert_eq!(error.code(), Code::HarnessStateIo);
    assert_eq!(failing.names(), [".harness-state.lock"]);
}

#[test]
fn hs_05_the_schema_is_compared_whole_and_its_spellings_are_options() {
    let seat = Seat::new();
    for foreign in
        ["st.harness-state.v1", "st2.harness-state.v1 ", "ST2.harness-state.v1", "st2.harness-state.v10"]
    {
        seat.plant("harness-state", line(&[("schema", &format!("\"{foreign}\""))]));
        assert_eq!(seat.reads(), (State::Unknown, Some("unsupported-schema".to_owned())), "{foreign}");
    }
    let mut seat = Seat::new();
    seat.options.also_accepted_schemas = vec!["st.harness-state.v1".to_owned()];
    seat.plant("harness-state", line(&[("schema", "\"st.harness-state.v1\"")]));
    assert_eq!(seat.reads().0, State::Active);
    let writer = seat.writer("tok-a", None);
    assert_eq!(observe(&writer, &idle()), Outcome::Landed);
    assert_eq!(seat.record().schema, "st.harness-state.v1", "an adopted session keeps its spelling");
    seat.claim("tok-b");
    assert_eq!(seat.record().schema, "st2.harness-state.v1", "a new claim writes ours");
}

#[test]
fn hs_06_keys_stand_in_their_order_and_null_is_never_written() {
    let seat = Seat::plain();
    let writer = seat.owner("tok-a");
    let mut full = Observation { exit: Some("exit 0".to_owned()), ..active() }.with_reason("r");
    full.input_buffer = InputBuffer::Empty;
    observe(&writer, &full);
    assert_eq!(
        seat.text("harness-state").expect("a record"),
        format!(
            "{{\"schema\":\"st2.harness-state.v1\",\"agent\":\"host.worker\",\"harness\":\"codex\",\
             \"state\":\"active\",\"blockedOn\":\"none\",\"inputBuffer\":\"empty\",\"ask\":\"none\",\
             \"reason\":\"r\",\"exit\":\"exit 0\",\"ptySession\":\"worker\",\"incarnation\":\"tok-a\",\"seq\":1,\
             \"sinceMs\":{since},\"writtenAtMs\":{since},\"transitions\":1}}\n",
            since = NOW + 1
        )
    );
    observe(&writer, &Observation::new(State::Ended));
    let text = seat.text("harness-state").expect("a record");
    assert!(!text.contains("null") && !text.contains("reason") && !text.contains("exit"), "{text}");
}

#[test]
fn hs_07_the_three_times_are_options_with_the_documented_defaults() {
    let defaults = Options::default();
    assert_eq!((defaults.stale_ms, defaults.refresh_ms, defaults.future_skew_ms), (900_000, 300_000, 60_000));
    let mut seat = Seat::new();
    seat.options.stale_ms = 5_000;
    seat.options.refresh_ms = 1_000;
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    seat.advance(999);
    assert_eq!(observe(&writer, &active()), Outcome::Coalesced);
    seat.advance(2);
    assert_eq!(observe(&writer, &active()), Outcome::Landed);
    seat.advance(4_999);
    assert_eq!(seat.reads().0, State::Active);
    seat.advance(1);
    assert_eq!(seat.reads(), (State::Unknown, Some("stale".to_owned())));
}

#[test]
fn hs_08_tokens_are_unique_and_the_empty_one_is_refused() {
    let host = Host::system();
    let tokens: std::collections::HashSet<String> = (0..10_000).map(|_| mint_token(&host)).collect();
    assert_eq!(tokens.len(), 10_000);
    for token in &tokens {
        let parts: Vec<&str> = token.split('-').collect();
        assert_eq!(parts.len(), 4, "pid, start, counter, random bits: {token}");
        assert_eq!(parts[0], std::process::id().to_string());
        assert!(parts[1].parse::<u64>().is_ok() && parts[2].parse::<u64>().is_ok() && parts[3].len() == 16);
        assert!(!Options::default().is_wrapperless(token));
    }
    let seat = Seat::new();
    let refused =
        gallivant_core::harness_state::Writer::open(&seat.dir, identity(""), None, &seat.options, &host);
    assert_eq!(refused.expect_err("refused").code(), Code::HarnessStateEmptyToken);
    let refused = gallivant_core::harness_state::claim(&seat.dir, &claimant(""), &seat.options, &host);
    assert_eq!(refused.expect_err("refused").code(), Code::HarnessStateEmptyToken);
    assert!(seat.names().is_empty());
}

#[test]
fn hs_09_freshness_comes_from_the_bytes_and_never_from_file_times() {
    let seat = Seat::new();
    seat.plant("harness-state", line(&[("writtenAtMs", &(NOW - 900_000).to_string())]));
    assert_eq!(seat.reads().1.as_deref(), Some("stale"), "the file itself is brand new");
    seat.plant("harness-state", line(&[("writtenAtMs", &(NOW + 30_000).to_string())]));
    assert_eq!(seat.reads().0, State::Active, "a stamp a little ahead has age 0");
    seat.machine.set_wall_ms(0);
    seat.plant("harness-state", line(&[("writtenAtMs", "0")]));
    assert_eq!(seat.reads().0, State::Active);
}

#[test]
fn hs_10_each_required_key_is_required() {
    for key in [
        "schema",
        "agent",
        "harness",
        "state",
        "blockedOn",
        "inputBuffer",
        "sinceMs",
        "writtenAtMs",
        "transitions",
    ] {
        let missing = decode(line(&[(key, "")]).as_bytes());
        assert!(missing.expect_err(key).to_string().contains(key));
    }
    assert!(decode(line(&[]).as_bytes()).is_ok());
}

#[test]
fn hs_11_absent_optional_keys_have_defaults_and_null_is_absence_for_three_only() {
    let bare = line(&[("ask", ""), ("incarnation", ""), ("seq", ""), ("ptySession", "")]);
    let record = decode(bare.as_bytes()).expect("it decodes");
    assert_eq!(record.ask.value, Ask::None);
    assert_eq!((record.incarnation.as_str(), record.seq), ("", 0));
    assert_eq!((record.reason, record.exit, record.pty_session), (None, None, None));
    let nulls = line(&[("reason", "null"), ("exit", "null"), ("ptySession", "null")]);
    let record = decode(nulls.as_bytes()).expect("it decodes");
    assert_eq!((record.reason, record.exit, record.pty_session), (None, None, None));
    for key in
        ["schema", "agent", "harness", "state", "blockedOn", "inputBuffer", "ask", "incarnation", "seq"]
    {
        assert!(decode(line(&[(key, "null")]).as_bytes()).is_err(), "{key}");
    }
}

#[test]
fn hs_12_unknown_keys_are_skipped_at_any_depth_and_size_even_repeated() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let large = format!("\"{}\"", "y".repeat(2_000_000));
    let text = line(&[("later", &deep), ("big", &large), ("n", "1e999")]);
    let doubled = text.replacen("{\"schema\"", "{\"later\":{\"a\":\"\\ud800\"},\"schema\"", 1);
    assert_eq!(decode(doubled.as_bytes()), decode(line(&[]).as_bytes()));
}

#[test]
fn hs_13_state_words_are_exact_and_any_other_is_unknown() {
    let known =
        [("ready", State::Ready), ("idle", State::Idle), ("active", State::Active), ("child", State::Child)];
    for (word, state) in known.into_iter().chain([("ended", State::Ended)]) {
        assert_eq!(
            decode(line(&[("state", &format!("\"{word}\""))]).as_bytes()).expect(word).state.value,
            state
        );
    }
    for word in ["", "Idle", "ACTIVE", "idle ", "compacting", "unknown"] {
        let record =
            decode(line(&[("state", &format!("\"{word}\""))]).as_bytes()).expect("a word is no damage");
        assert_eq!(record.state.value, State::Unknown, "{word}");
    }
}

#[test]
fn hs_14_blocked_on_and_input_buffer_words() {
    for (word, value) in
        [("none", BlockedOn::None), ("human", BlockedOn::Human), ("robot", BlockedOn::Unknown)]
    {
        let record = decode(line(&[("blockedOn", &format!("\"{word}\""))]).as_bytes()).expect(word);
        assert_eq!(record.blocked_on.value, value);
    }
    let words = [
        ("empty", InputBuffer::Empty),
        ("nonempty", InputBuffer::Nonempty),
        ("unknown", InputBuffer::Unknown),
        ("full", InputBuffer::Unknown),
    ];
    for (word, value) in words {
        let record = decode(line(&[("inputBuffer", &format!("\"{word}\""))]).as_bytes()).expect(word);
        assert_eq!(record.input_buffer.value, value);
    }
}

#[test]
fn hs_15_ask_words() {
    let words = [
        ("none", Ask::None),
        ("permission", Ask::Permission),
        ("question", Ask::Question),
        ("review", Ask::Review),
        ("Permission", Ask::Unknown),
    ];
    for (word, value) in words {
        let record = decode(line(&[("ask", &format!("\"{word}\""))]).as_bytes()).expect(word);
        assert_eq!(record.ask.value, value);
    }
}

#[test]
fn hs_16_an_unrecognised_word_never_becomes_definite_and_never_fails_the_record() {
    let seat = Seat::new();
    seat.plant(
        "harness-state",
        line(&[("blockedOn", "\"committee\""), ("inputBuffer", "\"half\""), ("ask", "\"bribe\"")]),
    );
    let derived = seat.read().expect("a record");
    assert_eq!(derived.state, State::Active);
    assert_eq!(
        (derived.blocked_on, derived.input_buffer, derived.ask),
        (BlockedOn::Unknown, InputBuffer::Unknown, Ask::Unknown)
    );
    seat.plant("harness-state", line(&[("state", "\"napping\"")]));
    assert_eq!(seat.reads().0, State::Unknown);
}

#[test]
fn hs_17_integers_are_exact_and_nothing_else_is_an_integer() {
    for number in [0, (1 << 53) + 1, u64::MAX] {
        let record = decode(line(&[("seq", &number.to_string())]).as_bytes()).expect("it decodes");
        assert_eq!(record.seq, number);
    }
    for bad in ["1.0", "1e3", "-1", "-0", "\"1\"", "18446744073709551616", "true", "[1]", "01"] {
        for key in ["seq", "sinceMs", "writtenAtMs", "transitions"] {
            assert!(decode(line(&[(key, bad)]).as_bytes()).is_err(), "{key}={bad}");
        }
    }
}

#[test]
fn hs_18_absent_unreadable_and_parsed_are_told_apart() {
    let seat = Seat::new();
    assert_eq!(seat.read(), None, "absent is not found, nothing else");
    let malformed: [(&str, Vec<u8>); 14] = [
        ("empty", Vec::new()),
        ("zero-filled", vec![0; 300]),
        ("byte order mark", [b"\xef\xbb\xbf", line(&[]).as_bytes()].concat()),
        ("trailing bytes", [line(&[]).as_bytes(), b"x"].concat()),
        ("two objects", line(&[]).repeat(2).into_bytes()),
        ("repeated key", line(&[]).replacen("{\"schema\"", "{\"seq\":1,\"schema\"", 1).into_bytes()),
        (
            "repeated key, escaped",
            line(&[]).replacen("{\"schema\"", "{\"\\u0073eq\":1,\"schema\"", 1).into_bytes(),
        ),
        ("lone surrogate in a known field", line(&[("agent", "\"\\ud800\"")]).into_bytes()),
        ("lone surrogate in a key", line(&[("\\udc00", "1")]).into_bytes()),
        ("bad UTF-8 in an unknown field", line(&[("x", "\"@\"")]).replace('@', "\u{1}").into_bytes()),
        ("array", b"[\"st2.harness-state.v1\",\"a\",\"b\"]".to_vec()),
        ("word in object form", line(&[("state", "{\"active\":null}")]).into_bytes()),
        ("null", b"null\n".to_vec()),
        ("cut", line(&[]).into_bytes()[..77].to_vec()),
    ];
    for (what, mut bytes) in malformed {
        if what.starts_with("bad UTF-8") {
            let at = bytes.iter().position(|byte| *byte == 1).expect("the mark");
            bytes[at] = 0xff;
        }
        seat.plant("harness-state", bytes);
        assert_eq!(seat.reads(), (State::Unknown, Some("malformed-record".to_owned())), "{what}");
    }
    // Large enough for the limit with white space, which is otherwise allowed around the object.
    let padding = " ".repeat(usize::try_from(MAX_RECORD_BYTES).expect("in range") - line(&[]).len());
    seat.plant("harness-state", line(&[]) + &padding);
    assert_eq!(seat.reads().0, State::Active);
    seat.plant("harness-state", line(&[]) + &padding + " ");
    assert_eq!(seat.reads().1.as_deref(), Some("malformed-record"));
    let writer = seat.writer("tok-a", None);
    assert_eq!(observe(&writer, &idle()), Outcome::Refused(Refusal::Unreadable));
    std::fs::remove_file(seat.path("harness-state")).expect("removed");
    std::fs::create_dir(seat.path("harness-state")).expect("a directory in its place");
    assert_eq!(seat.reads().1.as_deref(), Some("unreadable-record"));
}

#[test]
fn a_sparse_file_of_four_gibibytes_is_not_read() {
    let seat = Seat::new();
    let file = std::fs::File::create(seat.path("harness-state")).expect("a file");
    file.set_len(4 << 30).expect("sparse");
    assert_eq!(seat.reads().1.as_deref(), Some("malformed-record"));
    assert_eq!(seat.claim("tok-a").sequence, 1);
}
