//! What a store does when its database, or the disk beneath it, fails.
