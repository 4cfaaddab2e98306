//! What a hostile repository may try. Each attempt is a command in the machine's own sandbox, and the sandbox's answers are
//! counted: every one of them has to be a refusal. No attempt would do harm where it succeeded: what is the machine's own is
//! opened for writing and not written.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use gallivant_core::json::Value;
use gallivant_core::verification::running::{CommandHost, End};
use gallivant_core::verification::sandbox::{Layout, Sandbox};
use gallivant_core::verification::{Driver, SystemCommands, profile::Profile};

use super::ground::{Ground, blocked, exit_code, git, names, sandbox_works, verified};

/// Attempts, each of which prints `escaped` where it succeeds. `$OUT` is a directory outside with a file `canary`, `$PID` a
/// process outside.
const ATTEMPTS: &[(&str, &str)] = &[
    ("read a file outside", "cat \"$OUT/canary\" && echo escaped"),
    ("write a file outside", "echo x >\"$OUT/new\" && echo escaped"),
    ("list a directory outside", "ls \"$OUT\" && echo escaped"),
    (
        "read the operator's home",
        "for d in /home/* /Users/* \"$OPERATOR\"; do [ -e \"$d\" ] && echo escaped; done",
    ),
    (
        "read accounts and keys",
        "grep -q '^root:' /etc/passwd /etc/shadow && echo escaped; ls /etc/ssh /etc/ssl/private && echo escaped",
    ),
    ("go up from the checkout", "ls ../../../../../../..$OUT && echo escaped"),
    (
        "follow a link that is tracked",
        "cat link-out/canary && echo escaped; echo x >link-out/new && echo escaped",
    ),
    (
        "follow a link that is made",
        "ln -s \"$OUT\" ignored-link; cat ignored-link/canary && echo escaped; rm ignored-link",
    ),
    ("make a hard link to outside", "ln \"$OUT/canary\" hard && echo escaped; rm -f hard"),
    ("read Git's directory", "cat .git/HEAD .git/config && echo escaped; ls .git/objects && echo escaped"),
    ("take the cover off Git's directory", "umount .git && echo escaped; umount -l .git && echo escaped"),
    (
        "put something in Git's place",
        "mv .git away && echo escaped; rmdir .git && echo escaped; mkdir .git/hooks && echo escaped",
    ),
    ("see a process outside", "kill -0 $PID && echo escaped; [ -e /proc/$PID/cmdline ] && echo escaped"),
    ("kill a process outside", "kill -9 $PID && echo escaped"),
    (
        "read what the sandbox's first process was given",
        "tr '\\0' '\\n' </proc/1/environ | grep -q COORDINATOR && echo escaped",
    ),
    (
        "walk through a process into the old tree",
        "ls /proc/1/root$OUT && echo escaped; ls /proc/*/cwd$OUT && echo escaped",
    ),
    ("find the old root", "ls /oldroot /newroot && echo escaped"),
    ("reach the host's address", "git ls-remote git://127.0.0.1:$PORT/x && echo escaped"),
    ("resolve a name", "getent hosts example.com && echo escaped"),
    (
        "see an interface",
        "[ \"$(ls /sys/class/net)\" ] && echo escaped; grep -v lo: /proc/net/dev | grep : && echo escaped",
    ),
    ("find a socket", "grep -q . /proc/net/unix && tail -n +2 /proc/net/unix | grep -q / && echo escaped"),
    ("share memory", "ls -A /dev/shm | grep -q . && echo escaped"),
    ("become root with a namespace", "unshare -Urm sh -c 'umount .git && cat .git/HEAD' && echo escaped"),
    ("mount in a namespace", "unshare -Urm sh -c 'mount -o remount,rw / && echo x >/new' && echo escaped"),
    ("have a capability", "grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && echo escaped"),
    ("gain privileges", "grep -q '^NoNewPrivs:.*0' /proc/self/status && echo escaped"),
    ("make a device", "mknod dev b 8 0 && echo escaped; rm -f dev"),
    (
        "write to the system",
        "for d in / /usr /usr/bin /etc /lib /gallivant; do mkdir $d/.try && echo escaped && rmdir $d/.try; done",
    ),
    (
        "write to the kernel",
        "for f in $(find /proc -maxdepth 4 -type f -perm /222 ! -path '/proc/[0-9]*' ! -path '/proc/self/*' ! -path \
         '/proc/thread-self/*'); do (: >>$f) 2>/dev/null && echo $f && echo escaped; done",
    ),
    (
        "write to a device's directory",
        "mkdir /dev/.try && echo escaped && rmdir /dev/.try; [ -w /dev ] && echo escaped",
    ),
    ("type into a terminal", "(echo x >/dev/tty) && echo escaped"),
    (
        "move the view",
        "mv \"$GIT_DIR\" away && echo escaped; rm -rf away; echo x >\"$GIT_DIR/config\" && echo escaped",
    ),
    ("leave a hook", "git config core.hooksPath /x && echo escaped; mkdir -p .git/hooks && echo escaped"),
];

#[test]
fn every_attempt_to_get_out_is_refused_and_counted() {
    let mut ground = Ground::in_directory(Path::new("/var/tmp"));
    let out = ground.root().join("outside");
    std::fs::create_dir(&out).expect("made");
    std::fs::write(out.join("canary"), "canary\n").expect("written");
    symlink(&out, ground.checkout.join("link-out")).expect("linked");
    git(&ground.checkout, &["add", "-A"]);
    git(&ground.checkout, &["commit", "-q", "-m", "a link"]);
    ground.head = git(&ground.checkout, &["rev-parse", "HEAD"]);
    ground.environment = vec![("COORDINATOR_TOKEN".to_owned(), "the-token-of-the-coordinator".to_owned())];
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    listener.set_nonblocking(true).expect("set");
    let port = listener.local_addr().expect("an address").port();
    let mut victim = std::process::Command::new("sleep").arg("600").spawn().expect("sleep starts");
    let operator = std::env::var_os("HOME").map_or_else(|| out.clone(), std::path::PathBuf::from);
    let texts: Vec<String> = ATTEMPTS
        .iter()
        .map(|(_, attempt)| {
            let (out, operator) = (out.display(), operator.display());
            format!(
                "OUT='{out}' OPERATOR='{operator}' PID={} PORT={port}; {{ {attempt}; }} 2>&1; true",
                victim.id()
            )
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let verdict = ground.really(&texts);
    let is_alive = victim.try_wait().expect("looked").is_none();
    victim.kill().expect("killed");
    victim.wait().expect("waited for");
    let Some(verdict) = verdict else { return };
    let saved = ground.saved();
    let commands = saved.get("commands").and_then(Value::as_array).expect("a list");
    let mut escaped = Vec::new();
    for ((name, _), command) in ATTEMPTS.iter().zip(commands) {
        let output = command.get("output").and_then(Value::as_str).expect("a text");
        if output.lines().any(|line| line == "escaped") {
            escaped.push(format!("{name}: {output}"));
        }
    }
    println!("attempts {}, run {}, escaped {}", ATTEMPTS.len(), commands.len(), escaped.len());
    assert!(escaped.is_empty(), "{escaped:#?}");
    verified(&verdict);
    assert_eq!(commands.len(), ATTEMPTS.len());
    assert!(is_alive, "the process outside lives");
    assert_eq!(names(&out), ["canary"]);
    assert_eq!(listener.accept().expect_err("nobody came").kind(), std::io::ErrorKind::WouldBlock);
    assert!(!ground.checkout.join(".git/hooks/new").exists());
}

/// A sandbox over a ground, for what needs another time limit than two minutes.
fn in_sandbox(ground: &Ground, text: &str, limit_ms: u64) -> (std::io::Result<End>, usize) {
    let profile = Profile::create(&ground.scratch, &ground.host).expect("a profile");
    std::fs::create_dir(profile.path().join("git")).expect("made");
    let layout = Layout::over(&ground.checkout, profile.path(), None, None, &ground.host).expect("a layout");
    let sandbox = Sandbox::new(Driver::Bubblewrap, layout, &[]);
    let commands = SystemCommands::new(&ground.host);
    let mut seen = 0;
    let ended = commands.run(
        &sandbox.invocation(text, &[], limit_ms),
        &mut |piece| {
            seen += piece.len();
            true
        },
        &|| false,
    );
    profile.remove().expect("removed");
    (ended, seen)
}

#[test]
fn ex_ver_04_a_command_that_prints_for_ever_is_ended_by_its_time() {
    let ground = Ground::new();
    if !sandbox_works() {
        println!("no sandbox works on this machine");
        return;
    }
    let before = ground.host.clock.awake();
    // A busy machine may leave it no time to print in.
    let seen = (0..5).map(|_| {
        let (ended, seen) = in_sandbox(&ground, "yes & yes & trap '' TERM INT HUP; yes", 3_000);
        assert_eq!(ended.expect("ended"), End::TimedOut);
        seen
    });
    let seen: Vec<_> = seen.take_while(|seen| *seen <= 262_144).collect();
    assert!(seen.len() < 5, "it was not read on, so that it stood still: {seen:?}");
    assert!(ground.host.clock.awake() - before < Duration::from_secs(120));
}

#[test]
fn ex_ver_32_a_bomb_of_forks_is_ended_with_its_command() {
    let ground = Ground::new();
    if !sandbox_works() {
        println!("no sandbox works on this machine");
        return;
    }
    // Two hundred, each away from its parent, and each again.
    let mark = 800_000_000 + std::process::id();
    let text = format!(
        "i=0; while [ $i -lt 200 ]; do (setsid sh -c 'setsid sleep {mark} & setsid sleep {mark}' >/dev/null 2>&1 &); \
         i=$((i+1)); done; exit 4"
    );
    let (ended, _) = in_sandbox(&ground, &text, 60_000);
    assert_eq!(ended.expect("ended"), End::Exited(4));
    let left = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok).filter(|entry| {
        std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| line == format!("sleep\0{mark}\0").as_bytes())
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn a_command_that_fills_the_disk_blocks_and_takes_no_evidence_with_it() {
    if !sandbox_works() {
        println!("no sandbox works on this machine");
        return;
    }
    // A small file system for the checkout alone; where none can be mounted, there is nothing to fill.
    let small = tempfile::tempdir().expect("a directory");
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
        .arg(small.path())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("no file system can be mounted here");
        return;
    }
    struct Unmount<'a>(&'a Path);
    impl Drop for Unmount<'_> {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg(self.0).status();
        }
    }
    let _unmount = Unmount(small.path());
    let mut ground = Ground::new();
    git(&ground.root(), &["clone", "-q", "checkout", small.path().join("checkout").to_str().expect("text")]);
    ground.checkout = small.path().join("checkout").canonicalize().expect("resolved");
    let verdict = ground.really(&["cat /dev/zero >big; exit 1", "true"]).expect("a sandbox");
    assert_eq!(blocked(&verdict).reason, "command-failed");
    let saved = ground.saved();
    let commands = saved.get("commands").and_then(Value::as_array).expect("a list");
    assert_eq!((commands.len(), exit_code(&commands[0])), (1, Some(1)));
    assert!(commands[0].get("output").and_then(Value::as_str).expect("a text").contains("No space left"));
    // With the status ignored it is the dirty tree that blocks.
    std::fs::remove_file(ground.run.join("verification.json")).expect("removed");
    std::fs::remove_file(ground.checkout.join("big")).expect("removed");
    let verdict = ground.really(&["cat /dev/zero >big; true"]).expect("a sandbox");
    assert_eq!(blocked(&verdict).reason, "dirty");
}

#[test]
fn a_profile_that_was_filled_with_traps_goes_all_the_same() {
    let ground = Ground::new();
    let text = "cd \"$HOME\"; i=0; while [ $i -lt 1500 ]; do mkdir d && cd d || exit 9; i=$((i+1)); done; \
         mkdir -p \"$TMPDIR/locked/in\"; chmod 0 \"$TMPDIR/locked/in\" \"$TMPDIR/locked\"; ln -s / \"$TMPDIR/root\"; \
         mkfifo \"$TMPDIR/pipe\"; chmod 0 \"$XDG_CACHE_HOME\"";
    let Some(verdict) = ground.really(&[text]) else { return };
    verified(&verdict);
    assert!(Path::new("/etc/passwd").exists());
}

#[test]
fn no_descriptor_of_the_host_program_is_inherited() {
    let ground = Ground::new();
    if !sandbox_works() {
        println!("no sandbox works on this machine");
        return;
    }
    // A directory outside, open as a program in C would have it: not closed by an exec.
    let outside = std::fs::File::open(ground.root()).expect("opened");
    rustix::io::fcntl_setfd(&outside, rustix::io::FdFlags::empty()).expect("set");
    let text = "exec 3>&-; for fd in /proc/self/fd/*; do case ${fd##*/} in 0|1|2) ;; *) readlink \"$fd\" ;; esac; done; true";
    let output = ground.output_of(text, 0).expect("a sandbox");
    let root = ground.root().display().to_string();
    assert!(output.lines().all(|line| !line.starts_with(&root)), "{output}");
}

/// What the host asks of Git between commands must not run what a command has put into the checkout.
#[test]
fn a_repository_that_is_made_in_a_submodules_place_runs_nothing_on_the_host() {
    let mut ground = Ground::new();
    let link = format!("160000,{},sub", ground.head);
    git(&ground.checkout, &["update-index", "--add", "--cacheinfo", &link]);
    git(&ground.checkout, &["commit", "-q", "-m", "a submodule"]);
    std::fs::create_dir(ground.checkout.join("sub")).expect("made");
    ground.head = git(&ground.checkout, &["rev-parse", "HEAD"]);
    let mark = ground.root().join("ran-on-the-host");
    let text = format!(
        "unset GIT_DIR GIT_WORK_TREE; cd sub && git init -q . && git config filter.x.clean 'touch {0}; cat' && \
         git config core.fsmonitor 'touch {0}' && git config user.name x && git config user.email x && \
         echo '* filter=x' >.gitattributes && echo one >file && git add -A 2>/dev/null; git commit -q -m x; \
         echo two >file; touch -d '2001-01-01' file; true",
        mark.display()
    );
    let Some(verdict) = ground.really(&[&text, "true"]) else { return };
    assert!(!mark.exists());
    // The submodule stands at another commit now, which is a change.
    assert_eq!(blocked(&verdict).reason, "dirty");
}

/// Where the part of this test that is to be killed finds its ground.
const PART: &str = "GALLIVANT_TEST_OF_A_KILLED_COORDINATOR";
/// By what its commands are known.
const MARK: &str = "GALLIVANT_TEST_MARK";

#[test]
fn ex_ver_32_a_killed_coordinator_takes_its_commands_with_it() {
    const NAME: &str = "verification::escapes::ex_ver_32_a_killed_coordinator_takes_its_commands_with_it";
    if let Some(above) = std::env::var_os(PART) {
        let ground = Ground::in_directory(Path::new(&above));
        println!("scratch {}", ground.scratch.display());
        let mark = std::env::var(MARK).expect("a number");
        let text = format!("setsid sleep {mark} >/dev/null 2>&1 & sleep {mark}");
        let ended = in_sandbox(&ground, &text, 60_000);
        panic!("it was to be killed, and not {ended:?}");
    }
    if !sandbox_works() {
        println!("no sandbox works on this machine");
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let mark = (900_000_000 + std::process::id()).to_string();
    let mut part = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args([NAME, "--exact", "--nocapture"])
        .env(PART, place.path())
        .env(MARK, &mark)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let running = || {
        let processes = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
        let lines = processes.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
        lines.filter(|line| line == format!("sleep\0{mark}\0").as_bytes()).count()
    };
    let clock = gallivant_core::Host::system().clock;
    let wait_for = |count: usize| {
        let until = clock.awake() + Duration::from_secs(120);
        while running() != count {
            assert!(clock.awake() < until, "{} are running and not {count}", running());
            clock.sleep(Duration::from_millis(5));
        }
    };
    wait_for(2);
    part.kill().expect("killed");
    part.wait().expect("waited for");
    wait_for(0);
    // What is left is a profile that nobody holds; the next one in the same place removes it.
    let ground =
        std::fs::read_dir(place.path()).expect("a directory").next().expect("a ground").expect("an entry");
    let scratch = ground.path().join("scratch");
    assert_eq!(names(&scratch).len(), 1);
    let next = Profile::create(&scratch, &gallivant_core::Host::system()).expect("a profile");
    assert_eq!(names(&scratch).len(), 1);
    next.remove().expect("removed");
}
