//! Whose hook this is: the nearest harness above it decides (HS-113).
//!
//! A program that a harness starts inherits the session's variables, another harness included, and that one's hooks
//! would write this session's state. The extension names the session's harness; a hook that stands under another one
//! is a foreign descendant.

use super::adapters::Harness;
use super::extension::HarnessProcess;
use crate::process::{Lineage, ProcessTable};

/// How far up is looked. Deeper trees than this are no harness's.
const MAX_DEPTH: usize = 64;

/// Programs that run others: a harness that is a script shows as one of these, with the script as its first argument.
const INTERPRETERS: [&str; 9] = ["node", "bun", "deno", "python", "python3", "sh", "bash", "dash", "zsh"];

/// The processes above this one, the nearest first, as far as they can be read, and up to this one where it is among them:
/// what stands above that decides nothing.
pub(super) fn ancestors(table: &dyn ProcessTable, up_to: &HarnessProcess) -> Vec<(u32, Lineage)> {
    let mut above = Vec::new();
    let mut next = table.own_parent();
    while let Some(pid) = next.filter(|pid| *pid != 0 && above.len() < MAX_DEPTH) {
        let Some(lineage) = table.lineage(pid) else { break };
        let is_attached = pid == up_to.pid && lineage.start == up_to.start;
        next = Some(lineage.parent).filter(|_| !is_attached);
        above.push((pid, lineage));
    }
    above
}

/// Whether the nearest harness in `above` is provably another than `process`.
///
/// What is attached may be a launcher: a shell, a terminal, a script of the same harness. So the session's harness is
/// the outermost one at or below the attached process. Where that process is not above, any harness is another's;
/// where nothing above looks like a harness, nothing is proved.
pub(super) fn is_foreign(above: &[(u32, Lineage)], process: &HarnessProcess, pid_namespace: &str) -> bool {
    if process.pid_namespace.is_empty() || process.pid_namespace != pid_namespace {
        return false;
    }
    let attached =
        above.iter().position(|(pid, lineage)| *pid == process.pid && lineage.start == process.start);
    let within = attached.map_or(above, |position| &above[..=position]);
    let harnesses: Vec<usize> = (0..within.len()).filter(|at| is_harness(&within[*at].1)).collect();
    let (Some(nearest), Some(mut outermost)) = (harnesses.first(), harnesses.last()) else { return false };
    if attached.is_none() {
        return true;
    }
    // A script that has started the program proper is one harness with it.
    while *outermost > *nearest && is_interpreted(&within[*outermost].1) {
        let inner = outermost - 1;
        match harnesses.iter().find(|at| **at == inner) {
            Some(program) => outermost = program,
            None => break,
        }
    }
    nearest != outermost
}

fn is_harness(lineage: &Lineage) -> bool {
    let known = |name: &str| Harness::ALL.iter().any(|harness| harness.executables().contains(&name));
    if known(&lineage.name) {
        return true;
    }
    let mut arguments = lineage.arguments.iter().map(|argument| base_name(argument));
    let program = arguments.next().unwrap_or_default();
    // Options stand before the script, and no script is called like one.
    known(program)
        || (INTERPRETERS.contains(&program) || INTERPRETERS.contains(&&*lineage.name))
            && arguments.find(|argument| !argument.starts_with('-')).is_some_and(known)
}

fn is_interpreted(lineage: &Lineage) -> bool {
    let program = lineage.arguments.first().map(|argument| base_name(argument));
    INTERPRETERS.contains(&program.unwrap_or_default())
}

fn base_name(argument: &str) -> &str {
    argument.rsplit('/').next().unwrap_or(argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMESPACE: &str = "pid:[1]";

    fn process(pid: u32) -> HarnessProcess {
        HarnessProcess { pid, start: u64::from(pid), pid_namespace: NAMESPACE.to_owned() }
    }

    /// The chain above a hook, the nearest first; each program with its arguments.
    fn chain(programs: &[(u32, &[&str])]) -> Vec<(u32, Lineage)> {
        let lineage = |pid: u32, arguments: &[&str]| Lineage {
            start: u64::from(pid),
            parent: 1,
            name: base_name(arguments[0]).to_owned(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        };
        programs.iter().map(|(pid, arguments)| (*pid, lineage(*pid, arguments))).collect()
    }

    fn foreign(programs: &[(u32, &[&str])], attached: u32) -> bool {
        is_foreign(&chain(programs), &process(attached), NAMESPACE)
    }

    #[test]
    fn hs_113_the_nearest_harness_decides() {
        let own: &[(u32, &[&str])] = &[(600, &["sh", "-c", "hook"]), (500, &["/usr/bin/claude"])];
        assert!(!foreign(own, 500));
        let nested: &[(u32, &[&str])] =
            &[(700, &["claude", "-p", "x"]), (610, &["/bin/bash"]), (500, &["claude"]), (1, &["init"])];
        assert!(foreign(nested, 500));
        let other: &[(u32, &[&str])] =
            &[(700, &["node", "--no-warnings", "/opt/bin/codex"]), (610, &["sh"]), (500, &["claude"])];
        assert!(foreign(other, 500));
        let reused: &[(u32, &[&str])] = &[(500, &["claude"])];
        let before = HarnessProcess { start: 4, ..process(500) };
        assert!(is_foreign(&chain(reused), &before, NAMESPACE), "the pid is another harness's by now");
    }

    #[test]
    fn hs_113_a_launcher_that_was_attached_is_the_harness_it_launched() {
        let shell: &[(u32, &[&str])] = &[(501, &["claude"]), (500, &["/bin/sh", "-c", "claude"])];
        assert!(!foreign(shell, 500));
        let script: &[(u32, &[&str])] =
            &[(501, &["/lib/codex-linux/codex"]), (500, &["node", "/usr/bin/codex", "exec"])];
        assert!(!foreign(script, 500));
        let relaunched: &[(u32, &[&str])] = &[
            (502, &["node", "/bin/gemini"]),
            (501, &["node", "/bin/gemini"]),
            (500, &["node", "/bin/gemini"]),
        ];
        assert!(!foreign(relaunched, 500));
        let below_a_shell: &[(u32, &[&str])] =
            &[(700, &["claude"]), (610, &["sh"]), (501, &["claude"]), (500, &["bash"])];
        assert!(foreign(below_a_shell, 500));
    }

    #[test]
    fn hs_113_what_cannot_be_proved_is_not_foreign() {
        let unnamed: &[(u32, &[&str])] = &[(600, &["sh"]), (500, &["my-harness"])];
        assert!(!foreign(unnamed, 500));
        assert!(!foreign(&[], 500), "the processes above cannot be read");
        let elsewhere: &[(u32, &[&str])] = &[(700, &["claude"]), (1, &["init"])];
        assert!(foreign(elsewhere, 500), "a harness that another program started, with the variables");
        assert!(!is_foreign(&chain(elsewhere), &process(500), "pid:[2]"), "other pids are counted there");
    }
}
