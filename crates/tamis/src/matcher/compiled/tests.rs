use super::*;
use crate::expression::parse;
use crate::limits::Limits;
use crate::matcher::Counters;

fn decode(json: &str, attributes: &Attributes) -> Event {
    let mut event = Event::default();
    event.decode_json(json.as_bytes(), attributes, &Limits::default()).unwrap();
    event
}

/// Compiles expressions for events that are usually like `usual`.
fn compile(texts: &[&str], usual: &str) -> (Compiled, Attributes) {
    let attributes = Attributes::default();
    let expressions: Vec<_> = texts.iter().map(|text| parse(text, &Limits::default()).unwrap()).collect();
    // What an event asks about is known by its name once expressions ask for it.
    Scan::new(&expressions, &attributes, Missing::Unknown);
    let sample = vec![decode(usual, &attributes); 20];
    (Compiled::new(&expressions, &attributes, Missing::Unknown, &sample).unwrap(), attributes)
}

/// What an event matches and what that took, where events are usually like `usual`. Looking at several such
/// events in a batch must take the same.
fn run(texts: &[&str], usual: &str, json: &str) -> (Vec<Slot>, Counters) {
    let (compiled, attributes) = compile(texts, usual);
    let event = decode(json, &attributes);
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    compiled.matches(&event, &mut scratch, &mut found);
    let counters = scratch.take_counters();
    assert_eq!(scratch.take_counters(), Counters::default());

    scratch.set_evaluation(Evaluation::Blocks);
    let (mut together, mut ends) = (Vec::new(), Vec::new());
    compiled.matches_many(&vec![event; 3], &mut scratch, &mut together, &mut ends, &|| false);
    assert_eq!(together, found.repeat(3));
    assert_eq!(scratch.take_counters(), counters);
    assert_eq!(scratch.take_counters(), Counters::default());
    (found, counters)
}

#[test]
fn entries_are_counted_in_groups_that_are_not_skipped() {
    let texts = [
        "name = 'p' and a = 1",
        "name = 'p' and a = 2",
        "name = 'p' and b = 1 and c = 1 and d = 1",
        "name = 'q' and a = 1",
    ];
    // All wait for the name, which is rarest.
    let usual = r#"{"a": [1, 2], "b": 1, "c": 1, "d": 1}"#;
    let counted = |lists, entries, candidates| Counters { lists, entries, candidates, ..Counters::default() };
    assert_eq!(run(&texts, usual, usual), (vec![], counted(0, 0, 0)));
    // The third waits for p as well, but is not looked at where b, c and d are missing.
    assert_eq!(run(&texts, usual, r#"{"name": "p", "a": 1}"#), (vec![0], counted(1, 2, 1)));
    assert_eq!(run(&texts, usual, r#"{"name": ["p", "q"], "a": 1}"#), (vec![0, 3], counted(2, 3, 2)));
    // Two of its tests stand in the entry; the third is left to the candidate.
    let but_the_last = r#"{"name": "p", "b": 1, "c": 1, "d": 2}"#;
    assert_eq!(run(&texts, usual, but_the_last), (vec![], counted(1, 1, 1)));
    let but_the_first = r#"{"name": "p", "b": 2, "c": 1, "d": 1}"#;
    assert_eq!(run(&texts, usual, but_the_first), (vec![], counted(1, 0, 0)));
    let all = r#"{"name": "p", "b": 1, "c": 1, "d": 1}"#;
    assert_eq!(run(&texts, usual, all), (vec![2], counted(1, 1, 1)));
}

#[test]
fn a_group_none_of_whose_entries_can_pass_is_skipped() {
    let texts =
        ["name = 'p' and a = 1", "name = 'p' and a = 2", "name = 'p' and b = 1", "name = 'q' and a = 3"];
    let (compiled, attributes) = compile(&texts, r#"{"a": [1, 2, 3], "b": 1}"#);
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    // Groups of two and of one; with 3 for a there is something to look at, but nothing that p waits for.
    for (json, slots, entries) in [
        (r#"{"name": "p", "a": 2}"#, vec![1], 2),
        (r#"{"name": "p", "a": 3}"#, vec![], 0),
        (r#"{"name": "p", "a": 3, "b": 1}"#, vec![2], 1),
        (r#"{"name": ["p", "q"], "a": [1, 3], "b": 1}"#, vec![0, 2, 3], 4),
    ] {
        found.clear();
        compiled.matches(&decode(json, &attributes), &mut scratch, &mut found);
        assert_eq!((&found, scratch.take_counters().entries), (&slots, entries), "{json}");
    }
}

#[test]
fn a_shared_node_is_counted_once() {
    let counted = |lists, entries, candidates, nodes| {
        let counted = Counters { lists, entries, candidates, ..Counters::default() };
        Counters { nodes, ..counted }
    };
    for texts in [
        ["(u = 1 or v = 1) and w = 1", "(u = 1 or v = 1) and w = 2"],
        ["w = 1 and (u = 1 or v = 1)", "w = 2 and (u = 1 or v = 1)"],
    ] {
        // Both wait for the node, which both u and v lead to.
        let usual = r#"{"w": [1, 2]}"#;
        let found = run(&texts, usual, r#"{"u": 1, "v": 1, "w": 1}"#);
        assert_eq!(found, (vec![0], counted(3, 4, 4, 1)));
        assert_eq!(run(&texts, usual, r#"{"w": 1}"#), (vec![], counted(0, 0, 0, 0)));

        // Both are entered under w and ask for the node, which is looked at only where u or v leads to it.
        let usual = r#"{"u": 1, "v": 1}"#;
        assert_eq!(run(&texts, usual, r#"{"u": 1, "w": 1}"#), (vec![0], counted(2, 2, 2, 1)));
        assert_eq!(run(&texts, usual, r#"{"w": [1, 2]}"#), (vec![], counted(2, 2, 2, 0)));
    }
}

#[test]
fn equal_ranges_are_one_trigger() {
    let texts = ["a > 5 or b = 1", "b = 2 or a > 5", "a > 5 or b = 3", "a > 6 or b = 4", "a > 5"];
    let usual = r#"{"b": 9}"#;
    let counted = |lists, entries| Counters { lists, entries, candidates: entries, ..Counters::default() };
    assert_eq!(run(&texts, usual, r#"{"a": 6}"#), (vec![0, 1, 2, 4], counted(1, 4)));
    assert_eq!(run(&texts, usual, r#"{"a": 7}"#), (vec![0, 1, 2, 3, 4], counted(2, 5)));
}

#[test]
fn the_trigger_of_ranges_is_the_one_that_sampled_values_lie_in_least_often() {
    let texts = ["a > 90 and b > 90"];
    for usual in [r#"{"a": 95, "b": 10}"#, r#"{"a": 10, "b": 95}"#] {
        assert_eq!(run(&texts, usual, usual), (vec![], Counters::default()));
        assert_eq!(run(&texts, usual, r#"{"a": 91, "b": 91}"#).0, [0]);
    }
}

#[test]
fn both_ways_of_matching_a_batch_are_measured() {
    let (compiled, attributes) = compile(&["a > 5 or b = 1", "c = 1"], r#"{"a": 7}"#);
    assert_eq!((compiled.batch_times(), compiled.sampled_events()), (BatchTimes::default(), 20));
    let events = vec![decode(r#"{"a": 7}"#, &attributes); LEAST_BATCH];
    let match_once = |events: &[Event]| {
        let (mut scratch, mut found, mut ends) = (Scratch::default(), Vec::new(), Vec::new());
        compiled.matches_many(events, &mut scratch, &mut found, &mut ends, &|| false);
        assert_eq!(found, vec![0; events.len()]);
    };
    match_once(&events[1..]);
    assert_eq!(compiled.batch_times().prefers_blocks(), None);
    match_once(&events);
    assert!(compiled.batch_times().prefers_blocks().is_some());
    (0..8).for_each(|_| match_once(&events));
    let BatchTimes { events: apart, blocks } = compiled.batch_times();
    assert!(apart.is_some() && blocks.is_some());
}

/// The page at the top of the module draws these words.
#[test]
fn the_page_draws_what_is_compiled() {
    let texts = [
        "topic = 'chess' and state = 'CA'",
        "topic = 'chess' and state = 'OR' and not vip",
        "topic = 'go' or age > 60",
    ];
    let (compiled, attributes) = compile(&texts, r#"{"state": ["CA", "OR"], "age": 30}"#);
    let all = u32::MAX;
    assert_eq!(*compiled.starts, [0, 19, 21, 21, 21, 21, 23, 23, 23, 23, 23, 23, 23]);
    let one = [5, 2];
    let chess = [4, 2, 2, 3, 0, 1, 0, 2, 0, all, all, 0, all, 0, all, all, 0, 0, 1];
    assert_eq!(*compiled.entry_lists, [&chess[..], &one, &one].concat());
    assert_eq!(*compiled.program, [0xc38, 3, 1, 0]);
    let mut found = Vec::new();
    let event = decode(r#"{"topic": "chess", "state": "OR", "vip": false, "age": 30}"#, &attributes);
    compiled.matches(&event, &mut Scratch::default(), &mut found);
    assert_eq!(found, [1]);
}
