//! The promises of the design, each a test named after it. Those that need a real process to kill
//! are in the binary's tests: `acknowledged_means_durable` and `it_halts_rather_than_lies`.

mod a_gate_holds;
mod agents_do_not_decide;
mod early_answers_count;
mod it_can_be_checked;
mod no_agent_works_past_an_open_question;
mod nothing_is_announced_before_it_is_committed;
mod one_decision_wins;
mod silence_is_not_consent;
mod stop_always_works;
mod waiting_costs_nothing;
mod you_approve_what_you_saw;
