//! Copies a PostgreSQL database into a SQLite file, and such a file into an empty PostgreSQL.

use std::{path::Path, pin::pin};

use futures_util::{StreamExt, TryStreamExt};
use rusqlite::{Connection, OpenFlags, types::Value};
use tokio::{sync::mpsc, time::timeout};
use tokio_postgres::{
    Client, Config, IsolationLevel, Row, Transaction,
    binary_copy::BinaryCopyInWriter,
    types::{ToSql, Type},
};

use super::{LOCK, REPLY_TIMEOUT, failed, silent, taken, tls};
use crate::{
    Error,
    backup::{ColumnType, TableOf, schema_of, tables},
    migrate, rows, sqlite,
};

/// Rows per packet; a few packets are buffered.
const PACKET: usize = 500;
const PACKETS: usize = 4;

struct Packet {
    /// The index of the table.
    table: usize,
    rows: Vec<Vec<Value>>,
}

/// Copies all tables of one snapshot into `to`, a new or empty file. Writers are not blocked.
pub async fn from_postgres(url: &str, to: &Path) -> Result<(), Error> {
    let (mut client, driver) = connect(url).await?;
    let level = IsolationLevel::RepeatableRead;
    let snapshot = client.build_transaction().isolation_level(level).read_only(true).start().await.map_err(failed)?;
    // A large table takes longer than the usual timeout.
    snapshot.batch_execute("SET LOCAL statement_timeout = 0").await.map_err(failed)?;
    if !has_tables(&snapshot).await? {
        return Err(Error::Schema("this PostgreSQL database holds no data of Folkmoot".to_owned()));
    }
    let steps = migrate::known(&taken(&snapshot).await?)?;
    let connection = sqlite::connect_bare(to, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    // Nobody reads the file before it is complete and synced, so it need not survive a crash before
    // that.
    let quickly = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536";
    connection.execute_batch(quickly).map_err(sqlite::failed)?;
    sqlite::take_steps(&connection, steps)?;
    let tables = tables(&connection)?;
    let (packets, arriving) = mpsc::channel(PACKETS);
    let plan = tables.clone();
    let written = tokio::task::spawn_blocking(move || write(&connection, &plan, arriving));
    let sent = send(&snapshot, &tables, packets).await;
    // The writer's error explains more than the sender's.
    written.await.map_err(|error| Error::Database(format!("the copy was not written: {error}")))??;
    sent?;
    drop(snapshot);
    driver.abort();
    Ok(())
}

/// Reads every table. Returns early, without an error, if the receiver is gone.
async fn send(snapshot: &Transaction<'_>, tables: &[TableOf], packets: mpsc::Sender<Packet>) -> Result<(), Error> {
    for (table, description) in tables.iter().enumerate() {
        let sql = format!("SELECT {} FROM {}", description.names(), description.name);
        let none: [&(dyn ToSql + Sync); 0] = [];
        let found = snapshot.query_raw(&sql, none).await.map_err(failed)?;
        let mut found = pin!(found.map_err(failed).try_chunks(PACKET));
        while let Some(rows) = found.next().await {
            let rows = rows.map_err(|error| error.1)?;
            let rows = rows.iter().map(|row| read(row, description)).collect::<Result<_, _>>()?;
            if packets.send(Packet { table, rows }).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn read(row: &Row, table: &TableOf) -> Result<Vec<Value>, Error> {
    let one = |(n, (_, kind)): (usize, &(String, ColumnType))| {
        let value = match kind {
            ColumnType::Int => row.try_get::<_, Option<i64>>(n).map(|n| n.map(Value::Integer)),
            ColumnType::Text => row.try_get::<_, Option<String>>(n).map(|text| text.map(Value::Text)),
            ColumnType::Bytes => row.try_get::<_, Option<Vec<u8>>>(n).map(|bytes| bytes.map(Value::Blob)),
        };
        Ok(value.map_err(failed)?.unwrap_or(Value::Null))
    };
    table.columns.iter().enumerate().map(one).collect()
}

/// Writes everything that arrives, in one transaction.
fn write(connection: &Connection, tables: &[TableOf], mut arriving: mpsc::Receiver<Packet>) -> Result<(), Error> {
    let whole = connection.unchecked_transaction().map_err(sqlite::failed)?;
    for table in tables {
        // The migrations insert a few rows.
        whole.execute(&format!("DELETE FROM {}", table.name), []).map_err(sqlite::failed)?;
    }
    while let Some(Packet { table, rows }) = arriving.blocking_recv() {
        let table = &tables[table];
        let places: Vec<_> = (1..=table.columns.len()).map(|n| format!("?{n}")).collect();
        let sql = format!("INSERT INTO {} ({}) VALUES ({})", table.name, table.names(), places.join(", "));
        let mut insert = whole.prepare_cached(&sql).map_err(sqlite::failed)?;
        for row in rows {
            insert.execute(rusqlite::params_from_iter(row)).map_err(sqlite::failed)?;
        }
    }
    whole.commit().map_err(sqlite::failed)
}

/// Fills an empty PostgreSQL from a file, in one transaction.
pub async fn into_postgres(file: &Path, url: &str) -> Result<(), Error> {
    let source = sqlite::connect_to_read(file)?;
    schema_of(&source, file)?;
    let steps = migrate::known(&sqlite::taken(&source)?)?;
    let tables = tables(&source)?;
    let (mut client, driver) = connect(url).await?;
    let whole = client.transaction().await.map_err(failed)?;
    whole.batch_execute(LOCK).await.map_err(failed)?;
    whole.batch_execute("SET LOCAL statement_timeout = 0").await.map_err(failed)?;
    let missing = match has_tables(&whole).await? {
        true => must_be_empty(&whole, steps).await?,
        false => steps,
    };
    super::take_steps(&whole, missing).await?;
    let (packets, mut arriving) = mpsc::channel(PACKETS);
    let plan = tables.clone();
    let reading = tokio::task::spawn_blocking(move || read_all(&source, &plan, packets));
    for table in &tables {
        whole.batch_execute(&format!("DELETE FROM {}", table.name)).await.map_err(failed)?;
    }
    let mut next = arriving.recv().await;
    for (n, table) in tables.iter().enumerate() {
        let types: Vec<Type> = table.columns.iter().map(|(_, kind)| type_of(*kind)).collect();
        let sql = format!("COPY {} ({}) FROM STDIN (FORMAT binary)", table.name, table.names());
        let mut copy = pin!(BinaryCopyInWriter::new(whole.copy_in(&sql).await.map_err(failed)?, &types));
        while let Some(packet) = next.take_if(|packet| packet.table == n) {
            for row in packet.rows {
                let row = row.into_iter().zip(&table.columns).map(|(value, (_, kind))| carried(value, *kind));
                let row = row.collect::<Result<Vec<_>, _>>().map_err(|what| {
                    Error::Unreadable(format!("a row of {} holds {what} where its column has another type", table.name))
                })?;
                copy.as_mut().write_raw(&row).await.map_err(failed)?;
            }
            next = arriving.recv().await;
        }
        copy.finish().await.map_err(failed)?;
    }
    reading.await.map_err(|error| Error::Database(format!("the file was not read: {error}")))??;
    whole.commit().await.map_err(failed)?;
    for table in &tables {
        // Otherwise the first plans do not know the tables' sizes.
        client.batch_execute(&format!("ANALYZE {}", table.name)).await.map_err(failed)?;
    }
    driver.abort();
    Ok(())
}

fn read_all(source: &Connection, tables: &[TableOf], packets: mpsc::Sender<Packet>) -> Result<(), Error> {
    let snapshot = source.unchecked_transaction().map_err(sqlite::failed)?;
    for (table, description) in tables.iter().enumerate() {
        let sql = format!("SELECT {} FROM {}", description.names(), description.name);
        let mut select = snapshot.prepare(&sql).map_err(sqlite::failed)?;
        let mut found = select.query([]).map_err(sqlite::failed)?;
        let mut rows = Vec::with_capacity(PACKET);
        loop {
            let row = found.next().map_err(sqlite::failed)?;
            let is_last = row.is_none();
            if let Some(row) = row {
                let columns = (0..description.columns.len()).map(|n| row.get::<_, Value>(n));
                rows.push(columns.collect::<Result<Vec<_>, _>>().map_err(sqlite::failed)?);
            }
            if rows.len() == PACKET || is_last && !rows.is_empty() {
                // If the receiver is gone, it says why.
                let rows = std::mem::take(&mut rows);
                if packets.blocking_send(Packet { table, rows }).is_err() {
                    return Ok(());
                }
            }
            if is_last {
                break;
            }
        }
    }
    Ok(())
}

/// A column's value for PostgreSQL. `Err` says what it is instead: SQLite accepts anything, and
/// somebody may have edited the file.
fn carried(value: Value, kind: ColumnType) -> Result<rows::Value<'static>, &'static str> {
    match (kind, value) {
        (_, Value::Null) => Ok(rows::Value::MaybeInt(None)),
        (ColumnType::Int, Value::Integer(n)) => Ok(rows::Value::Int(n)),
        (ColumnType::Text, Value::Text(text)) => Ok(rows::Value::Text(text.into())),
        (ColumnType::Bytes, Value::Blob(bytes)) => Ok(rows::Value::Bytes(bytes.into())),
        (_, Value::Integer(_)) => Err("a number"),
        (_, Value::Real(_)) => Err("a fraction"),
        (_, Value::Text(_)) => Err("text"),
        (_, Value::Blob(_)) => Err("bytes"),
    }
}

fn type_of(kind: ColumnType) -> Type {
    match kind {
        ColumnType::Int => Type::INT8,
        ColumnType::Text => Type::TEXT,
        ColumnType::Bytes => Type::BYTEA,
    }
}

/// The file's migrations that the database still needs; refused unless its log is empty.
async fn must_be_empty<'a>(
    whole: &Transaction<'_>,
    steps: &'a [migrate::Migration],
) -> Result<&'a [migrate::Migration], Error> {
    let there = migrate::known(&taken(whole).await?)?.len();
    if there > 0 {
        let events: i64 = whole.query_one("SELECT count(*) FROM events", &[]).await.map_err(failed)?.get(0);
        if events > 0 {
            return Err(Error::Schema(format!(
                "this PostgreSQL database has a log with {events} events, and nothing is overwritten: restore into an \
                 empty database or schema"
            )));
        }
    }
    steps.get(there..).ok_or_else(|| {
        Error::Schema(format!(
            "the tables of this PostgreSQL database are of schema {there}, newer than the backup's {}: restore into a \
             database or schema without tables",
            steps.len()
        ))
    })
}

/// Whether tables of ours are there.
pub(super) async fn has_tables(client: &Transaction<'_>) -> Result<bool, Error> {
    let sql = "SELECT to_regclass('migrations') IS NOT NULL";
    Ok(client.query_one(sql, &[]).await.map_err(failed)?.get(0))
}

/// A separate connection, and the task that drives it.
pub(super) async fn connect(url: &str) -> Result<(Client, tokio::task::JoinHandle<()>), Error> {
    let mut config: Config = super::config(url)?;
    config.application_name("folkmoot backup");
    let connecting = timeout(REPLY_TIMEOUT, config.connect(tls::connector()?)).await.map_err(|_| silent())?;
    let (client, connection) = connecting.map_err(failed)?;
    let driver = tokio::spawn(async move {
        // The client reports errors to its callers.
        let _ = connection.await;
    });
    Ok((client, driver))
}
