//! Recognises files with secrets, by name and by content.

/// Whether a path must not be shown to a model: keys, tokens, passwords, and folders of them.
pub fn is_secret(path: &str) -> bool {
    let path = path.to_lowercase();
    let mut names = path.split('/').rev();
    let file = names.next().unwrap_or_default();
    is_secret_name(file) || is_secret_folder(file) || names.any(is_secret_folder)
}

fn is_secret_folder(name: &str) -> bool {
    [".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud", ".secrets"].contains(&name)
}

fn is_secret_name(name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    // Example environments are meant to be shown.
    let environment = name == ".env" || name.starts_with(".env.") || name == ".envrc" || extension == "env";
    if environment {
        return !["example", "sample", "template", "dist", "defaults"].contains(&extension);
    }
    let exact = [
        ".netrc",
        "_netrc",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".htpasswd",
        ".my.cnf",
        ".s3cfg",
        ".boto",
        ".dockercfg",
        ".vault-token",
        "credentials",
        "credentials.json",
        "credentials.toml",
        "service-account.json",
        "service_account.json",
        "client_secret.json",
        "master.key",
        "kubeconfig",
    ];
    let extensions = [
        "pem", "key", "p8", "p12", "pfx", "jks", "keystore", "kdb", "kdbx", "ppk", "asc", "gpg", "tfstate", "tfvars",
        "ovpn",
    ];
    // ssh keys have no extension; their public halves and `id_map.rs` have one.
    let key = name.starts_with("id_") && extension.is_empty();
    let settings = ["yaml", "yml", "json", "toml", "ini", "txt", "properties", ""].contains(&extension);
    let named = settings && ["secret", "secrets", ".secret", ".secrets", "passwords"].contains(&stem);
    exact.contains(&name) || extensions.contains(&extension) || key || named
}

/// Whether a text contains a private key.
pub(super) fn holds_a_key(text: &str) -> bool {
    // Split, so that this file does not match itself.
    let marker = ["PRIVATE KEY", "-----"].concat();
    text.match_indices(&marker).any(|(at, _)| {
        let before = &text[..at];
        let line = before.rsplit('\n').next().unwrap_or(before);
        line.contains("-----BEGIN ")
    })
}
