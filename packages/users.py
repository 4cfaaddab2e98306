"""Users of each package: an empty place, an installation, and a small program that works with what was installed alone."""
import os
import re
import subprocess

# What every language does: a session claims a seat, says what it sees, and a reader is told of it.
PYTHON = """
import os, subprocess, sys
import gallivant

assert gallivant.__file__.startswith(sys.prefix), gallivant.__file__
with gallivant.Session.start(sys.argv[1], agent="a", harness="claude", pty_session="p") as session:
    hook = os.path.join(sys.prefix, "bin/gallivant-hook")
    event = b'{"hook_event_name":"UserPromptSubmit"}'
    subprocess.run([hook, "claude"], input=event, env={**os.environ, **session.to_env()}, check=True)
    print(gallivant.__version__, gallivant.Reader(sys.argv[1]).read("lease").state)
"""
NODE = """
import { Reader, Session, version } from 'gallivant'
const session = await Session.start(process.argv[2], { agent: 'a', harness: 'claude', ptySession: 'p' })
await session.writer.observe({ state: 'active' })
console.log(version, (await new Reader(process.argv[2]).read({ probe: 'lease' })).state)
"""
RUST = """
use gallivant_core::Host;
use gallivant_core::harness_state::{NewSession, Observation, Options, Reader, Session, State};

fn main() -> Result<(), gallivant_core::Error> {
    let directory = std::env::args().nth(1).expect("a directory");
    let (options, host) = (Options::default(), Host::system());
    let new = NewSession {
        directory: directory.clone().into(),
        agent: "a".into(),
        harness: "claude".into(),
        pty_session: Some("p".into()),
        token: None,
    };
    let session = Session::start(new, &options, &host)?;
    session.writer().observe(&Observation::new(State::Active))?;
    let seen = Reader::open(&directory, &options, &host).read(None).expect("it was observed");
    println!("{} {}", gallivant_core::VERSION, seen.state.word());
    Ok(())
}
"""


def bare():
    """An environment that names no package of the source."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH", "NODE_PATH")}


def expect(said, wanted):
    if said != wanted:
        raise SystemExit(f"packages/users.py: a program said {said!r}, not {wanted!r}")


def python(run, place, wheel, version):
    run("python3", "-m", "venv", place, env=bare())
    run(f"{place}/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", wheel, env=bare())
    said = run(f"{place}/bin/python", "-c", PYTHON, f"{place}/seat", cwd=place, env=bare())
    expect(said, f"{version} active\n")


def node(run, place, tarballs, platform):
    os.makedirs(place)
    quiet = ["--silent", "--no-audit", "--no-fund"]
    run("npm", "init", "--yes", "--silent", cwd=place, env=bare())
    run("npm", "install", "--offline", *quiet, *tarballs, cwd=place, env=bare())
    installed = os.path.join(place, "node_modules")
    if not os.path.isdir(os.path.join(installed, platform)):
        raise SystemExit(f"packages/users.py: npm has not installed {platform}")
    with open(os.path.join(place, "user.mjs"), "w", encoding="utf-8") as program:
        program.write(NODE)
    version = run("node", "-p", "require('gallivant/package.json').version", cwd=place, env=bare()).strip()
    expect(run("node", "user.mjs", f"{place}/seat", cwd=place, env=bare()), f"{version} active\n")
    # Without the native module the package says what is missing.
    os.rename(os.path.join(installed, platform), os.path.join(place, "put-away"))
    done = subprocess.run(["node", "user.mjs", f"{place}/seat"], cwd=place, text=True, capture_output=True, env=bare())
    if done.returncode == 0 or "the native module of gallivant cannot be loaded" not in done.stderr:
        raise SystemExit(f"packages/users.py: without {platform} it said {done.stderr!r}")


def c(run, root, work, version):
    """Compiled from what was unpacked below `root`, as a packager's staging folder, by pkg-config alone."""
    libraries = f"{root}/usr/local/lib"
    environment = {**bare(), "PKG_CONFIG_SYSROOT_DIR": root, "PKG_CONFIG_PATH": f"{libraries}/pkgconfig"}
    page = f"{root}/usr/local/share/man/man3/gallivant.3"
    warnings = run("sh", "-c", 'groff -man -ww -Tutf8 "$1" 2>&1 >/dev/null', "sh", page)
    text = run("groff", "-man", "-Tascii", "-P-c", page)
    if warnings or f"libgallivant {version}" not in text:
        raise SystemExit(f"packages/users.py: the man page says {warnings or text[:200]!r}")
    with open(page, encoding="utf-8") as file:
        # The program of the page itself.
        program = re.search(r"^\.RS\n(.*?)^\.RE", file.read(), re.DOTALL | re.MULTILINE)[1].replace("\\-", "-")
    source = os.path.join(work, "user.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(program)
    expect(run("pkg-config", "--modversion", "gallivant", env=environment), f"{version}\n")
    shared = run("pkg-config", "--cflags", "--libs", "gallivant", env=environment).split()
    run("gcc", "-std=c11", "-Wall", "-Werror", source, *shared, "-o", f"{work}/user-shared")
    expect(run(f"{work}/user-shared", env={**bare(), "LD_LIBRARY_PATH": libraries}), f"{version}\n")
    static = run("pkg-config", "--static", "--libs", "gallivant", env=environment).split()
    static = [f"{libraries}/libgallivant.a" if flag == "-lgallivant" else flag for flag in static]
    includes = run("pkg-config", "--cflags", "gallivant", env=environment).split()
    run("gcc", "-std=c11", "-Wall", "-Werror", *includes, source, *static, "-o", f"{work}/user-static")
    expect(run(f"{work}/user-static", env=bare()), f"{version}\n")


def rust(run, crates, target, version, workspace):
    """A program over the unpacked crate; also compiled by the oldest compiler that is promised, where rustup has it."""
    place = os.path.join(crates, "user")
    os.makedirs(os.path.join(place, "src"))
    with open(os.path.join(place, "Cargo.toml"), "w", encoding="utf-8") as manifest:
        manifest.write('[workspace]\n[package]\nname = "user"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\n')
        manifest.write(f'gallivant-core = {{ path = "../gallivant-core-{version}" }}\n')
    with open(os.path.join(place, "src/main.rs"), "w", encoding="utf-8") as program:
        program.write(RUST)
    environment = {**bare(), "CARGO_TARGET_DIR": target}
    said = run("cargo", "run", "--quiet", "--", f"{place}/seat", cwd=place, env=environment)
    expect(said, f"{version} active\n")
    oldest = re.search(r'^rust-version = "(.*)"$', workspace, re.MULTILINE)[1]
    toolchains = subprocess.run(["rustup", "toolchain", "list"], text=True, capture_output=True).stdout if _has("rustup") else ""
    if any(line.startswith(f"{oldest}-") or line.startswith(f"{oldest}.") for line in toolchains.splitlines()):
        run("cargo", f"+{oldest}", "check", "--quiet", cwd=place, env={**environment, "CARGO_TARGET_DIR": f"{target}-{oldest}"})
        print(f"packages: the crate compiles with Rust {oldest}")
    else:
        print(f"packages: no toolchain of Rust {oldest} is here; only rust-version was checked, by cargo")


def _has(program):
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in os.environ["PATH"].split(os.pathsep))
