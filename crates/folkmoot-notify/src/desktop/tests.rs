use std::{os::unix::fs::PermissionsExt, path::Path};

use super::*;
use crate::RetryAdvice;

fn message() -> Notification {
    Notification {
        id: "d-1".into(),
        kind: "gate.opened".into(),
        at: "2026-01-31T12:00:00Z".into(),
        data: serde_json::Value::Null,
        title: "--help; $(touch /tmp/owned)\n`id`".into(),
        text: "<b>bold</b> & \"quoted\" 'so'".into(),
        facts: Vec::new(),
        link: Some(NotificationLink::Command("folkmoot approve g-1".into())),
        thread: None,
    }
}

/// The programs of this machine.
#[derive(Debug)]
pub(crate) struct Tools;

impl Programs for Tools {
    fn is_installed(&self, program: &str, environment: &BTreeMap<String, String>) -> bool {
        folkmoot_tools::find(program, environment).is_some()
    }

    fn run<'a>(
        &'a self,
        command: &'a [String],
        environment: &'a BTreeMap<String, String>,
        timeout: Duration,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>> {
        Box::pin(folkmoot_tools::run_once(command, environment, timeout))
    }
}

/// A `notify-send` that writes down what it was called with.
fn desktop(folder: &Path, script: &str) -> Desktop {
    let program = folder.join("notify-send");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let environment =
        [("PATH", path.as_str()), ("DISPLAY", ":7")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    Desktop { programs: Arc::new(Tools), environment: environment.into(), is_mac: false }
}

#[tokio::test]
async fn what_is_shown_are_arguments_that_nothing_reads() {
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let desktop = desktop(folder.path(), &format!("printf '%s|' \"$DISPLAY\" \"$@\" > {}", said.display()));
    desktop.send(&message()).await.expect("it is shown");
    assert_eq!(
        std::fs::read_to_string(said).unwrap(),
        ":7|--app-name=Folkmoot|--|--help; $(touch /tmp/owned) `id`|&lt;b&gt;bold&lt;/b&gt; &amp; \"quoted\" 'so'\nfolkmoot approve g-1|"
    );
}

#[tokio::test]
async fn a_program_that_fails_is_tried_again_later() {
    let folder = tempfile::tempdir().unwrap();
    let undelivered = desktop(folder.path(), "echo no bus >&2; exit 1").send(&message()).await.expect_err("it failed");
    assert_eq!(undelivered.again, RetryAdvice::Later);
    assert!(undelivered.reason.contains("no bus"), "{undelivered}");
}

#[tokio::test]
async fn without_a_desktop_it_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut there = desktop(folder.path(), "true");
    there.environment.remove("DISPLAY");
    let undelivered = there.send(&message()).await.expect_err("there is none");
    assert_eq!(undelivered.again, RetryAdvice::Never);
    assert!(undelivered.reason.contains("start the server from a desktop session"), "{undelivered}");
    there.environment.insert("PATH".to_owned(), "/nowhere".to_owned());
    let undelivered = there.send(&message()).await.expect_err("not installed");
    assert_eq!(undelivered.again, RetryAdvice::Never);
    assert!(undelivered.reason.contains("install libnotify-bin"), "{undelivered}");
}

#[test]
fn on_a_mac_the_text_is_no_part_of_the_script() {
    let desktop = Desktop { programs: Arc::new(Tools), environment: BTreeMap::new(), is_mac: true };
    let command = desktop.command(&message());
    let behind = command.iter().position(|word| word == "--").expect("the end of options");
    assert_eq!(command[behind + 1..].len(), 2);
    assert!(command[..behind].iter().all(|word| !word.contains("bold") && !word.contains("--help")), "{command:?}");
}
