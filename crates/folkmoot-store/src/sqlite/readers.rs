//! A few read-only connections, used on blocking threads; for a database in memory, the writer's
//! own.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::writer::SqliteWriter;
use crate::Error;

/// Reads do not wait for writes, and each takes microseconds, so few are needed.
const CONNECTIONS: usize = 4;

#[derive(Debug)]
pub(super) enum Readers {
    Pool(Pool),
    Memory(Arc<Mutex<SqliteWriter>>),
}

#[derive(Debug)]
pub(super) struct Pool {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn close(&self) {
        match self {
            Readers::Pool(pool) => pool.close(),
            Readers::Memory(_) => {}
        }
    }

    pub(super) async fn finish(&self) {
        match self {
            Readers::Pool(pool) => pool.finish().await,
            Readers::Memory(_) => {}
        }
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        match self {
            Readers::Pool(pool) => pool.read(query).await,
            Readers::Memory(writer) => query(writer.lock().unwrap_or_else(PoisonError::into_inner).connection()),
        }
    }
}

impl Pool {
    pub(super) fn new(path: PathBuf) -> Result<Self, Error> {
        let first = super::connect_to_read(&path)?;
        Ok(Self { path, idle: Arc::new(Mutex::new(vec![first])), permits: Arc::new(Semaphore::new(CONNECTIONS)) })
    }

    /// Closes unused connections.
    pub(super) fn close(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Waits for readers, closes all connections, and refuses further reads.
    pub(super) async fn finish(&self) {
        let all = self.permits.acquire_many(CONNECTIONS as u32).await;
        self.permits.close();
        self.close();
        drop(all);
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let closed = |_| Error::Stopped(super::CLOSED.to_owned());
        let permit = self.permits.clone().acquire_owned().await.map_err(closed)?;
        let (idle, path) = (self.idle.clone(), self.path.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let pooled = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match pooled {
                Some(connection) => connection,
                None => super::connect_to_read(&path)?,
            };
            let found = query(&connection);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(permit);
            found
        });
        reading.await.map_err(|error| Error::Database(format!("a reader failed: {error}")))?
    }
}
