//! Where a page ended comes back from outside.

use folkmoot_mangle::check_text;
use folkmoot_store::Cursor;

#[test]
fn a_cursor_comes_back_as_it_was_or_is_refused() {
    let samples = [
        "i~0~1769850000000000~1769850000000001~gate-1",
        "n~1769850000000000~run-1",
        "n~-1~x",
        "i~3~9223372036854775807~0~a",
    ];
    check_text("cursors", &samples, |text| {
        if let Ok(cursor) = text.parse::<Cursor>() {
            assert_eq!(cursor.to_string().parse::<Cursor>().ok(), Some(cursor), "{text}");
        }
    });
}
