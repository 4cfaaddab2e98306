//! Readiness before anything is begun: EX-VER-37, EX-VER-38, EX-VER-41.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use gallivant_core::json::Value;
use gallivant_core::verification::running::{End, Invocation, Sink, Stop};
use gallivant_core::verification::{CommandHost, SystemCommands, has_provenance};
use gallivant_core::{Code, Host};

use super::ground::{Ground, PROVED, Scripted, blocked, names, readiness, sandbox_works, says};

#[test]
fn ex_ver_37_readiness_probes_an_empty_commit_with_the_empty_environment() {
    let place = tempfile::tempdir().expect("a directory");
    let seen = std::sync::Arc::new(Mutex::new(None));
    let kept = seen.clone();
    let host = Scripted::new().with_probe(Box::new(move |invocation, output| {
        *kept.lock().expect("a lock") = Some(invocation.clone());
        output(PROVED.as_bytes());
        Ok(End::Exited(0))
    }));
    let evidence = readiness(&host, place.path(), &|| false).expect("ready");
    assert_eq!(evidence.get("driver").and_then(Value::as_str), Some("bubblewrap"));
    let invocation = seen.lock().expect("a lock").take().expect("a probe");
    for (name, _) in &invocation.environment {
        let name = name.to_string_lossy();
        let is_ours = ["PATH", "HOME", "TMPDIR"].contains(&name.as_ref())
            || ["XDG_", "GIT_", "npm_config_"].iter().any(|prefix| name.starts_with(prefix));
        assert!(is_ours, "{name}");
    }
    assert!(host.texts().is_empty(), "nothing but the probe");
    // The real one reads the view and cannot write its index.
    let real = readiness(&SystemCommands::new(&Host::system()), place.path(), &|| false);
    assert!(names(place.path()).is_empty());
    if !sandbox_works() {
        println!("no sandbox works on this machine: the refusal was checked instead");
        assert_eq!(real.expect_err("refused").code(), Code::ExecutionVerificationSandbox);
        return;
    }
    let evidence = real.expect("ready");
    let checks = evidence.get("probe").and_then(|probe| probe.get("checks")).expect("checks").clone();
    assert_eq!(checks.get("gitReads").and_then(Value::as_str), Some("work"));
    assert_eq!(checks.get("indexWrites").and_then(Value::as_str), Some("fail"));
    let wrapped = [("sandbox", evidence)].into_iter().collect::<gallivant_core::json::Object>();
    assert!(has_provenance(&Value::from(wrapped)));
}

#[test]
fn ex_ver_38_whatever_is_no_proof_refuses_with_the_remedy_and_leaves_nothing() {
    let refused = |host: &dyn CommandHost, stop: Stop<'_>| {
        let place = tempfile::tempdir().expect("a directory");
        let error = readiness(host, place.path(), stop).expect_err("refused");
        assert_eq!(error.code(), Code::ExecutionVerificationSandbox);
        assert!(error.remedy().contains("/usr/bin/bwrap"), "{}", error.remedy());
        assert!(names(place.path()).is_empty(), "{:?}", names(place.path()));
        error.message()
    };
    let never = || false;
    let missing = Scripted::new().with_probe(Box::new(|_, _| Err(io::ErrorKind::NotFound.into())));
    assert!(refused(&missing, &never).contains("missing"));
    let restricted = says("bwrap: setting up uid map: Permission denied\n", End::Unreported);
    assert!(refused(&Scripted::new().with_probe(restricted), &never).contains("Permission denied"));
    let failed = says(&PROVED.replace("outsideReads=fail", "outsideReads=work"), End::Exited(0));
    assert!(refused(&Scripted::new().with_probe(failed), &never).contains("outsideReads"));
    let unproved = says(&PROVED.replace("hostConnection=fails", "hostConnection=untried"), End::Exited(0));
    assert!(refused(&Scripted::new().with_probe(unproved), &never).contains("hostConnection"));
    let slow = says(PROVED, End::TimedOut);
    assert!(refused(&Scripted::new().with_probe(slow), &never).contains("time"));
    refused(&Scripted::new(), &|| true);
    // Without git there is no view, and so no proof.
    #[derive(Debug)]
    struct NoGit;
    impl CommandHost for NoGit {
        fn run(&self, _: &Invocation, _: Sink<'_>, _: Stop<'_>) -> io::Result<End> {
            Err(io::ErrorKind::NotFound.into())
        }
    }
    assert!(refused(&NoGit, &never).contains("git is missing"));
    // A place that is not there.
    let error = readiness(&Scripted::new(), Path::new("/nonexistent/place"), &never).expect_err("refused");
    assert_eq!(error.code(), Code::ExecutionVerificationSandbox);
}

#[test]
fn ex_ver_41_publication_probes_the_checkout_itself_whatever_readiness_said() {
    let place = tempfile::tempdir().expect("a directory");
    readiness(&Scripted::new(), place.path(), &|| false).expect("ready");
    let ground = Ground::new();
    let checkout = ground.checkout.clone();
    let host = Scripted::new().with_probe(Box::new(move |invocation, output| {
        let bound = invocation.arguments.windows(3).any(|words| words[0] == "--bind" && words[1] == checkout);
        assert!(bound, "the checkout is what is probed");
        output(b"privateWrites=work\n");
        Ok(End::Exited(0))
    }));
    let verdict = ground.scripted(&["one"], &host).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "verification-sandbox-unavailable");
    assert!(host.texts().is_empty());
}
