use super::*;

#[tokio::test(start_paused = true)]
async fn a_try_that_was_given_up_lets_the_next_one_try() {
    let breaker = Breaker::new(1, Duration::from_secs(30));
    breaker.pass().unwrap().failed();
    tokio::time::advance(Duration::from_secs(31)).await;
    let trying = breaker.pass().unwrap();
    assert!(breaker.pass().is_err());
    drop(trying);
    breaker.pass().unwrap().answered();
    assert!(breaker.pass().is_ok());
}

#[tokio::test(start_paused = true)]
async fn only_failures_in_a_row_count() {
    let breaker = Breaker::new(2, Duration::from_secs(30));
    for _ in 0..10 {
        breaker.pass().unwrap().failed();
        breaker.pass().unwrap().answered();
    }
    assert!(breaker.pass().is_ok());
}
