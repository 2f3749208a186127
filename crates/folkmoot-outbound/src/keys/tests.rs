use proptest::prelude::*;
use serde_json::json;

use super::*;

const KEY: &str = "sk-0123456789-abcdefghij";

fn keys(texts: &[&str]) -> Keys {
    Keys::new(texts.iter().map(|text| ("KEY", *text)))
}

#[test]
fn a_key_is_erased_wherever_it_stands_and_a_short_word_is_not() {
    assert_eq!(keys(&[KEY]).erase(&format!("no such key: {KEY}.")), "no such key: ….");
    assert_eq!(keys(&["none"]).erase("there is none"), "there is none");
    assert_eq!(keys(&["secret", "secret-and-more"]).erase("secret-and-more, secret"), "…, …");
    assert_eq!(keys(&["line-end\n"]).erase("line-end, then"), "…, then");
    assert_eq!(
        keys(&[r#"a/b"c\d"#]).erase(r#"{"key": "a/b\"c\\d", "php": "a\/b\"c\\d"}"#),
        r#"{"key": "…", "php": "…"}"#
    );
    let value = json!({ "secret": ["my secret", 1, null, { "x": "secret" }] });
    assert_eq!(keys(&["secret"]).erase_value(value), json!({ "…": ["my …", 1, null, { "x": "…" }] }));
}

#[test]
fn what_lost_its_beginning_within_a_key_shows_no_rest_of_it() {
    assert_eq!(keys(&[KEY]).erase_end(&format!("{}. {KEY}", &KEY[2..])), "…. …");
    assert_eq!(keys(&[KEY]).erase_end("fghij"), "fghij");
    assert_eq!(keys(&["schlüssel"]).erase_end("üssel"), "…");
}

#[test]
fn keys_are_never_printed() {
    assert_eq!(format!("{:?} {:?}", keys(&[KEY]), keys(&[KEY]).watch()), "… …");
}

#[test]
fn what_may_be_a_key_is_held_back_until_it_is_known() {
    let mut watch = keys(&[KEY]).watch();
    assert_eq!(watch.hear("Grüße s").unwrap(), "Grüße ");
    assert_eq!(watch.hear("k-0").unwrap(), "");
    assert_eq!(watch.hear("s").unwrap(), "sk-0");
    assert_eq!(watch.hear("sk-").unwrap(), "s");
    assert_eq!(watch.end(), "sk-");
    assert_eq!(watch.hear(KEY), Err(LeakedKey { name: "KEY".to_owned() }));
    // What local servers take for a key is a word.
    assert_eq!(keys(&["ollama"]).watch().hear("olla").unwrap(), "olla");
}

proptest! {
    #[test]
    fn however_it_is_cut_all_of_a_text_is_shown_or_nothing_of_a_key(
        pieces in prop::collection::vec("[abü]{0,9}", 0..40),
        tail in 20..40usize,
    ) {
        let key: String = "abaüabaabaüabaabaüabaabaüabaabaüabaabaüaba".chars().take(tail).collect();
        let mut watch = keys(&[&key, "bbbbbbbbbbbbbbbbbbbbbbbb"]).watch();
        let mut shown = String::new();
        for piece in pieces.iter().map(String::as_str) {
            shown += &watch.hear(piece).unwrap();
            prop_assert!(pieces.concat().starts_with(&shown));
        }
        shown += &watch.end();
        prop_assert_eq!(&shown, &pieces.concat());

        // The same text with the key behind it, in the same pieces and then by characters.
        let mut watch = keys(&[&key]).watch();
        let mut shown = String::new();
        let told = pieces.concat().chars().chain(key.chars()).try_for_each(|c| {
            shown += &watch.hear(&c.to_string())?;
            Ok::<_, LeakedKey>(())
        });
        prop_assert!(told.is_err());
        prop_assert!(pieces.concat().starts_with(&shown));
    }
}
