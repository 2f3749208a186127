use super::*;

#[test]
fn a_mail_server_is_a_name_and_a_port() {
    let read = |server, tls| host_and_port(server, tls).map(|(host, port)| format!("{host} {port}"));
    assert_eq!(read("smtp.example.org:2525", MailTls::StartTls).as_deref(), Ok("smtp.example.org 2525"));
    assert_eq!(read("smtp.example.org", MailTls::StartTls).as_deref(), Ok("smtp.example.org 587"));
    assert_eq!(read("smtp.example.org", MailTls::Tls).as_deref(), Ok("smtp.example.org 465"));
    assert_eq!(read("[::1]:25", MailTls::None).as_deref(), Ok("::1 25"));
    assert_eq!(read("::1", MailTls::None).as_deref(), Ok("::1 25"));
    for wrong in ["", ":25", "a b:25", "smtp.example.org:x", "smtp://example.org", "a\r\nb"] {
        read(wrong, MailTls::None).expect_err(wrong);
    }
}

#[test]
fn an_id_cannot_leave_its_header() {
    assert_eq!(message_id("d-1>\r\nBcc: x@y", "example.org"), "<d-1---Bcc--x-y@example.org>");
}
