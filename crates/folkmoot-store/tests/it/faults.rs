//! What a store does when its database, or the disk beneath it, fails.

mod full_disk;
mod late_commits;
mod lost_connection;
mod panic;
mod sync;
mod wal;
