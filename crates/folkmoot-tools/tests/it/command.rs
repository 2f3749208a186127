//! Command lines as providers: real programs, each with one fault.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use folkmoot_llm::{FailureKind, Model, ModelAnswer, ModelFailure, ModelRequest, TokenUsage};
use folkmoot_tools::{CommandModel, command::CommandLimits};

fn bash(script: &str) -> CommandModel {
    command(&["bash", "-c", script])
}

fn python(script: &str) -> CommandModel {
    command(&[crate::process::python(), "-IS", "-c", script])
}

fn command(command: &[&str]) -> CommandModel {
    CommandModel {
        provider: "mine".to_owned(),
        model: "script".to_owned(),
        command: command.iter().map(|part| (*part).to_owned()).collect(),
        environment: Vec::new(),
        limits: CommandLimits { total: Duration::from_secs(60), idle: Duration::from_secs(30), answer_bytes: 1 << 20 },
    }
}

async fn ask(command: &CommandModel, prompt: &str) -> Result<ModelAnswer, ModelFailure> {
    command.ask(&ModelRequest::new(prompt), &mut ()).await
}

async fn fails(command: &CommandModel, kind: FailureKind, part: &str) {
    let begun = Instant::now();
    let failure = ask(command, "?").await.unwrap_err();
    assert_eq!((failure.kind, failure.provider.as_str()), (kind, "mine"), "{failure}");
    assert!(failure.detail.contains(part), "{failure}");
    assert!(begun.elapsed() < Duration::from_secs(60), "took {:?}", begun.elapsed());
}

async fn is_gone(pid_file: &Path) -> bool {
    crate::process::is_gone(&std::fs::read_to_string(pid_file).unwrap()).await
}

async fn exists(file: &Path) {
    while !std::fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_command_answers_with_what_it_prints() {
    let answer = ask(&bash("tr a-z A-Z"), "hello").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.sent.as_str()), ("HELLO", "hello"));
    assert_eq!(answer.usage, TokenUsage { input_tokens: 2, cached_tokens: 0, output_tokens: 2, estimated: true });
    assert_eq!((answer.provider.as_str(), answer.model.as_str()), ("mine", "script"));
}

#[tokio::test]
async fn its_answer_is_heard_piece_by_piece_in_whole_characters() {
    let script = "
import sys, time
for byte in 'Grüße, 世界'.encode():
    sys.stdout.buffer.write(bytes([byte])); sys.stdout.buffer.flush(); time.sleep(0.005)
";
    let mut pieces = Vec::new();
    let answer =
        python(script).ask(&ModelRequest::new("?"), &mut |piece: &str| pieces.push(piece.to_owned())).await.unwrap();
    assert_eq!((answer.text.as_str(), pieces.concat().as_str()), ("Grüße, 世界", "Grüße, 世界"));
    assert!(pieces.len() > 3, "{pieces:?}");
}

#[tokio::test]
async fn each_fault_has_its_own_failure() {
    use FailureKind::*;
    fails(&command(&[]), Misconfigured, "the command is empty").await;
    fails(&command(&["no-such-program-here"]), Misconfigured, "`no-such-program-here` is not installed").await;
    fails(&bash("echo half; echo 'quota\nexceeded' >&2; exit 3"), Unavailable, "exit status: 3): quota exceeded").await;
    fails(&bash("kill -9 $$"), Unavailable, "signal: 9").await;
    fails(&bash("true"), Empty, "printed nothing").await;
    fails(&bash("echo; echo '  '"), Empty, "printed nothing").await;
    fails(&bash(r"printf 'abc\xff'"), Malformed, "not UTF-8").await;
    fails(&bash(r"printf 'abc\xe2\x82'"), Malformed, "ends within a character").await;
    fails(&bash(r"printf 'a\0b'"), Malformed, "U+0000").await;
    fails(
        &CommandModel { limits: CommandLimits { answer_bytes: 1000, ..bash("").limits }, ..bash("yes") },
        TooLarge,
        "1000 bytes",
    )
    .await;
}

#[tokio::test]
async fn whoever_is_silent_or_never_ends_is_ended_also_without_wanting_to() {
    let limits =
        CommandLimits { total: Duration::from_millis(400), idle: Duration::from_millis(150), answer_bytes: 1 << 20 };
    let stubborn = "trap '' TERM INT HUP; ";
    let silent = CommandModel { limits, ..bash(&format!("{stubborn} sleep 60")) };
    fails(&silent, FailureKind::TimedOut, "say anything within 150ms").await;
    let limits = CommandLimits { idle: Duration::from_secs(60), ..limits };
    let endless = CommandModel { limits, ..bash(&format!("{stubborn} while true; do echo more; sleep 0.02; done")) };
    fails(&endless, FailureKind::TimedOut, "end within 400ms").await;
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipe_open_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let begun = Instant::now();
    let answer = ask(&bash(&format!("sleep 60 & echo $! > {}; echo done", pid_file.display())), "?").await.unwrap();
    assert_eq!(answer.text, "done");
    assert!(is_gone(&pid_file).await, "and it does not stay behind");

    // One that has left the process group is out of reach, but still holds nobody up.
    let answer =
        ask(&bash(&format!("setsid sleep 60 & echo $! > {}; echo done", pid_file.display())), "?").await.unwrap();
    assert_eq!(answer.text, "done");
    assert!(begun.elapsed() < Duration::from_secs(60), "took {:?}", begun.elapsed());
    let escaped = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(escaped), nix::sys::signal::Signal::SIGKILL);
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_ends_the_whole_process_group() {
    let folder = tempfile::tempdir().unwrap();
    let (parent, child) = (folder.path().join("parent"), folder.path().join("child"));
    let script = format!(
        "trap '' TERM; echo $$ > {}; sleep 60 & echo $! > {}; wait; sleep 60",
        parent.display(),
        child.display()
    );
    let command = bash(&script);
    let request = ModelRequest::new("?");
    let mut nobody = ();
    tokio::select! {
        answer = command.ask(&request, &mut nobody) => panic!("answered {answer:?}"),
        () = async { exists(&parent).await; exists(&child).await } => {}
    }
    assert!(is_gone(&parent).await && is_gone(&child).await);
}

#[tokio::test]
async fn ten_megabytes_of_prompt_block_nobody() {
    let prompt = "x".repeat(10 << 20);
    // Answers while it still reads, more than a pipe holds.
    let script = "
import sys
total = 0
while piece := sys.stdin.buffer.read(65536):
    total += len(piece); sys.stdout.write('.' * 1000)
print(total)
";
    let answer = ask(&python(script), &prompt).await.unwrap();
    assert!(answer.text.ends_with(".10485760"), "{}", &answer.text[answer.text.len() - 20..]);
    // Reads nothing at all.
    assert_eq!(ask(&bash("echo done"), &prompt).await.unwrap().text, "done");
    // Complains more than a pipe holds.
    let answer = ask(&bash("head -c 1000000 /dev/zero >&2; cat > /dev/null; echo done"), &prompt).await.unwrap();
    assert_eq!(answer.text, "done");
}

#[tokio::test]
async fn it_sees_an_empty_folder_and_the_variables_that_it_is_given() {
    let env = CommandModel {
        environment: vec!["CARGO_PKG_NAME".to_owned(), "NOT_SET_ANYWHERE".to_owned()],
        ..bash("env; ls -A; pwd")
    };
    let answer = ask(&env, "?").await.unwrap();
    let mut names: Vec<&str> = answer.text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    // The shell itself adds these three.
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD", "LANG"].contains(name));
    assert_eq!(names, ["CARGO_PKG_NAME", "HOME", "PATH"], "{}", answer.text);
    let folder = answer.text.lines().last().unwrap();
    assert!(folder.starts_with('/') && !Path::new(folder).exists(), "the folder is gone with it: {folder}");
}

#[tokio::test]
async fn what_it_was_given_does_not_come_back_in_a_failure() {
    let secret = std::env::var("CARGO_PKG_NAME").unwrap();
    let leak = CommandModel {
        environment: vec!["CARGO_PKG_NAME".to_owned()],
        ..bash("echo \"bad key $CARGO_PKG_NAME\" >&2; exit 1")
    };
    let failure = ask(&leak, "?").await.unwrap_err();
    assert!(failure.detail.contains("bad key …") && !failure.detail.contains(&secret), "{failure}");
}

#[tokio::test]
async fn an_answer_that_repeats_what_it_was_given_is_shown_to_nobody() {
    let given = "CARGO_PKG_DESCRIPTION";
    let secret = std::env::var(given).unwrap();
    assert!(secret.len() >= 20);
    let at_once = r#"printf 'It is %s' "$CARGO_PKG_DESCRIPTION""#;
    let slowly = r#"printf 'It is %s' "${CARGO_PKG_DESCRIPTION%?}"; sleep 0.2; echo "${CARGO_PKG_DESCRIPTION: -1}""#;
    for script in [at_once, slowly] {
        let leak = CommandModel { environment: vec![given.to_owned()], ..bash(script) };
        let mut heard = String::new();
        let failure = leak.ask(&ModelRequest::new("?"), &mut |piece: &str| heard.push_str(piece)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Withheld, "{failure}");
        assert_eq!(failure.detail, "the answer repeats CARGO_PKG_DESCRIPTION, so nobody is shown it");
        assert!("It is ".starts_with(&heard), "{heard}");
    }
    // What only begins like it is heard, all of it.
    let harmless = r#"printf '%s' "${CARGO_PKG_DESCRIPTION%?}""#;
    let harmless = CommandModel { environment: vec![given.to_owned()], ..bash(harmless) };
    let mut heard = String::new();
    let answer = harmless.ask(&ModelRequest::new("?"), &mut |piece: &str| heard.push_str(piece)).await.unwrap();
    assert_eq!((answer.text.as_str(), heard.as_str()), (&secret[..secret.len() - 1], &secret[..secret.len() - 1]));
}

#[tokio::test]
async fn nor_in_one_so_long_that_its_beginning_is_lost() {
    let secret = std::env::var("CARGO_PKG_DESCRIPTION").unwrap();
    let leak = CommandModel {
        environment: vec!["CARGO_PKG_DESCRIPTION".to_owned()],
        ..bash(r#"for i in {1..99}; do printf '%s' "$CARGO_PKG_DESCRIPTION"; done >&2; exit 1"#)
    };
    let failure = ask(&leak, "?").await.unwrap_err();
    assert!(failure.detail.contains("): ………"), "{failure}");
    assert!(!failure.detail.contains(&secret[secret.len() - 10..]), "{failure}");
}
