//! The loopback of an otherwise empty network, so that a program can talk to itself.

use std::io;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST_ACK: u16 = 0x1 | 0x4;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;
/// The kernel creates it first in every network namespace.
const LOOPBACK: i32 = 1;

/// Switches it on with a netlink message; the older ioctl would need `unsafe`.
pub(super) fn up() -> io::Result<()> {
    // ROUTE, the first netlink protocol, is the default.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = Vec::with_capacity(32);
    message.extend_from_slice(&32_u32.to_ne_bytes());
    message.extend_from_slice(&RTM_NEWLINK.to_ne_bytes());
    message.extend_from_slice(&NLM_F_REQUEST_ACK.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    // struct ifinfomsg: family, padding, type, index, flags, and which flags to change.
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(&LOOPBACK.to_ne_bytes());
    message.extend_from_slice(&IFF_UP.to_ne_bytes());
    message.extend_from_slice(&IFF_UP.to_ne_bytes());
    send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0_u8; 512];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    match answer.get(..length) {
        Some([_, _, _, _, low, high, _, _, _, _, _, _, _, _, _, _, a, b, c, d, ..])
            if u16::from_ne_bytes([*low, *high]) == NLMSG_ERROR =>
        {
            match i32::from_ne_bytes([*a, *b, *c, *d]) {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(-error)),
            }
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the kernel gave no answer")),
    }
}
