//! The sandbox: EX-VER-20 to EX-VER-32, in the machine's own where there is one.

use std::io;
use std::path::{Path, PathBuf};

use gallivant_core::json::Value;
use gallivant_core::verification::running::{End, Invocation, Sink, Stop};
use gallivant_core::verification::sandbox::{Layout, Sandbox};
use gallivant_core::verification::{
    CommandHost, Driver, Runtime, SystemCommands, has_provenance, is_complete,
};

use super::ground::{Ground, PROVED, Scripted, approved, blocked, names, sandbox_works, says, verified};

#[test]
fn ex_ver_20_without_a_sandbox_no_command_runs() {
    let ground = Ground::new();
    let host = Scripted::new().with_probe(Box::new(|_, _| Err(io::ErrorKind::NotFound.into())));
    let verdict = ground.scripted(&["one"], &host).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "verification-sandbox-unavailable");
    assert!(host.texts().is_empty());
}

#[test]
fn ex_ver_21_on_macos_a_profile_denies_what_it_does_not_name() {
    // The profile is written for and not tried: its text is what can be judged here.
    let layout = Layout {
        checkout: "/Users/o/checkout".into(),
        profile: "/private/tmp/p".into(),
        runtime: None,
        hidden: vec![gallivant_core::verification::sandbox::Hidden::Directory(
            "/Users/o/checkout/.git".into(),
        )],
    };
    let sandbox = Sandbox::new(Driver::SandboxExec, layout, &[]);
    let invocation = sandbox.invocation("make test", &[], 1);
    assert_eq!(invocation.program, Path::new("/usr/bin/sandbox-exec"));
    let words: Vec<_> = invocation.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    assert_eq!(words[0], "-p");
    assert!(words[1].starts_with("(version 1)\n(deny default)\n(import \"dyld-support.sb\")\n"));
    assert!(words[1].ends_with("(deny file-read* file-write* (subpath \"/Users/o/checkout/.git\"))\n"));
    assert_eq!(words[2..], ["/bin/sh", "-c", "make test"]);
    assert!(!words[1].contains("network"));
}

#[test]
fn ex_ver_22_on_linux_bubblewrap_makes_four_namespaces_and_a_tree() {
    let ground = Ground::new();
    let host = Scripted::new();
    verified(&ground.scripted(&["one"], &host).expect("a verdict"));
    let seen = &host.seen()[0];
    assert_eq!(seen.program, Path::new("/usr/bin/bwrap"));
    for option in ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--die-with-parent"] {
        assert!(seen.arguments.iter().any(|word| word == option), "{option}");
    }
    // The namespaces of a real command are others than ours.
    let ground = Ground::new();
    let Some(output) =
        ground.output_of("for n in user pid ipc net mnt; do readlink /proc/self/ns/$n; done", 0)
    else {
        return;
    };
    let ours = ["user", "pid", "ipc", "net", "mnt"].map(|name| {
        std::fs::read_link(format!("/proc/self/ns/{name}")).expect("a link").display().to_string()
    });
    assert_eq!(output.lines().count(), 5, "{output}");
    assert!(output.lines().all(|line| !ours.iter().any(|ours| ours == line)), "{output}");
}

#[test]
fn ex_ver_23_other_systems_have_no_driver() {
    let wanted = match std::env::consts::OS {
        "linux" => Some(Driver::Bubblewrap),
        "macos" => Some(Driver::SandboxExec),
        _ => None,
    };
    assert_eq!(Driver::of_this_system(), wanted);
    // Without one both ways in refuse.
    let place = tempfile::tempdir().expect("a directory");
    let host = gallivant_core::Host::system();
    let commands = SystemCommands::new(&host);
    let readiness = gallivant_core::verification::Readiness {
        driver: None,
        runtime: None,
        scratch: place.path().to_owned(),
        commands: &commands,
        host: &host,
    };
    let refused =
        gallivant_core::verification::sandbox_readiness(&readiness, &|| false).expect_err("refused");
    assert_eq!(refused.code(), gallivant_core::Code::ExecutionVerificationSandbox);
    assert!(names(place.path()).is_empty());
}

#[test]
fn ex_ver_38_where_nothing_can_be_made_the_refusal_names_the_place_and_says_what_helps() {
    let place = tempfile::tempdir().expect("a directory");
    let missing = place.path().join("missing");
    let commands = SystemCommands::new(&gallivant_core::Host::system());
    let refused = super::ground::readiness(&commands, &missing, &|| false).expect_err("refused");
    assert_eq!(refused.code(), gallivant_core::Code::ExecutionVerificationSandbox);
    assert!(refused.message().contains(&format!("scratch=`{}`", missing.display())), "{refused}");
    assert!(refused.remedy().starts_with("name a directory"), "{}", refused.remedy());
}

#[test]
fn ex_ver_24_checkout_and_profile_can_be_written_and_nothing_else() {
    let mut ground = Ground::new();
    let runtime = ground.root().join("runtime");
    std::fs::create_dir_all(runtime.join("bin")).expect("made");
    std::fs::write(runtime.join("bin/tool"), "#!/bin/sh\necho tool runs\n").expect("written");
    std::fs::set_permissions(runtime.join("bin/tool"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("set");
    ground.runtime = Some(Runtime { directory: runtime.clone(), programs: runtime.join("bin") });
    // Every mount that is writable, and what can be written of everything that is found.
    let text = "tool; find / -xdev -writable ! -type l 2>/dev/null | sort; echo; \
         awk '{ split($4, o, \",\"); if (o[1] == \"rw\") print $2 }' /proc/mounts | sort; echo x >ignored-by-none";
    let Some(verdict) = ground.really(&[text]) else { return };
    assert_eq!(blocked(&verdict).reason, "dirty", "the checkout can be written");
    let saved = ground.saved();
    let output = saved.get("commands").and_then(Value::as_array).expect("a list")[0].clone();
    let output = output.get("output").and_then(Value::as_str).expect("a text").to_owned();
    let (found, mounts) = output.split_once("\n\n").expect("two parts");
    let checkout = ground.checkout.display().to_string();
    let mut granted = vec!["tool runs", checkout.as_str()];
    granted.extend(["/gallivant/profile/home", "/gallivant/profile/tmp", "/gallivant/profile/xdg"]);
    granted.sort_by_key(|path| path.starts_with('/').then_some(*path));
    assert_eq!(found.lines().collect::<Vec<_>>(), granted, "of the tree itself nothing can be written");
    for mount in mounts.lines() {
        let is_device = mount == "/dev/pts" || Path::new(mount).starts_with("/dev");
        let is_ours = mount == checkout || mount.starts_with("/gallivant/profile/");
        assert!(is_device || is_ours, "{mount} is writable: {output}");
    }
    assert!(!runtime.join("bin/new").exists());
}

#[test]
fn ex_ver_24_a_runtime_that_covers_something_else_is_refused() {
    let mut ground = Ground::new();
    let root = ground.root();
    ground.environment = vec![("HOME".to_owned(), root.join("run").display().to_string())];
    let own = root.join("other");
    std::fs::create_dir_all(own.join("bin")).expect("made");
    let refused: [(&Path, PathBuf); 6] = [
        (&root, root.join("other/bin")),
        (&ground.checkout, ground.checkout.clone()),
        (Path::new("/"), "/usr/bin".into()),
        (Path::new("/etc"), "/etc".into()),
        (&own, "/usr/bin".into()),
        (&ground.run, ground.run.clone()),
    ];
    for (directory, programs) in refused {
        ground.runtime = Some(Runtime { directory: directory.to_owned(), programs });
        let error = ground.scripted(&["one"], &Scripted::new()).expect_err("refused");
        assert_eq!(error.code(), gallivant_core::Code::ExecutionInput, "{}", directory.display());
    }
    ground.runtime = Some(Runtime { directory: own.clone(), programs: own.join("bin") });
    verified(&ground.scripted(&["one"], &Scripted::new()).expect("a verdict"));
}

#[test]
fn ex_ver_25_git_metadata_is_hidden_in_every_form_of_a_checkout() {
    let look = "find .git -mindepth 1 2>/dev/null; [ -f .git ] && wc -c <.git; find / -name packed-refs -o -name config.worktree \
         2>/dev/null | grep -v ^/proc; true";
    let ground = Ground::new();
    super::ground::git(&ground.checkout, &["pack-refs", "--all"]);
    let Some(output) = ground.output_of(look, 0) else { return };
    assert_eq!(output, "", "a directory is empty");
    // A linked work tree, whose pointer is hidden and leads nowhere.
    let mut linked = Ground::new();
    let tree = linked.root().join("linked");
    super::ground::git(
        &linked.checkout,
        &["worktree", "add", "-q", "-b", "other", tree.to_str().expect("text")],
    );
    super::ground::git(&linked.checkout, &["pack-refs", "--all"]);
    linked.checkout = tree;
    assert_eq!(linked.output_of(look, 0).expect("a sandbox"), "0\n", "a file is empty");
    // A Git directory that lies in the checkout by another name cannot be covered for good, and is refused.
    let mut apart = Ground::new();
    let inside = apart.checkout.join("ignored/real");
    std::fs::create_dir(apart.checkout.join("ignored")).expect("made");
    std::fs::rename(apart.checkout.join(".git"), &inside).expect("moved");
    std::fs::write(apart.checkout.join(".git"), "gitdir: ignored/real\n").expect("written");
    apart.head = super::ground::git(&apart.checkout, &["rev-parse", "HEAD"]);
    let error = apart.scripted(&["one"], &Scripted::new()).expect_err("refused");
    assert_eq!(error.code(), gallivant_core::Code::ExecutionInput);
    // So is one that is a link.
    let linked = Ground::new();
    std::fs::rename(linked.checkout.join(".git"), linked.root().join("real")).expect("moved");
    std::os::unix::fs::symlink(linked.root().join("real"), linked.checkout.join(".git")).expect("linked");
    let error = linked.scripted(&["one"], &Scripted::new()).expect_err("refused");
    assert_eq!(error.code(), gallivant_core::Code::ExecutionInput);
}

#[test]
fn ex_ver_26_path_is_the_runtime_and_the_system() {
    let mut ground = Ground::new();
    let runtime = ground.root().join("runtime");
    std::fs::create_dir_all(runtime.join("bin")).expect("made");
    ground.runtime = Some(Runtime { directory: runtime.clone(), programs: runtime.join("bin") });
    ground.environment = vec![("PATH".to_owned(), "/home/o/bin:/usr/local/bin".to_owned())];
    let host = Scripted::new();
    verified(&ground.scripted(&["one"], &host).expect("a verdict"));
    let seen = &host.seen()[0];
    let path = seen.environment.iter().find(|(name, _)| name == "PATH").expect("PATH");
    assert_eq!(path.1.to_string_lossy(), format!("{}/bin:/usr/bin:/bin", runtime.display()));
    let ground = Ground::new();
    let host = Scripted::new();
    verified(&ground.scripted(&["one"], &host).expect("a verdict"));
    let seen = &host.seen()[0];
    let path = seen.environment.iter().find(|(name, _)| name == "PATH").expect("PATH");
    assert_eq!(path.1.to_string_lossy(), "/usr/bin:/bin");
    // No directory of the operator's is granted: /usr/local is empty, and so is the home.
    let ground = Ground::new();
    let Some(output) =
        ground.output_of("echo \"$PATH\"; ls -A /usr/local \"$HOME\"; ls -d /opt /home /etc/ssh; true", 0)
    else {
        return;
    };
    assert!(output.starts_with("/usr/bin:/bin\n"), "{output}");
    assert_eq!(output.lines().filter(|line| line.contains("No such file")).count(), 3, "{output}");
}

#[test]
fn ex_ver_27_there_is_no_network_and_the_remedy_says_what_to_do() {
    let ground = Ground::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    let Some(verdict) = ground.really(&[&format!("git ls-remote git://127.0.0.1:{port}/x")]) else { return };
    let block = blocked(&verdict);
    assert_eq!(block.reason, "command-failed");
    assert!(
        block
            .remedy
            .contains("fetch dependencies in the execution environment, or use those in the checkout")
    );
    listener.set_nonblocking(true).expect("set");
    assert_eq!(listener.accept().expect_err("nobody came").kind(), io::ErrorKind::WouldBlock);
    let ground = Ground::new();
    let text = "cat /proc/net/dev | tail -n +3 | cut -d: -f1; cat /proc/net/route | wc -l";
    let output = ground.output_of(text, 0).expect("a sandbox");
    assert_eq!(output.replace(' ', ""), "lo\n1\n", "a loopback of its own, and no route");
}

#[test]
fn ex_ver_28_the_probe_comes_first_and_each_part_of_it_counts() {
    // In order: the probe, with its time limit, before the first command.
    let ground = Ground::new();
    let host = Scripted::new().with_probe(Box::new(|invocation, output| {
        assert_eq!(invocation.limit_ms, 10_000);
        output(PROVED.as_bytes());
        Ok(End::Exited(0))
    }));
    verified(&ground.scripted(&["one"], &host).expect("a verdict"));
    // Whatever is disproved, missing, said twice or not reached refuses.
    let mut answers: Vec<String> = Vec::new();
    for line in PROVED.lines() {
        let (name, answer) = line.split_once('=').expect("an answer");
        answers.push(PROVED.replace(line, &format!("{name}=other")));
        answers.push(PROVED.replace(&format!("{line}\n"), ""));
        answers.push(PROVED.replace(line, &format!("{name}={answer}\n{name}={answer}")));
    }
    answers.push(String::new());
    for answer in answers {
        let ground = Ground::new();
        let host = Scripted::new().with_probe(says(&answer, End::Exited(0)));
        let verdict = ground.scripted(&["one"], &host).expect("a verdict");
        assert_eq!(blocked(&verdict).reason, "verification-sandbox-unavailable", "{answer}");
        assert!(host.texts().is_empty());
    }
    // And what it says is compared with what is seen from outside.
    for liar in [connects as fn(&Invocation), writes] {
        let ground = Ground::new();
        let host = Scripted::new().with_probe(Box::new(move |invocation, output| {
            liar(invocation);
            output(PROVED.as_bytes());
            Ok(End::Exited(0))
        }));
        let verdict = ground.scripted(&["one"], &host).expect("a verdict");
        assert_eq!(blocked(&verdict).reason, "verification-sandbox-unavailable");
        assert!(host.texts().is_empty());
    }
}

/// A sandbox from which the host can be reached.
fn connects(invocation: &Invocation) {
    let port = invocation.arguments[invocation.arguments.len() - 2].to_string_lossy().into_owned();
    std::net::TcpStream::connect(("127.0.0.1", port.parse().expect("a port"))).expect("connected");
}

/// A sandbox that writes through to the host.
fn writes(invocation: &Invocation) {
    let directory = Path::new(&invocation.arguments[invocation.arguments.len() - 4]);
    std::fs::write(directory.join("written"), "x").expect("written");
}

#[test]
fn ex_ver_28_the_real_probe_shows_all_of_it() {
    let ground = Ground::new();
    let Some(verdict) = ground.really(&[]) else { return };
    let evidence = verified(&verdict).to_value();
    let probe = evidence.get("sandbox").and_then(|sandbox| sandbox.get("probe")).expect("a probe").clone();
    let checks = probe.get("checks").and_then(Value::as_object).expect("checks");
    let said: String = checks
        .iter()
        .map(|(name, answer)| format!("{name}={}\n", answer.as_str().expect("a word")))
        .collect();
    assert_eq!(said, PROVED);
}

#[test]
fn ex_ver_29_nothing_falls_back_to_a_plain_shell() {
    let ways: [fn() -> io::Result<End>; 6] = [
        || Err(io::ErrorKind::NotFound.into()),
        || Err(io::ErrorKind::PermissionDenied.into()),
        || Ok(End::Unreported),
        || Ok(End::Exited(1)),
        || Ok(End::TimedOut),
        || Ok(End::Signalled(9)),
    ];
    for way in ways {
        let ground = Ground::new();
        let host = Scripted::new().with_probe(Box::new(move |_, output| {
            output(b"bwrap: No permissions to create new namespace\n");
            way()
        }));
        let verdict = ground.scripted(&["one"], &host).expect("a verdict");
        let block = blocked(&verdict);
        assert_eq!(block.reason, "verification-sandbox-unavailable");
        assert!(block.remedy.contains("/usr/bin/bwrap"), "{}", block.remedy);
        assert!(host.seen().is_empty());
        let saved = ground.saved();
        assert_eq!(saved.get("revision").and_then(Value::as_str), Some(ground.head.as_str()), "kept");
        // It waits for a person: asking again runs nothing either.
        let host = Scripted::new();
        blocked(&ground.scripted(&["one"], &host).expect("a verdict"));
        assert!(host.texts().is_empty());
    }
    // A sandbox that works for the probe and not for a command.
    let ground = Ground::new();
    let host = Scripted::new().then(says("bwrap: Resource exhausted\n", End::Unreported));
    let verdict = ground.scripted(&["one", "two"], &host).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "verification-sandbox-unavailable");
    assert_eq!(host.texts(), ["one"]);
}

#[test]
fn ex_ver_29_a_machine_without_namespaces_is_refused() {
    if !sandbox_works() {
        println!("no sandbox works on this machine: the refusal is checked by every other test");
        return;
    }
    /// Puts every process into a sandbox in which no further namespace can be made.
    #[derive(Debug)]
    struct Restricted(SystemCommands);
    impl CommandHost for Restricted {
        fn run(&self, invocation: &Invocation, output: Sink<'_>, stop: Stop<'_>) -> io::Result<End> {
            if invocation.program != Path::new("/usr/bin/bwrap") {
                return self.0.run(invocation, output, stop);
            }
            // The inner one reports to nobody: its descriptor is not there, so it does not even begin.
            let mut outer = invocation.clone();
            let inner = std::mem::take(&mut outer.arguments);
            let before = [
                "--unshare-user",
                "--disable-userns",
                "--bind",
                "/",
                "/",
                "--dev",
                "/dev",
                "--",
                "/usr/bin/bwrap",
            ];
            outer.arguments = before.iter().map(std::ffi::OsString::from).chain(inner).collect();
            self.0.run(&outer, output, stop)
        }
    }
    let ground = Ground::new();
    let restricted = Restricted(SystemCommands::new(&ground.host));
    let verdict = ground.with(&["echo ran >ran"], &restricted, &ground.git(), &|| false).expect("a verdict");
    let block = blocked(&verdict);
    assert_eq!(block.reason, "verification-sandbox-unavailable");
    assert!(block.detail.contains("bwrap: "), "{}", block.detail);
    assert!(!ground.checkout.join("ran").exists());
}

#[test]
fn ex_ver_30_evidence_names_driver_and_probe() {
    let driver = |saved: &Value| {
        saved
            .get("sandbox")
            .and_then(|sandbox| sandbox.get("driver"))
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let status = |saved: &Value| {
        let probe = saved.get("sandbox").and_then(|sandbox| sandbox.get("probe"));
        probe.and_then(|probe| probe.get("status")).and_then(Value::as_str).map(str::to_owned)
    };
    let ground = Ground::new();
    verified(&ground.scripted(&["one"], &Scripted::new()).expect("a verdict"));
    let saved = ground.saved();
    assert_eq!((driver(&saved).as_deref(), status(&saved).as_deref()), (Some("bubblewrap"), Some("passed")));
    // Also of a failure, where a probe that failed is no provenance.
    let ground = Ground::new();
    let host = Scripted::new().with_probe(says("", End::Exited(1)));
    blocked(&ground.scripted(&["one"], &host).expect("a verdict"));
    let failed = ground.saved();
    assert_eq!(
        (driver(&failed).as_deref(), status(&failed).as_deref()),
        (Some("bubblewrap"), Some("failed"))
    );
    assert!(!has_provenance(&failed));
    // Evidence without it is no success, however its commands ended.
    let stripped = |member: &str| {
        let mut object = saved.as_object().expect("an object").clone();
        object.remove(member);
        Value::from(object)
    };
    assert!(is_complete(&saved, &approved(&["one"]), &ground_head(&saved)));
    assert!(!has_provenance(&stripped("sandbox")));
    assert!(!is_complete(&stripped("version"), &approved(&["one"]), &ground_head(&saved)));
}

fn ground_head(saved: &Value) -> String {
    saved.get("revision").and_then(Value::as_str).expect("a revision").to_owned()
}

#[test]
fn ex_ver_31_no_way_out_leaves_a_profile_or_a_file_of_the_probe() {
    // The ground looks for profiles after each verification; here it is the checkout, /dev/shm and the scratch of a panic.
    let shared = || names(Path::new("/dev/shm")).into_iter().filter(|name| name.contains("gallivant"));
    let before: Vec<_> = shared().collect();
    let ground = Ground::new();
    if ground.really(&["exit 3"]).is_none() {
        return;
    }
    let mut left = names(&ground.checkout);
    left.sort();
    assert_eq!(left, [".git", ".gitignore", "tracked.txt"]);
    // What others have there goes with them.
    for new in shared().filter(|name| !before.contains(name)) {
        let path = Path::new("/dev/shm").join(new);
        for _ in 0..12_000 {
            if path.exists() {
                ground.host.clock.sleep(std::time::Duration::from_millis(5));
            }
        }
        assert!(!path.exists(), "{}", path.display());
    }
    assert_eq!(names(&ground.run), ["verification.json"]);
    let ground = Ground::new();
    let host = Scripted::new().then(Box::new(|_, _| panic!("unwinding")));
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ground.scripted(&["one"], &host)));
    assert!(died.is_err());
    assert!(names(&ground.scratch).is_empty(), "unwinding removes it too");
}

#[test]
fn ex_ver_32_descendants_are_ended_with_their_command() {
    let ground = Ground::new();
    // Away in every way: another session, no output, no signal but the last.
    let mark = format!("{}", 700_000_000 + std::process::id());
    let text = format!(
        "(trap '' HUP TERM INT; setsid sleep {mark} >/dev/null 2>&1 </dev/null &) ; setsid -f sleep {mark} >/dev/null 2>&1; \
         i=0; until [ \"$(pgrep -c -x sleep)\" = 2 ] || [ $i = 600 ]; do sleep 0.05; i=$((i+1)); done; pgrep -c -x sleep"
    );
    let Some(_) = ground.really(&[&text]) else { return };
    // When the call has returned they are gone, and not a while later.
    let running = |mark: &str| {
        std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok).any(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line == format!("sleep\0{mark}\0").as_bytes()
        })
    };
    assert!(!running(&mark));
    let saved = ground.saved();
    let output = saved.get("commands").and_then(Value::as_array).expect("a list")[0].clone();
    let output = output.get("output").and_then(Value::as_str).expect("a text").to_owned();
    assert_eq!(output.trim(), "2", "both ran in there");
}
