//! The protocol with the helper, from outside.

use std::{io, os::fd::OwnedFd, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    process::Child,
    time::timeout,
};

use super::{
    JailError, JailJob, folder, pipe,
    wire::{self, Facts, FaultKind, JailEntry, JailFault, JailMessage, JobExit, Spec},
};
use crate::beneath::Folder;

/// How long to wait for killed processes, and for the next message.
pub(super) const END_MAX: Duration = Duration::from_secs(10);

/// The conversation with the helper, and its life.
#[derive(Debug)]
pub(super) struct HelperConversation {
    pub(super) control: UnixStream,
    pub(super) child: Child,
}

impl HelperConversation {
    pub(super) async fn set_up(
        &mut self,
        spec: &Spec,
        job: &JailJob,
        input: Option<OwnedFd>,
    ) -> Result<Facts, JailError> {
        // A failing helper stops reading and then reports why. Any other error is ours.
        let told = self.tell(spec, job, input).await;
        if let Err(error) = &told
            && !matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
        {
            return told.map(|()| Facts::default()).map_err(broken);
        }
        match self.hear().await {
            Ok(JailMessage::Ready(facts)) => {
                told.map_err(broken)?;
                // If it is dead, init would not notice our death.
                if matches!(self.child.try_wait(), Ok(None)) {
                    self.control.write_all(&[1]).await.map_err(broken)?;
                    Ok(facts)
                } else {
                    Err(JailError::Failed("the helper is dead".to_owned()))
                }
            }
            Ok(JailMessage::Failed(fault)) => Err(fault.into()),
            Ok(JailMessage::Ended(_)) => Err(JailError::Failed("it ended before it began".to_owned())),
            Err(error) => Err(self.silence(&error).await),
        }
    }

    /// The stderr of a helper that sent no message.
    async fn silence(&mut self, error: &io::Error) -> JailError {
        let status = timeout(END_MAX, self.child.wait()).await;
        match status {
            Ok(Ok(status)) => JailError::Failed(format!("the helper said nothing and ended with {status}")),
            _ => JailError::Failed(format!("the helper said nothing: {error}")),
        }
    }

    async fn tell(&mut self, spec: &Spec, job: &JailJob, input: Option<OwnedFd>) -> io::Result<()> {
        let frame = wire::frame(spec)?;
        // Once for `start`, once for `init`.
        self.control.write_all(&frame).await?;
        self.control.write_all(&frame).await?;
        match input {
            Some(input) => pipe::send(&self.control, input).await?,
            None => self.control.write_all(&job.stdin).await?,
        }
        // The job's own files are last.
        let copied = &spec.files[..spec.files.len().saturating_sub(job.files.len())];
        if let Some(source) = job.folder.as_ref().filter(|_| spec.mounted.is_none()) {
            let source = Arc::new(Folder::open(source.as_path())?);
            for entry in copied {
                let JailEntry::File { path, bytes, .. } = entry.clone() else { continue };
                let source = Arc::clone(&source);
                let content = tokio::task::spawn_blocking(move || folder::content(&source, &path, bytes))
                    .await
                    .map_err(io::Error::other)??;
                self.control.write_all(&content).await?;
            }
        }
        for (_, content) in &job.files {
            self.control.write_all(content).await?;
        }
        Ok(())
    }

    /// How the command ended. `None` if init died without a message, as it does when memory is
    /// short.
    pub(super) async fn ended(&mut self) -> Result<Option<JobExit>, JailError> {
        match self.hear().await {
            Ok(JailMessage::Ended(ended)) => Ok(Some(*ended)),
            Ok(JailMessage::Failed(fault)) => Err(fault.into()),
            Ok(JailMessage::Ready(_)) => Err(JailError::Failed("it began twice".to_owned())),
            Err(_) => Ok(None),
        }
    }

    async fn hear(&mut self) -> io::Result<JailMessage> {
        let mut length = [0; 4];
        self.control.read_exact(&mut length).await?;
        let mut body = vec![0; wire::length_of(length)?];
        self.control.read_exact(&mut body).await?;
        Ok(serde_json::from_slice(&body)?)
    }

    /// The socket, for reading the contents that follow.
    pub(super) fn into_parts(self) -> Result<(std::os::unix::net::UnixStream, Child), JailError> {
        let control = self.control.into_std().and_then(|control| {
            control.set_nonblocking(false)?;
            control.set_read_timeout(Some(END_MAX))?;
            Ok(control)
        });
        Ok((control.map_err(broken)?, self.child))
    }
}

/// Kills the helper, and with it everything in the jail, unless it has ended.
pub(super) async fn end(mut child: Child) -> Result<(), JailError> {
    // Fails only if it is dead.
    let _ = child.start_kill();
    match timeout(END_MAX, child.wait()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(JailError::Failed(format!("waiting for the helper: {error}"))),
        Err(_) => Err(JailError::Failed("the helper does not die".to_owned())),
    }
}

pub(super) fn broken(error: io::Error) -> JailError {
    JailError::Failed(format!("the talk with the helper broke off: {error}"))
}

impl From<JailFault> for JailError {
    fn from(JailFault { kind, detail }: JailFault) -> Self {
        match kind {
            FaultKind::Refused => Self::NoJail(detail),
            FaultKind::Missing => Self::Missing(detail),
            FaultKind::Invalid => Self::Invalid(detail),
            FaultKind::Failed => Self::Failed(detail),
        }
    }
}
