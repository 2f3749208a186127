use std::collections::HashMap;

use super::share;

fn shared(under_way: &[(&str, usize)], due: &[&str]) -> Vec<usize> {
    let under_way: HashMap<String, usize> = under_way.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    let due: Vec<String> = due.iter().map(ToString::to_string).collect();
    share(&under_way, &due)
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
