use serde_json::json;

use super::canonical;

#[test]
fn members_are_in_order_and_texts_are_as_others_write_them() {
    let value = json!({"b": [1, -2, {"d": null, "c": true}], "a": "ä \u{1f389} \" \\ \n \u{1} \u{7f} /", "A": 1});
    let expected = r#"{"A":1,"a":"ä 🎉 \" \\ \n \u0001  /","b":[1,-2,{"c":true,"d":null}]}"#;
    assert_eq!(canonical(&value).as_deref(), Some(expected));
}

#[test]
fn what_others_would_write_differently_has_no_form() {
    assert_eq!(canonical(&json!({"a": [0.5]})), None);
    assert_eq!(canonical(&json!({"ä": 1})), None);
}
