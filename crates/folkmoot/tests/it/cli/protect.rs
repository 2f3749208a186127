//! `folkmoot protect`

use serde_json::Value;

use super::{Desk, presence::without_a_terminal, talk::Talk};

const PASSPHRASE: &str = "correct horse battery";

fn tokens(desk: &Desk) -> Value {
    let text = std::fs::read(desk.path().join("tokens.json")).expect("it is there");
    serde_json::from_slice(&text).expect("it is JSON")
}

/// `None` where there is no terminal to try.
fn protected() -> Option<Desk> {
    let desk = Desk::new();
    let mut talk = Talk::begin(&desk, "protect")?;
    talk.when("New passphrase:", &format!("{PASSPHRASE}\n"));
    talk.when("Once more:", &format!("{PASSPHRASE}\n"));
    let (code, said) = talk.end();
    assert_eq!((code, said.contains(PASSPHRASE)), (0, false), "{said}");
    Some(desk)
}

#[test]
fn under_a_passphrase_nothing_that_is_stored_decides() {
    let Some(desk) = protected() else { return };
    let kept = tokens(&desk);
    assert!(kept["protected"].is_object(), "{kept}");
    let id = desk.say(&["gate", "open", "Deploy", "--risk", "high"]);
    // What lies in the clear reads, and does nothing else, whatever an agent claims with it.
    let clear = kept["you"]["token"].as_str().unwrap().to_owned();
    for secret in [clear.as_str(), kept["protected"]["sealed"].as_str().unwrap()] {
        let refused = desk.run(&["--token", secret, "approve", &id]);
        assert_eq!(refused.code, 1, "{refused:?}");
    }
    assert_eq!(desk.run(&["--token", &clear, "gate", "show", &id]).code, 0);
    if let Some(refused) = without_a_terminal(desk.path(), &["approve"]) {
        assert_eq!((refused.code, refused.stderr.contains("no terminal")), (1, true), "{refused:?}");
    }
    desk.pending(1);

    let mut talk = Talk::begin(&desk, "approve").expect("a terminal");
    talk.when("[y/N]", "y\n");
    talk.when("Passphrase:", "incorrect horse\n");
    let (code, said) = talk.end();
    assert_eq!((code, said.contains("this is not the passphrase")), (1, true), "{said}");
    desk.pending(1);

    let mut talk = Talk::begin(&desk, "approve").expect("a terminal");
    talk.when("[y/N]", "y\n");
    talk.when("Passphrase:", &format!("{PASSPHRASE}\n"));
    let (code, said) = talk.end();
    assert_eq!((code, said.contains(PASSPHRASE)), (0, false), "{said}");
    assert_eq!(desk.json(&["gate", "show", &id])["decision"]["presence"], "passphrase");
    assert_eq!(desk.json(&["doctor"])["set_up"], "same_user_protected");
}

#[test]
fn one_process_asks_for_the_passphrase_once() {
    let Some(desk) = protected() else { return };
    let (first, second) = (desk.say(&["gate", "open", "first"]), desk.say(&["gate", "open", "second"]));
    let mut talk = Talk::begin(&desk, &format!("approve {first} {second}")).expect("a terminal");
    talk.when("[y/N]", "y\n");
    talk.when("Passphrase:", &format!("{PASSPHRASE}\n"));
    talk.when("[y/N]", "y\n");
    let (code, said) = talk.end();
    assert_eq!((code, said.matches("Passphrase:").count()), (0, 1), "{said}");
    desk.pending(0);
}

#[test]
fn with_the_passphrase_it_is_undone() {
    let Some(desk) = protected() else { return };
    let mut talk = Talk::begin(&desk, "protect --remove").expect("a terminal");
    talk.when("Passphrase:", &format!("{PASSPHRASE}\n"));
    assert_eq!(talk.end().0, 0);
    assert_eq!(tokens(&desk)["protected"], Value::Null);
    let id = desk.say(&["gate", "open", "Deploy"]);
    let mut talk = Talk::begin(&desk, "approve").expect("a terminal");
    talk.when("[y/N]", "y\n");
    assert_eq!(talk.end().0, 0);
    assert_eq!(desk.json(&["gate", "show", &id])["decision"]["presence"], "terminal");
    let left = desk.json(&["token", "list"]);
    let live = left["tokens"].as_array().unwrap().iter().filter(|token| token["revoked_at"].is_null());
    let kinds: Vec<_> = live.map(|token| token["kind"].as_str().unwrap().to_owned()).collect();
    assert!(!kinds.contains(&"protected".to_owned()) && !kinds.contains(&"reading".to_owned()), "{kinds:?}");
}

#[test]
fn a_passphrase_is_typed_twice_and_is_not_short() {
    let desk = Desk::new();
    desk.say(&["status"]);
    let Some(mut talk) = Talk::begin(&desk, "protect") else { return };
    talk.when("New passphrase:", "short\n");
    let (code, said) = talk.end();
    assert_eq!((code, said.contains("shorter than 8 characters")), (1, true), "{said}");
    let mut talk = Talk::begin(&desk, "protect").expect("a terminal");
    talk.when("New passphrase:", &format!("{PASSPHRASE}\n"));
    talk.when("Once more:", "something else\n");
    let (code, said) = talk.end();
    assert_eq!((code, said.contains("two different passphrases")), (1, true), "{said}");
    if let Some(refused) = without_a_terminal(desk.path(), &["protect"]) {
        assert_eq!((refused.code, refused.stderr.contains("terminal")), (1, true), "{refused:?}");
    }
    assert_eq!(tokens(&desk)["protected"], Value::Null);
}
