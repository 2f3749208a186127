use super::*;

async fn read(bytes: &[u8]) -> Result<Option<serde_json::Value>, LspError> {
    let mut from = bytes;
    frame::read(&mut from, 1000).await
}

#[tokio::test]
async fn a_message_is_as_long_as_its_header_says() {
    assert_eq!(read(b"").await, Ok(None));
    assert_eq!(read(b"content-LENGTH:2\r\nContent-Type: x\r\n\r\n{}rest").await, Ok(Some(serde_json::json!({}))));
    assert_eq!(read(b"Content-Length: 2\n\n[]").await, Ok(Some(serde_json::json!([]))));
    let fails = |bytes: Vec<u8>, part: &'static str| async move {
        let error = read(&bytes).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    fails(b"Content-Length: 3\r\n\r\n{}".to_vec(), "ended too early").await;
    fails(b"Content-Length: 1\r\n\r\n{}".to_vec(), "no JSON").await;
    fails(b"Content-Length: -1\r\n\r\n{}".to_vec(), "no number").await;
    fails(b"Content-Length: 99999999999999999999\r\n\r\n{}".to_vec(), "no number").await;
    fails(b"Content-Length: 1001\r\n\r\n{}".to_vec(), "1001 bytes; 1000 are allowed").await;
    fails(b"Content-Type: x\r\n\r\n{}".to_vec(), "without a length").await;
    fails(b"hello\r\n\r\n".to_vec(), "no header: \"hello\"").await;
    fails(b"\xff\xfe:\r\n".to_vec(), "no header").await;
    fails(b"Content-Len".to_vec(), "ends within a header").await;
    fails(b"x".repeat(100_000), "a header without an end").await;
    fails(b"a: b\n".repeat(10_000), "a header without an end").await;
}

#[test]
fn a_file_is_in_the_folder_or_is_not_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
    for good in ["a.py", "not/there/yet.py"] {
        assert_eq!(within(&root, Path::new(good)), Ok(root.join(good)));
    }
    assert_eq!(within(&root, &root.join("a.py")), Ok(root.join("a.py")));
    for bad in ["../a.py", "a/../../b.py", "/etc/passwd", "out/passwd", "", "."] {
        assert!(matches!(within(&root, Path::new(bad)), Err(LspError::Invalid(_))), "{bad}");
    }
}

#[test]
fn a_language_is_known_by_the_name_of_the_file() {
    assert_eq!(LspLanguage::of(Path::new("src/main.rs")), Some(LspLanguage::Rust));
    assert_eq!(LspLanguage::of(Path::new("a.b.tsx")), Some(LspLanguage::TypeScript));
    assert_eq!(LspLanguage::of(Path::new("Makefile")), None);
}

#[test]
fn parsers_of_any_frame_give_a_message_or_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let samples = [
        "Content-Length: 38\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "content-length:2\nContent-Type: x\n\n[]Content-Length: 4\r\n\r\nnull",
    ];
    folkmoot_mangle::check("frames of LSP", &samples, |bytes| {
        runtime.block_on(async {
            let mut from = bytes;
            while let Ok(Some(_)) = frame::read(&mut from, 100_000).await {}
        });
    });
}
