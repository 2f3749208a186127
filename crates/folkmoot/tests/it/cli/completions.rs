//! Completions in a real shell, and manual pages in a real `man`.

use std::process::{Command, Stdio};

use super::{Desk, run};

#[test]
fn bash_completes_a_verb() {
    let desk = Desk::new();
    let script = desk.path().join("folkmoot.bash");
    std::fs::write(&script, desk.say(&["completions", "bash"])).unwrap();
    let complete = |words: &[&str]| {
        let (last, before) = (words.len(), words[words.len() - 1]);
        let line = format!(
            "source '{}'; COMP_WORDS=(folkmoot {}); COMP_CWORD={last}; _folkmoot folkmoot '{before}' ''; echo \"${{COMPREPLY[*]}}\"",
            script.display(),
            words.join(" "),
        );
        run(Command::new("bash").args(["--norc", "-c", &line]).stdin(Stdio::null())).stdout.trim().to_owned()
    };
    assert_eq!(complete(&["ga"]), "gate");
    assert_eq!(complete(&["rest"]), "restore");
    assert_eq!(complete(&["gate", "op"]), "open");
    assert_eq!(complete(&["nothing-begins-so"]), "");
}

#[test]
fn each_shell_has_a_script_that_knows_the_verbs() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = desk.say(&["completions", shell]);
        for verb in ["backup", "doctor", "answer"] {
            assert!(script.contains(verb), "{shell}: {verb}");
        }
    }
    assert_eq!(desk.run(&["completions", "tcsh"]).code, 2);
}

#[test]
fn each_verb_has_a_manual_page_without_warnings() {
    let desk = Desk::new();
    let folder = desk.path().join("man1");
    desk.say(&["man", folder.to_str().unwrap()]);
    let pages: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for verb in ["folkmoot", "folkmoot-backup", "folkmoot-gate-open", "folkmoot-serve"] {
        assert!(folder.join(format!("{verb}.1")).exists(), "{verb}");
    }
    // Every verb that the help shows.
    let shown = desk.say(&["help"]);
    let verbs = shown.lines().take_while(|line| !line.contains("--data")).filter_map(|line| line.strip_prefix("  "));
    let verbs: Vec<&str> = verbs.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(verbs.len() > 30, "{verbs:?}");
    for verb in verbs {
        assert!(folder.join(format!("folkmoot-{verb}.1")).exists(), "{verb}");
    }
    if !Command::new("groff").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: no groff to read manual pages with\n");
        return;
    }
    let read = run(Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).args(&pages).stdin(Stdio::null()));
    assert_eq!((read.code, read.stderr.as_str()), (0, ""));
}
