//! No network, unless somebody has asked for it.

use std::{
    net::{TcpListener, TcpStream},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener, UnixStream},
    },
};

use folkmoot_tools::jail::{JailError, JailJob, Profile};

use super::{jail, python, said};

fn connecting(port: u16) -> JailJob {
    python(&format!(
        "import socket\n\
         try: socket.create_connection(('127.0.0.1', {port}), timeout=2); print('connected')\n\
         except OSError as e: print(e.strerror)"
    ))
}

#[tokio::test]
async fn nothing_outside_can_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(TcpStream::connect(address).unwrap());
    listener.accept().unwrap();
    listener.set_nonblocking(true).unwrap();
    assert_eq!(said(connecting(address.port())).await, "Connection refused\n");
    assert!(listener.accept().is_err(), "nobody has come");
    let lists = said(python("import socket; print([name for _, name in socket.if_nameindex()])")).await;
    assert_eq!(lists, "['lo']\n");
}

#[tokio::test]
async fn a_program_can_talk_to_itself() {
    let talk = "
import socket
listener = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(listener.getsockname())
client.sendall(b'hello')
print(listener.accept()[0].recv(5))";
    assert_eq!(said(python(talk)).await, "b'hello'\n");
}

#[tokio::test]
async fn a_socket_without_a_place_cannot_be_reached_even_with_the_network() {
    let name = format!("folkmoot-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    drop(UnixStream::connect_addr(&address).unwrap());
    listener.accept().unwrap();
    let job = python(&format!(
        "import socket\n\
         try: socket.socket(socket.AF_UNIX).connect('\\0{name}'); print('connected')\n\
         except OSError as e: print(e.strerror)"
    ));
    assert_eq!(said(job.clone()).await, "Connection refused\n");
    let jail = jail().await.allow_network();
    let report = jail.run(JailJob { profile: Profile::Agent, ..job }).await.unwrap();
    assert_eq!(super::text(&report.stdout), "Operation not permitted\n");
}

#[tokio::test]
async fn with_the_network_allowed_an_agent_has_it_and_others_do_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let agent = JailJob { profile: Profile::Agent, ..connecting(port) };
    let Err(JailError::Invalid(why)) = jail().await.run(agent.clone()).await else { panic!("it was not refused") };
    assert!(why.contains("does not allow it"), "{why}");
    let jail = jail().await.allow_network();
    assert_eq!(super::text(&jail.run(agent).await.unwrap().stdout), "connected\n");
    let names = JailJob { profile: Profile::Agent, ..super::sh("cat /etc/resolv.conf") };
    assert_eq!(jail.run(names).await.unwrap().stdout, std::fs::read("/etc/resolv.conf").unwrap_or_default());
    assert_eq!(super::text(&jail.run(connecting(port)).await.unwrap().stdout), "Connection refused\n");
}
