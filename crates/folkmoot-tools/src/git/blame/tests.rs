use super::*;

#[test]
fn a_line_that_looks_like_a_heading_is_a_line() {
    let answer = "aa 1 1 1\nauthor A\nauthor-time 5\nsummary author B\nfilename f\n\tauthor Mallory\nbb 1 2 1\nauthor B\n\
                  author-time 6\n\t\taa 9 9 9\naa 2 3\n\t\n";
    let line = |number, text: &str, commit: &str, author: &str, seconds: i64| BlameLine {
        number,
        text: text.into(),
        commit: commit.into(),
        author: author.into(),
        at: Timestamp::from_micros(seconds * 1_000_000),
    };
    assert_eq!(
        lines_of(answer),
        [line(1, "author Mallory", "aa", "A", 5), line(2, "\taa 9 9 9", "bb", "B", 6), line(3, "", "aa", "A", 5)]
    );
    assert_eq!(lines_of(""), []);
}

/// Whoever may commit names themselves, and each line repeats the name.
#[test]
fn a_long_name_on_many_lines_takes_no_more_than_a_short_one() {
    let many = "aa 1 1\n\tx\n".repeat(20_000);
    let lines = lines_of(&format!("aa 1 1 1\nauthor {}\n\tx\n{many}", "ä".repeat(100_000)));
    assert_eq!((lines.len(), lines[20_000].author.as_str()), (20_001, "ä".repeat(128).as_str()));
    assert_eq!(lines_of(&format!("{} 1 7 1\nauthor Ann\n\tx\n", "a".repeat(100_000)))[0].commit, "a".repeat(64));
}

#[test]
fn parsers_of_any_blame_do_not_panic() {
    let id = "4a1f0c0b6f0d9e8c7b6a5f4e3d2c1b0a9f8e7d6c";
    let answer =
        format!("{id} 1 1 2\nauthor Ann\nauthor-time 1700000000\nsummary s\nfilename a\n\tone\n{id} 2 2\n\ttwo\n");
    assert_eq!(lines_of(&answer).len(), 2);
    folkmoot_mangle::check_text("git's blame", &[&answer], |text| drop(lines_of(text)));
}
