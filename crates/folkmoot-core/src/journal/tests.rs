//! Journals, judged.
