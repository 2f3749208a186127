use proptest::prelude::*;

use super::Share;

#[test]
fn a_share_of_nothing_is_unknown_and_of_too_much_is_all() {
    assert_eq!(Share::part(0, 0), None);
    assert_eq!(Share::part(3, 2), Some(Share::ONE));
    assert_eq!(Share::part(u64::MAX, u64::MAX), Some(Share::ONE));
}

proptest! {
    #[test]
    fn a_share_of_something_reaches_a_threshold_exactly_where_the_fraction_does(
        whole in 1..=10_000u64, part in 0..=10_000u64, threshold in 0..=100u8,
    ) {
        let part = part.min(whole);
        let share = Share::part(part, whole).unwrap();
        prop_assert_eq!(share.as_hundredths() >= threshold, part * 100 >= u64::from(threshold) * whole);
        prop_assert_eq!(share == Share::ONE, part == whole);
    }
}
