use std::collections::HashMap;

use super::{SlotHistory, share};

fn shared(under_way: &[(&str, usize)], due: &[&str]) -> Vec<usize> {
    let under_way: HashMap<String, usize> = under_way.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    share_after(&[], &under_way, due)
}

/// As [`shared`], where these were served before, one after another.
fn share_after(before: &[&str], under_way: &HashMap<String, usize>, due: &[&str]) -> Vec<usize> {
    let mut served = SlotHistory::default();
    before.iter().for_each(|channel| served.note(channel));
    let due: Vec<String> = due.iter().map(ToString::to_string).collect();
    share(under_way, &served, &due)
}

#[test]
fn one_channel_gets_a_few_places_and_many_share_them_all() {
    assert_eq!(shared(&[], &["a"]), [4]);
    assert_eq!(shared(&[("a", 3)], &["a"]), [1]);
    assert_eq!(shared(&[("a", 4)], &["a"]), [0]);
    assert_eq!(shared(&[], &["a", "b", "c", "d", "e", "f", "g", "h"]), [2; 8]);
    assert_eq!(shared(&[], &[""; 40]).iter().sum::<usize>(), 16);
    assert_eq!(shared(&[], &[]), [0; 0]);
}

#[test]
fn a_place_that_is_given_up_goes_to_whoever_has_none() {
    let dead = [("a", 4), ("b", 4), ("c", 4), ("d", 3)];
    assert_eq!(shared(&dead, &["a", "b", "c", "d", "works"]), [0, 0, 0, 0, 1]);
    assert_eq!(shared(&dead, &["a", "b", "c", "d"]), [0, 0, 0, 1]);
    assert_eq!(shared(&[("a", 4), ("b", 4), ("c", 4), ("d", 4)], &["works"]), [0]);
}

#[test]
fn of_those_who_have_as_few_the_one_that_was_served_least_recently_is_next() {
    // All places but one are taken by receivers that do not answer, and each of them has more to be
    // told.
    let hang: HashMap<String, usize> = ('b'..='p').map(|name| (name.to_string(), 1)).collect();
    let before = ["z", "y", "a"];
    assert_eq!(share_after(&before, &hang, &["a", "y", "z"]), [0, 0, 1]);
    assert_eq!(share_after(&before, &hang, &["a", "y"]), [0, 1]);
    assert_eq!(share_after(&before, &hang, &["a", "new", "y", "z"]), [0, 1, 0, 0], "never is longest ago");
    assert_eq!(share_after(&["a", "z", "y", "a"], &hang, &["a", "y", "z"]), [0, 0, 1], "the last time counts");
}
