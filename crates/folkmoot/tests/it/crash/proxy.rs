//! A way to PostgreSQL that can be cut, stopped and mended.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::watch,
};

/// What becomes of connections to the database.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    Open,
    /// Connections end, and no new ones are taken.
    Cut,
    /// Connections stay, but nothing passes; as when a cable is pulled.
    Silent,
    /// Cut as soon as a commit was confirmed.
    CutAfterCommit,
}

/// A way to the database that we can close.
pub(super) struct Proxy {
    folder: tempfile::TempDir,
    pub(super) way: Arc<watch::Sender<Way>>,
}

impl Proxy {
    pub(super) fn before(database: &str) -> Self {
        let socket = Path::new(host(database)).join(".s.PGSQL.5432");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let way = Arc::new(watch::Sender::new(Way::Open));
        let open = way.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *open.borrow() != Way::Cut {
                    tokio::spawn(relay(client, socket.clone(), open.clone()));
                }
            }
        });
        Self { folder, way }
    }

    /// The same database, by this way.
    pub(super) fn database(&self, database: &str) -> String {
        database.replacen(host(database), self.folder.path().to_str().expect("a path"), 1)
    }

    pub(super) async fn closed(&self, way: Way, span: Duration) {
        self.way.send_replace(way);
        tokio::time::sleep(span).await;
        self.way.send_replace(Way::Open);
    }
}

fn host(database: &str) -> &str {
    database.split(' ').find_map(|part| part.strip_prefix("host=")).expect("a folder with a socket")
}

async fn relay(mut client: UnixStream, socket: PathBuf, state: Arc<watch::Sender<Way>>) {
    let mut way = state.subscribe();
    let Ok(mut server) = UnixStream::connect(socket).await else { return };
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        if way.wait_for(|way| *way != Way::Silent).await.is_err() || *way.borrow() == Way::Cut {
            return;
        }
        tokio::select! {
            _ = way.changed() => {}
            read = client.read(&mut asked) => match read {
                Ok(n @ 1..) => if server.write_all(&asked[..n]).await.is_err() { return },
                _ => return,
            },
            read = server.read(&mut answered) => match read {
                Ok(n @ 1..) => {
                    let committed = answered[..n].windows(7).any(|word| word == b"COMMIT\0");
                    if committed && *way.borrow() == Way::CutAfterCommit {
                        state.send_replace(Way::Cut);
                        // The others go first, so that whoever hears of the commit finds them gone.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        let _ = client.write_all(&answered[..n]).await;
                        return;
                    }
                    if client.write_all(&answered[..n]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
        }
    }
}
