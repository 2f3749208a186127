use super::*;

#[test]
fn the_end_of_an_output_is_kept_in_whole_characters() {
    let long = format!("{}ü", "é".repeat(5000));
    let kept = tail(long.as_bytes());
    assert_eq!(kept.chars().count(), TAIL_CHARS);
    assert!(kept.ends_with("éü"));
}

#[test]
fn a_terminals_commands_are_not() {
    let output = b"\x1b[31mred\x1b[0m\x1b]0;title\x07 \x1b]8;;http://x\x1b\\link\r\n\x08\x00tab\there \xff \x1b";
    assert_eq!(tail(output), "red link\ntab\there \u{fffd}");
    assert_eq!(tail(b"\x1b["), "");
}

#[test]
fn no_command_has_not_passed() {
    assert!(!ProjectCheck::NoCommand.passed());
    assert!(!ProjectCheck::Unavailable("x".into()).passed());
    assert!(!ProjectCheck::Ran(Vec::new()).passed());
}
