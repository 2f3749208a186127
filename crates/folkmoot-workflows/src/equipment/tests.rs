use super::*;

fn read(text: &str) -> Result<mcp::Reach, String> {
    let server: McpServer = toml::from_str(text).map_err(|error| error.to_string())?;
    let settings =
        EquipmentSettings { mcp: BTreeMap::from([("s".to_owned(), server.clone())]), ..EquipmentSettings::default() };
    settings.check().and_then(|()| server.reach())
}

#[test]
fn an_mcp_server_is_a_program_or_an_address() {
    assert!(matches!(read("command = ['x', 'y']"), Ok(mcp::Reach::Stdio { command, .. }) if command.len() == 2));
    assert!(matches!(read("url = 'http://127.0.0.1:1'\nkey_env = 'K'"), Ok(mcp::Reach::Http { key: Some(_), .. })));
    let wrong = [
        ("", "[mcp.s] needs `command`"),
        ("command = ['x']\nurl = 'http://127.0.0.1:1'", "has both"),
        ("command = ['x']\nkey_env = 'K'", "has a key for a program"),
        ("url = 'http://127.0.0.1:1'\nenvironment = { A = 'b' }", "mean nothing for a server over HTTP"),
        ("url = 'http://127.0.0.1:1'\nkey_env = 'K'\nkey_file = 'f'", "keep one"),
    ];
    for (text, expected) in wrong {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
