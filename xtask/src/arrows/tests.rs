use super::{impurities, wrong_arrows};

#[test]
fn the_drawn_arrows_pass() {
    check(
        "
        0folkmoot v0.1.0 (path)
        1anyhow v1.0.104
        1folkmoot-api v0.1.0 (path)
        1folkmoot-server v0.1.0 (path)

        0folkmoot-api v0.1.0 (path)
        1folkmoot-core v0.1.0 (path)

        0folkmoot-server v0.1.0 (path)
        1folkmoot-core v0.1.0 (path)

        0folkmoot-core v0.1.0 (path)
        1serde v1.0.229
        ",
        &[],
    );
}

#[test]
fn an_arrow_that_points_up_is_named() {
    check(
        "
        0folkmoot-core v0.1.0 (path)
        1folkmoot-store v0.1.0 (path)
        0folkmoot-store v0.1.0 (path)
        ",
        &["folkmoot-core -> folkmoot-store"],
    );
}

#[test]
fn a_layer_may_not_be_jumped() {
    check(
        "
        0folkmoot v0.1.0 (path)
        1folkmoot-core v0.1.0 (path)
        1folkmoot-store v0.1.0 (path)
        0folkmoot-core v0.1.0 (path)
        0folkmoot-store v0.1.0 (path)
        ",
        &["folkmoot -> folkmoot-core", "folkmoot -> folkmoot-store"],
    );
}

#[test]
fn a_crate_without_a_rule_is_named() {
    check(
        "
        0folkmoot-core v0.1.0 (path)
        0folkmoot-utils v0.1.0 (path)
        ",
        &["folkmoot-utils has no rule"],
    );
}

#[test]
fn a_tree_that_cannot_be_read_does_not_pass() {
    check("", &["no folkmoot-core in the tree"]);
    check("{\"packages\": []}", &["no folkmoot-core in the tree"]);
    assert_eq!(impurities("folkmoot-core", "").len(), 1);
}

#[test]
fn the_core_may_not_reach_tokio_at_any_depth() {
    let pure = "0folkmoot-core v0.1.0 (path)\n1serde v1.0.229\n";
    let impure = "0folkmoot-core v0.1.0 (path)\n1jiff v0.2.39\n2tokio v1.54.1\n";
    assert_eq!(impurities("folkmoot-core", pure), Vec::<String>::new());
    assert!(impurities("folkmoot-core", impure)[0].starts_with("folkmoot-core -> … -> tokio:"));
}

/// Each fault must begin with the words given for it, and there must be no other.
#[track_caller]
fn check(tree: &str, expected: &[&str]) {
    let tree: String = tree.lines().map(|line| format!("{}\n", line.trim())).collect();
    let faults = wrong_arrows(&tree);
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault:?} is not {expected:?}");
    }
}
