use proptest::prelude::*;

use super::*;

#[test]
fn words_are_letters_and_digits_in_lower_case_each_once() {
    let said = |text, longer_than| words(text, longer_than).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(said("The cache, the CACHE-2; a_b", 0), "2 a b cache the");
    assert_eq!(said("The cache, the CACHE-2; a_b", 2), "cache the");
    assert_eq!(said("The cache, the CACHE-2; a_b", 3), "cache");
    assert_eq!(said("Zähler über", 3), "zähler über", "characters count, not bytes");
    assert_eq!(said("  ", 0), "");
}

#[test]
fn keywords_leave_out_what_every_text_has() {
    assert_eq!(
        keywords("Which of the caches should have a lock? The caches").collect::<Vec<_>>(),
        ["caches", "lock", "caches"]
    );
}

#[test]
fn sets_are_alike_by_what_they_share_of_all() {
    let alike = |one, two| alike(&words(one, 0), &words(two, 0)).as_hundredths();
    assert_eq!(alike("a b c d", "a b c d"), 100);
    assert_eq!(alike("a b c d", "a b c d e"), 80);
    assert_eq!(alike("a b c", "a b d"), 50);
    assert_eq!(alike("a", "b"), 0);
    assert_eq!(alike("", ""), 0);
}

proptest! {
    #[test]
    fn likeness_has_no_direction_and_is_whole_only_for_equals(one in "[a-d ]{0,12}", two in "[a-d ]{0,12}") {
        let (one, two) = (words(&one, 0), words(&two, 0));
        prop_assert_eq!(alike(&one, &two), alike(&two, &one));
        prop_assert_eq!(alike(&one, &two) == Share::ONE, one == two && !one.is_empty());
    }
}
