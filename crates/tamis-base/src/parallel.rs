//! How is work on a slice shared by all processors?

use std::panic::resume_unwind;
use std::sync::OnceLock;

/// The number of available processors; read once, because the system reads files to answer.
pub fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, |threads| threads.get()))
}

/// Consecutive shares of the items: one per processor, but fewer if they would have fewer than `least` items on average.
pub fn shares<T>(items: &[T], least: usize) -> Vec<&[T]> {
    let count = processors().min(items.len() / least.max(1)).max(1);
    items.chunks(items.len().div_ceil(count).max(1)).collect()
}

/// Works on each share in a thread of its own, on the last one in this thread. The results are in the order of the
/// shares. A panic of a thread goes on in this one.
pub fn work<'a, T: Sync, R: Send>(shares: &[&'a [T]], work: impl Fn(&'a [T]) -> R + Sync) -> Vec<R> {
    let Some((last, others)) = shares.split_last() else { return Vec::new() };
    let work = &work;
    std::thread::scope(|scope| {
        // A share whose thread cannot be started is worked on here.
        let start =
            |share| std::thread::Builder::new().spawn_scoped(scope, move || work(share)).map_err(|_| share);
        let others: Vec<_> = others.iter().copied().map(start).collect();
        let last = work(last);
        let others = others.into_iter().map(|other| match other {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(share) => work(share),
        });
        others.chain([last]).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_hold_everything_in_order() {
        for (count, least) in [(0, 1), (1, 1), (7, 0), (7, 3), (1000, 1), (1000, 400), (1000, 2000)] {
            let items: Vec<usize> = (0..count).collect();
            let shares = shares(&items, least);
            assert_eq!(shares.concat(), items);
            assert!(shares.len() <= processors());
            assert!(shares.len() <= 1 || shares.len() * least <= count);
        }
    }

    #[test]
    fn results_are_in_the_order_of_the_shares() {
        let items: Vec<u32> = (0..1000).collect();
        let shares: Vec<&[u32]> = items.chunks(10).collect();
        let sums = work(&shares, |share| share.iter().sum::<u32>());
        assert_eq!(sums, shares.iter().map(|share| share.iter().sum::<u32>()).collect::<Vec<_>>());
        assert_eq!(work(&[] as &[&[u32]], |share| share.len()), []);
    }

    #[test]
    #[should_panic(expected = "the third share")]
    fn a_panic_goes_on() {
        work(&[&[1], &[2], &[3], &[4]], |share| assert_ne!(share, [3], "the third share"));
    }
}
