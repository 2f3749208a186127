use super::*;

#[test]
fn a_line_keeps_the_end_of_a_long_complaint_and_splits_no_character() {
    assert_eq!(line("first\nTraceback:\n\x1b[31merror\x07", 100), "first Traceback: [31merror");
    assert_eq!(line("ääää", 5), "…ää");
}

#[test]
fn a_text_loses_what_people_cannot_see_and_says_that_it_was_cut() {
    assert_eq!(text("a\u{202e}b\u{200b}\u{e0041}c\n\td\0", 100), "abc\n\td");
    assert_eq!(text("ööö", 3), "ö… [cut: 2 of 6 bytes]");
}

#[test]
fn no_text_contains_its_own_mark() {
    let mut text = "data".to_owned();
    for _ in 0..20 {
        let mark = mark(&[&text, "more"]);
        assert!(!text.contains(&mark));
        // Somebody who guesses the mark of the last one.
        text.push_str(&mark);
    }
}
