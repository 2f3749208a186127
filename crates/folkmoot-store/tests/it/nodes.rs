//! Several nodes on one PostgreSQL database.
