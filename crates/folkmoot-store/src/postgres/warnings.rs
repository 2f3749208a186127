//! What PostgreSQL says beside its answers: some commits succeed with a warning that takes the
//! success back.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::error::{DbError, SqlState};

/// Whether a warning has come since the last look that makes a commit doubtful.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    doubtful: AtomicBool,
}

impl Warnings {
    /// Takes a notice of the connection.
    pub(super) fn take(&self, notice: &DbError) {
        if makes_doubtful(notice) {
            tracing::warn!("the database warns of a commit: {}", notice.message());
            self.doubtful.store(true, Ordering::SeqCst);
        }
    }

    /// Forgets what came before a commit.
    pub(super) fn forget(&self) {
        self.doubtful.store(false, Ordering::SeqCst);
    }

    /// Whether the commit since then is doubtful.
    pub(super) fn are_doubtful(&self) -> bool {
        self.doubtful.load(Ordering::SeqCst)
    }
}

/// Whoever cancels a COMMIT that waits for a standby makes PostgreSQL answer success, with a
/// warning (of the general class 01000) that the standby may not have it: it is lost if the primary
/// is. The second code comes where the session is ended instead, the third where the transaction
/// was no longer there. The texts are translated, so they are not compared.
fn makes_doubtful(notice: &DbError) -> bool {
    // A trigger of somebody else's that says `RAISE WARNING` has the general class too.
    let raised = notice.routine() == Some("exec_stmt_raise");
    let code = notice.code();
    let general = *code == SqlState::WARNING && !raised;
    general || *code == SqlState::ADMIN_SHUTDOWN || *code == SqlState::NO_ACTIVE_SQL_TRANSACTION
}
