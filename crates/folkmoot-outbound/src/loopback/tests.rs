use super::*;

#[test]
fn a_server_on_this_machine_is_known_by_its_address() {
    for url in [
        "http://127.0.0.1:8080/v1",
        "http://127.8.9.1",
        "http://[::1]:1/",
        "http://[::ffff:127.0.0.1]/",
        "http://LOCALHOST:11434",
        "http://2130706433/",
    ] {
        assert!(is_loopback(&url.parse().unwrap()), "{url}");
    }
    for url in ["http://128.0.0.1", "https://localhost.example.org", "http://[::2]/", "http://10.0.0.1", "data:,x"] {
        assert!(!is_loopback(&url.parse().unwrap()), "{url}");
    }
}
