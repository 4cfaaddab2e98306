//! EX-VER-08 to EX-VER-11: what a command finds around it: an environment that is an explicit list, a private profile, Git and npm
//! without configuration.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gallivant_core::Code;
use gallivant_core::verification::running::End;

use super::ground::{Ground, Scripted, blocked, git, text_of, verified};

#[test]
fn ex_ver_10_the_profile_goes_on_every_way_out() {
    // The ground asserts after each verification that no profile is left. Here are the ways out that the others do not take.
    let ground = Ground::new();
    let stopped = AtomicBool::new(false);
    let seen = std::sync::Arc::new(AtomicUsize::new(0));
    let (scratch, counted) = (ground.scratch.clone(), seen.clone());
    let host = Scripted::new().then(Box::new(move |_, _| {
        counted.store(super::ground::names(&scratch).len(), Ordering::Relaxed);
        Ok(End::Stopped)
    }));
    let verdict = ground.with(&["one", "two"], &host, &ground.git(), &|| stopped.load(Ordering::Relaxed));
    assert_eq!(blocked(&verdict.expect("a verdict")).reason, "verification-interrupted");
    assert_eq!(seen.load(Ordering::Relaxed), 1, "one profile serves the list");
    // A stop before the list, a layout that cannot be, evidence that cannot be saved.
    let ground = Ground::new();
    let verdict = ground.with(&["one"], &Scripted::new(), &ground.git(), &|| true).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "verification-interrupted");
    let mut ground = Ground::new();
    ground.checkout = ground.run.clone();
    assert_eq!(
        ground.scripted(&["one"], &Scripted::new()).expect_err("refused").code(),
        Code::ExecutionInput
    );
    let ground = Ground::new();
    std::fs::create_dir(ground.run.join("verification.json")).expect("made");
    assert_eq!(ground.scripted(&["one"], &Scripted::new()).expect_err("refused").code(), Code::ExecutionIo);
}

#[test]
fn ex_ver_10_what_a_killed_process_left_goes_with_the_next_profile() {
    let ground = Ground::new();
    let left = ground.scratch.join("gallivant-verification-0123456789abcdef0123456789abcdef");
    std::fs::create_dir_all(left.join("home/deep")).expect("made");
    std::fs::write(left.join("lock"), "").expect("written");
    let other = ground.scratch.join("not-a-profile");
    std::fs::create_dir(&other).expect("made");
    let held =
        gallivant_core::verification::profile::Profile::create(&ground.scratch, &ground.host).expect("made");
    assert!(!left.exists() && other.exists());
    let next =
        gallivant_core::verification::profile::Profile::create(&ground.scratch, &ground.host).expect("made");
    assert!(held.path().exists(), "one that somebody holds stays");
    next.remove().expect("removed");
    drop(held);
    assert_eq!(super::ground::names(&ground.scratch), ["not-a-profile"]);
}

#[test]
fn ex_ver_10_one_empty_profile_serves_the_whole_list() {
    let ground = Ground::new();
    let look = "find \"$HOME\" \"$TMPDIR\" \"$XDG_CONFIG_HOME\" \"$XDG_CACHE_HOME\" -mindepth 1; echo x >\"$HOME/kept\"";
    let Some(verdict) = ground.really(&[look, "cat \"$HOME/kept\""]) else { return };
    let evidence = verified(&verdict);
    assert_eq!((evidence.commands[0].output.as_str(), evidence.commands[1].output.as_str()), ("", "x\n"));
}

#[test]
fn ex_ver_08_the_environment_is_an_explicit_list() {
    let mut ground = Ground::new();
    let given = ["LANG", "LC_ALL", "LC_TIME", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CI"];
    ground.environment = given.iter().map(|name| ((*name).to_owned(), format!("of-{name}"))).collect();
    let host = Scripted::new();
    verified(&ground.scripted(&["one"], &host).expect("a verdict"));
    let seen = &host.seen()[0];
    assert_eq!(text_of(seen), "one");
    let mut names: Vec<_> =
        seen.environment.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with("GIT_") && !name.starts_with("npm_config_"));
    let mut wanted: Vec<_> = given
        .into_iter()
        .chain(["PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"])
        .chain(["XDG_RUNTIME_DIR", "XDG_STATE_HOME"])
        .map(str::to_owned)
        .collect();
    wanted.sort();
    assert_eq!(names, wanted);
    for name in given {
        let found = seen.environment.iter().find(|(found, _)| found == name).expect("passed on");
        assert_eq!(found.1.to_string_lossy(), format!("of-{name}"));
    }
}

#[test]
fn ex_ver_09_credentials_proxies_and_injections_are_absent() {
    let mut ground = Ground::new();
    let kept_out = [
        "COORDINATOR_TOKEN",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "HTTP_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "NO_PROXY",
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "GIT_SSH_COMMAND",
        "ENV",
        "BASH_ENV",
        "ZDOTDIR",
        "PROMPT_COMMAND",
        "SHELL",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PERL5OPT",
        "RUBYOPT",
        "JAVA_TOOL_OPTIONS",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES",
        "LC_",
        "LC_x=y",
        "lang",
        "USER",
        "LOGNAME",
        "MAIL",
        "PWD",
    ];
    ground.environment =
        kept_out.iter().map(|name| ((*name).to_owned(), "/srv/of-the-operator".to_owned())).collect();
    ground.environment.push(("PATH".to_owned(), "/home/o/bin".to_owned()));
    ground.environment.push(("HOME".to_owned(), "/home/o".to_owned()));
    let host = Scripted::new();
    verified(&ground.scripted(&["one"], &host).expect("a verdict"));
    for (name, value) in &host.seen()[0].environment {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        assert!(!kept_out.contains(&name.as_ref()), "{name}");
        assert!(!value.contains("/home/o") && !value.contains("operator"), "{name}={value}");
    }
    // And what a real command sees is this and nothing else but what the shell itself adds.
    std::fs::remove_file(ground.run.join("verification.json")).expect("removed");
    let Some(output) = ground.output_of("env", 0).map(|output| output.replace("[redacted]", "")) else {
        return;
    };
    for line in output.lines() {
        let name = line.split_once('=').map_or(line, |(name, _)| name);
        assert!(!kept_out.iter().any(|kept| *kept == name && name != "PWD"), "{line}");
    }
}

#[test]
fn ex_ver_11_git_and_npm_have_no_configuration_but_what_is_given() {
    let ground = Ground::new();
    git(&ground.checkout, &["config", "credential.helper", "!echo stolen >&2"]);
    git(&ground.checkout, &["config", "remote.origin.url", "https://user:pass@localhost/x"]);
    let text = "git config --list --show-origin; echo \"npm: $npm_config_userconfig $npm_config_globalconfig\"; \
         printf 'protocol=https\\nhost=localhost\\n\\n' | git credential fill; echo \"ended $?\"";
    let Some(output) = ground.output_of(text, 0) else { return };
    let listed: Vec<_> = output.lines().filter(|line| line.contains("credential.helper")).collect();
    assert_eq!(listed, ["command line:\tcredential.helper="], "only the empty one: {output}");
    assert!(!output.contains("remote.origin") && !output.contains("stolen"), "{output}");
    assert!(output.contains("npm: /dev/null /dev/null"), "{output}");
    assert!(output.contains("terminal prompts disabled") && output.contains("ended 128"), "{output}");
}
