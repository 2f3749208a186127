//! The input of a job that communicates: one end of a pipe, passed over the control socket.

use std::{
    fs::File,
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// Sends it with one byte, because descriptors cannot be sent without data.
pub(super) async fn send(to: &tokio::net::UnixStream, end: OwnedFd) -> io::Result<()> {
    to.async_io(tokio::io::Interest::WRITABLE, || {
        let ends = [end.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut attached = SendAncillaryBuffer::new(&mut space);
        attached.push(SendAncillaryMessage::ScmRights(&ends));
        sendmsg(to, &[IoSlice::new(&[0])], &mut attached, SendFlags::NOSIGNAL)?;
        Ok(())
    })
    .await
}

/// Receives it. Nothing may have been read ahead: a plain read would lose the descriptor.
pub(super) fn receive(from: &UnixStream) -> io::Result<File> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut attached, RecvFlags::CMSG_CLOEXEC)?;
    let mut ends = attached.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut ends) => ends.next(),
        _ => None,
    });
    ends.next().map(File::from).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no pipe came"))
}
