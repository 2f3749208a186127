use super::*;

#[test]
fn a_column_counts_characters_whatever_the_server_counts() {
    let line = "aé😀b";
    let columns = |units: [u32; 4], encoding| units.map(|units| column(line, units, encoding));
    assert_eq!(columns([0, 1, 3, 7], Encoding::Utf8), [1, 2, 3, 4]);
    assert_eq!(columns([0, 1, 2, 4], Encoding::Utf16), [1, 2, 3, 4]);
    assert_eq!(columns([0, 1, 2, 3], Encoding::Utf32), [1, 2, 3, 4]);
    assert_eq!(column(line, u32::MAX, Encoding::Utf16), 5, "beyond the end is the end");
    assert_eq!(column("", 7, Encoding::Utf8), 1);
}

#[test]
fn the_same_file_is_known_however_it_is_escaped() {
    let ours = uri(Path::new("/tmp/a b/ü+1.py"));
    assert_eq!(ours, "file:///tmp/a%20b/%C3%BC%2B1.py");
    assert!(is_same(Some("file:///tmp/a%20b/%c3%bc+1.py"), &ours));
    assert!(!is_same(Some("file:///tmp/a%20b/%"), &ours));
    assert!(!is_same(None, &ours));
}
