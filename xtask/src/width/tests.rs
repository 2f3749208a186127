use super::{wide_comments, wide_prose};

#[test]
fn a_comment_is_wide_from_101_columns_on_and_code_never() {
    let fits = format!("    // {}", "é".repeat(93));
    let wide = format!("{fits}x");
    let code = format!("let x = {:?}; // {}", "x".repeat(90), "y".repeat(50));
    let text = format!("{fits}\n{wide}\n{code}\n/// {}\n", "z ".repeat(60));
    assert_eq!(wide_comments(&text).collect::<Vec<_>>(), [2, 4]);
}

#[test]
fn prose_is_wide_and_tables_and_output_are_not() {
    let long = "word ".repeat(30);
    let text = format!("{long}\n| {long} |\n```\n{long}\n```\n- {long}\nhttps://{}\n", "x".repeat(120));
    assert_eq!(wide_prose(&text).collect::<Vec<_>>(), [1, 6]);
}
