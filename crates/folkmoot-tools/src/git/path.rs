//! Validates paths from outside.

/// The longest path.
const PATH_BYTES_MAX: usize = 1024;
/// The longest name in it.
const NAME_BYTES_MAX: usize = 255;

/// Accepts relative paths that stay beneath their folder and do not touch git's own files, on any
/// file system that the repository may be checked out on.
pub(crate) fn check(path: &str) -> Result<(), String> {
    let refused =
        |why: &str| Err(format!("the path {:?} is refused: {why}", path.chars().take(120).collect::<String>()));
    if path.is_empty() {
        return refused("it is empty");
    }
    if path.len() > PATH_BYTES_MAX {
        return refused("it is longer than 1024 bytes");
    }
    if path.chars().any(|c| c.is_control() || is_unseen(c)) {
        return refused("it has characters that nobody sees");
    }
    if path.contains('\\') {
        return refused("write / between folders, and no \\");
    }
    for name in path.split('/') {
        match name {
            "" => return refused("it begins or ends with /, or has two of them; it must be relative"),
            "." | ".." => return refused("it must not have . or .. in it"),
            _ if name.len() > NAME_BYTES_MAX => return refused("a name in it is longer than 255 bytes"),
            _ if name.starts_with('-') => {
                return refused("a name in it begins with -, which programs take for an option");
            }
            _ if is_dot_git(name) => return refused("that is git's own folder, or would be on another system"),
            _ => {}
        }
    }
    Ok(())
}

/// As git judges it: NTFS ignores case, trailing dots and spaces, and has streams and short names.
fn is_dot_git(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or(name);
    let name = name.trim_end_matches(['.', ' ']).to_lowercase();
    name == ".git" || name == "git~1"
}

/// Characters that some file systems ignore, or that reverse displayed text.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
