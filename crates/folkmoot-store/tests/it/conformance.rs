//! One promise, one test, every backend. No promise here names a database.

mod amend;
mod artifacts;
mod audit;
mod cancel;
mod claims;
mod debate_views;
mod debates;
mod decide;
mod dedupe;
mod deliveries;
mod ends;
mod expire;
mod extend;
mod histories;
mod idempotency;
mod list;
mod log;
mod open;
mod outbox;
mod questions;
mod reopen;
mod runs;
mod timers;
mod tokens;
mod turns;
mod wakes;
mod webhooks;

/// Stamps every promise for both databases, and those that need no way in behind the store's back
/// for a database in memory too. In brackets is what it is given: the store, the world around it,
/// or the world to keep, because it closes the store.
macro_rules! conformance {
    (
        also_in_memory { $($memory:ident { $($kept:ident($keeper:ident),)+ })+ }
        $($module:ident { $($promise:ident($given:ident),)+ })+
    ) => {
        conformance! {
            @backend sqlite InSqlite $($memory { $($kept($keeper),)+ })+ $($module { $($promise($given),)+ })+
        }
        conformance! {
            @backend postgres InPostgres $($memory { $($kept($keeper),)+ })+ $($module { $($promise($given),)+ })+
        }
        conformance! { @backend memory InMemory $($memory { $($kept($keeper),)+ })+ }
    };
    (@backend $backend:ident $place:ident $($module:ident { $($promise:ident($given:ident),)+ })+) => {
        mod $backend {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $promise() {
                    let Some(world) = crate::support::World::<crate::support::$place>::new().await else { return };
                    crate::conformance::$module::$promise(world.$given()).await;
                })+
            })+
        }
    };
}

conformance! {
    also_in_memory {
        runs {
            the_whole_life_of_a_run_reads_back(world),
            a_run_of_somebody_elses_agent_is_written_by_its_owner(store),
            each_filter_narrows_the_list_of_runs(world),
            paging_visits_every_run_once_while_runs_are_added(world),
            a_journal_reads_back_in_pages(world),
            the_events_of_a_run_are_its_own_its_gates_and_its_questions(store),
            what_is_refused_writes_nothing(store),
            a_run_is_there_after_a_restart(owned),
        }
        wakes {
            new_and_woken_runs_are_ready_those_first_that_waited_longest(world),
            a_decision_wakes_its_run(store),
            a_decision_in_the_batch_of_the_opening_wakes(store),
            an_answer_wakes_its_run(store),
            the_end_of_its_sleep_wakes_a_run(world),
            a_lifted_halt_wakes_those_whom_it_held_and_nobody_else(store),
            an_answered_question_wakes_whom_it_held(store),
            nobody_is_parked_for_a_hold_that_goes_in_the_same_batch(store),
            a_claim_is_told_exactly_the_wake_ups_that_there_were(store),
            the_end_of_a_child_wakes_its_parent(store),
            the_end_of_its_parent_wakes_a_child_to_its_own(store),
            a_stopped_child_is_an_orphan_once_its_parent_is_over(store),
            a_child_that_is_started_with_its_parents_last_word_is_over(store),
        }
        claims {
            an_orphan_is_a_run_whose_node_is_dead(world),
            a_node_that_is_alone_ends_all_others(store),
            a_nodes_life_counts_within_a_batch_too(world),
            of_many_claims_at_once_one_wins(store),
            who_lost_a_run_writes_nothing_for_it(store),
            the_same_record_twice_is_one_event(store),
            a_run_can_live_and_end_within_a_batch(store),
        }
        ends {
            the_end_of_a_run_closes_what_is_open_of_it_and_nothing_else(world),
            what_was_late_when_its_run_ended_is_settled_by_the_clock(world),
            what_several_questions_of_a_run_held_is_resumed_once(store),
            what_something_else_holds_is_not_resumed(store),
            a_denial_that_nobody_can_fetch_any_more_holds_nobody(store),
        }
        histories {
            walking_through_all_histories_visits_each_once(store),
        }
        deliveries {
            each_delivery_tells_of_its_own_event(store),
            a_delivery_reads_back_through_its_whole_life(world),
            of_many_takers_at_once_one_gets_each_delivery(world),
            what_waits_is_known_by_channel_with_when_the_first_is_due(world),
            what_waits_for_a_channel_that_is_none_dies(store),
            what_waits_for_many_channels_that_are_none_dies_together(store),
            paging_visits_every_delivery_once(world),
            deliveries_survive_a_restart_and_are_sent_again_under_the_same_id(owned),
        }
        webhooks {
            a_webhook_reads_back_through_its_whole_life(world),
            a_name_is_one_webhooks_within_a_batch_too(store),
        }
        turns {
            what_is_sent_at_once_comes_to_what_it_would_in_turn(world),
        }
        debates {
            what_a_debate_keeps_reads_back(store),
            the_same_record_twice_keeps_one_row_within_a_batch_too(store),
            what_is_refused_keeps_nothing(store),
            each_filter_narrows_the_turns_and_the_lines(store),
            paging_visits_every_debate_once(world),
            lines_are_forgotten_when_their_time_is_over(world),
            lessons_come_newest_first(world),
            a_debate_is_there_after_a_restart(owned),
        }
    }
    debate_views {
        where_a_debate_is_follows_from_what_it_waits_for(world),
        the_views_are_the_tables_of_the_design(world),
        what_is_erased_is_in_no_view_and_a_live_debate_needs_its_texts(world),
        a_row_that_was_changed_added_or_removed_is_found(world),
    }
    questions {
        an_asked_question_reads_back_with_its_text(store),
        the_first_answer_stands_and_the_second_is_told_who_was_first(store),
        what_holds_is_what_the_rows_hold(store),
        only_the_last_release_is_announced_within_a_batch_too(store),
        a_question_that_reminds_is_due_again(world),
        a_question_expires_with_its_default(world),
        lists_put_what_is_urgent_first_and_page_without_a_gap(store),
        a_forged_release_is_found(world),
        holds_survive_a_restart(owned),
    }
    open {
        an_opened_gate_reads_back_with_its_summary(store),
        an_unknown_gate_is_nothing(store),
        a_gate_that_names_a_new_run_starts_it(world),
        a_run_belongs_to_whoever_started_it(store),
        a_gate_id_is_used_once(store),
        pending_gates_are_counted(store),
        every_field_survives_the_row(store),
        a_wait_beyond_all_measure_is_refused(store),
    }
    amend {
        an_amendment_is_a_new_revision_on_which_no_vote_counts(store),
        an_amendment_keeps_the_summary_that_stands(store),
        an_amendment_that_changes_nothing_writes_nothing(store),
        a_new_summary_is_what_is_read(store),
    }
    decide {
        a_late_decision_is_told_who_won(store),
        of_many_decisions_at_once_one_wins_and_every_loser_is_told(world),
        a_refused_attempt_is_logged_and_changes_only_the_count(store),
        a_refusal_leaves_its_batch_neighbours_alone(store),
        what_is_sent_at_once_acts_in_turn(store),
        a_decision_on_stale_content_is_refused_within_a_batch_too(store),
        votes_are_counted_across_commands(store),
        an_edited_text_is_kept(store),
        a_decision_that_comes_at_the_deadline_is_too_late(world),
    }
    extend {
        an_extension_moves_the_deadline(store),
        an_extension_without_end_clears_it(store),
    }
    cancel {
        a_withdrawn_gate_is_closed(store),
    }
    expire {
        an_overdue_gate_times_out_once(world),
        an_early_timer_does_nothing(store),
        an_escalation_waits_once_more(world),
        a_timer_of_a_gate_that_is_gone_is_cleared(world),
        a_gate_that_reminds_is_due_again_and_reads_back(world),
    }
    idempotency {
        the_same_request_again_gets_the_first_outcome(store),
        another_request_under_the_same_key_is_refused(store),
        keys_are_per_principal_and_route(store),
        refusals_are_not_remembered(store),
        keys_can_be_forgotten(world),
        copies_that_arrive_together_are_done_once(world),
        a_decision_repeated_with_its_key_is_no_conflict(store),
    }
    dedupe {
        the_same_question_is_asked_once(store),
        another_question_under_the_same_key_is_refused(store),
        another_requester_asks_for_itself(store),
        after_a_decision_the_key_is_free(store),
        copies_that_arrive_together_open_one_gate(world),
        a_decision_and_its_successor_in_one_batch(store),
        a_lapsed_gate_makes_room_for_its_successor(world),
        an_escalated_gate_is_still_the_one(world),
    }
    log {
        positions_are_dense_and_the_chain_ends_at_the_head(store),
        an_event_carries_all_that_was_said(store),
        every_row_is_the_fold_of_its_events_after_a_storm(world),
        a_follower_gets_every_event_once_while_many_write(world),
        a_follower_that_starts_late_misses_nothing(owned),
        a_follower_waits_for_what_is_not_there_yet(world),
        a_page_of_the_log_is_as_long_as_asked(store),
    }
    list {
        the_inbox_goes_by_risk_then_deadline_then_age(world),
        other_lists_are_newest_first(world),
        paging_visits_everything_once_while_gates_are_added(world),
        paging_through_decided_gates_ends(world),
        filters_narrow_the_list(store),
        what_a_run_asks_is_found_by_who_started_it(store),
        a_cursor_survives_as_text(store),
        a_cursor_of_another_list_is_refused(store),
        text_sorts_by_bytes(store),
        a_list_without_a_limit_is_served(store),
        a_brief_list_has_the_beginnings_of_texts(store),
    }
    timers {
        timers_come_the_oldest_first(store),
        an_extension_moves_the_timer_and_a_decision_clears_it(store),
        a_gate_that_waits_for_ever_has_no_timer(store),
        an_amendment_leaves_the_timer(store),
    }
    tokens {
        a_minted_token_is_listed_with_its_hash(store),
        a_revoked_token_says_when(world),
        a_name_has_one_role(store),
        a_secret_belongs_to_one_token(store),
        mint_and_revoke_sent_at_once_act_in_turn(store),
        an_unknown_token_cannot_be_revoked(store),
        a_revoked_token_acts_no_more(store),
        an_event_names_the_token_of_its_command(store),
        a_revoked_token_is_not_told_what_it_did_before(store),
        what_is_sent_with_the_revocation_is_judged_in_turn(store),
    }
    artifacts {
        contents_are_found_by_digest(store),
        the_same_content_is_stored_once(world),
        content_is_any_bytes(store),
        what_an_admin_erased_is_gone_and_stays_gone(world),
        what_a_run_records_is_kept_whatever_was_erased(world),
        a_run_that_is_not_over_needs_what_its_gates_and_children_gave(store),
        what_was_retired_is_kept_again_when_it_is_sent_again(world),
        erasing_and_sending_act_in_turn_within_a_batch_too(world),
        what_is_not_over_needs_its_content(store),
        an_erased_summary_is_nothing_and_must_be_sent_with_a_change(world),
    }
    outbox {
        openings_and_decisions_are_told_to_each_channel(world),
        a_decision_wakes_its_run_once(world),
        wakes_within_one_batch_are_all_counted(world),
        a_lapsed_gate_and_its_successor_are_both_told(world),
        deliveries_that_arrived_long_ago_can_be_forgotten(world),
    }
    reopen {
        everything_is_there_after_a_restart(owned),
        writing_goes_on_where_it_ended(owned),
        a_newer_schema_is_refused(owned),
        a_changed_migration_is_refused(owned),
        what_was_taken_before_closing_is_answered(owned),
    }
    audit {
        a_changed_payload_is_found(world),
        a_removed_event_is_found(world),
        a_removed_tail_is_found(world),
        a_changed_status_is_found(world),
        a_changed_decision_is_found(world),
        a_changed_title_is_found(world),
        a_deleted_gate_is_found(world),
        an_invented_gate_is_found(world),
        an_unreadable_gate_fails_alone(world),
        a_changed_run_or_journal_is_found(world),
        a_removed_or_invented_line_of_a_journal_is_found(world),
        a_removed_run_is_found(world),
    }
}
