//! PostgreSQL's warnings: some commits succeed with a warning that withdraws the success.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::error::{DbError, SqlState};

/// Whether a warning since the last check makes a commit doubtful.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    doubtful: AtomicBool,
}

impl Warnings {
    pub(super) fn take(&self, notice: &DbError) {
        if makes_doubtful(notice) {
            tracing::warn!("the database warns of a commit: {}", notice.message());
            self.doubtful.store(true, Ordering::SeqCst);
        }
    }

    pub(super) fn forget(&self) {
        self.doubtful.store(false, Ordering::SeqCst);
    }

    pub(super) fn are_doubtful(&self) -> bool {
        self.doubtful.load(Ordering::SeqCst)
    }
}

/// Cancelling a COMMIT that waits for a standby makes PostgreSQL report success, with a warning (of
/// the general class 01000) that the standby may not have it: it is lost if the primary is. The
/// second code is sent if the session is ended instead, the third if the transaction was no longer
/// there. The texts are translated, so they are not compared.
fn makes_doubtful(notice: &DbError) -> bool {
    // A foreign trigger's `RAISE WARNING` has the general class too.
    let raised = notice.routine() == Some("exec_stmt_raise");
    let code = notice.code();
    let general = *code == SqlState::WARNING && !raised;
    general || *code == SqlState::ADMIN_SHUTDOWN || *code == SqlState::NO_ACTIVE_SQL_TRANSACTION
}
