//! Which predicates use attributes or types that a sample does not have, and which do not mean what they seem to?

use std::sync::Arc;

use super::near::Near;
use super::sample::{Sample, Seen};
use super::{FindingKind, Report};
use crate::event::{Attributes, clock};
use crate::expression::{Comparison, Expression, Function, Node, Predicate, Term, Test, is_hidden, shown};
use crate::expression::{Context, IT, resolve_predicate, shorten};
use crate::id::Id;
use crate::index::Subscription;
use crate::value::{Family, Network, Value, read_number, read_version};

/// What surrounds a name that was meant as an operator.
const SPACED: [&str; 16] = [
    " + ",
    " - ",
    " * ",
    " / ",
    " % ",
    " and ",
    " or ",
    " not ",
    " in ",
    " is ",
    " like ",
    " ilike ",
    " between ",
    " contains ",
    " matches ",
    " with ",
];

/// Examines the predicates of expressions.
pub(super) struct Predicates<'s> {
    sample: &'s Sample,
    attributes: &'s Attributes,
    pub near: Near<'s>,
}

/// A predicate of a subscription, and its position.
struct PredicateSite<'a> {
    id: &'a Id,
    expression: &'a Expression,
    node: usize,
    /// The list whose elements it is about, and a dot.
    prefix: &'a str,
}

impl PredicateSite<'_> {
    fn position(&self) -> Option<usize> {
        self.expression.place_of(self.node)
    }
}

impl<'s> Predicates<'s> {
    pub fn new(sample: &'s Sample, attributes: &'s Attributes) -> Predicates<'s> {
        Predicates { sample, attributes, near: Near::new(sample) }
    }

    pub fn look_at(&mut self, subscription: &Subscription, report: &mut Report) {
        let Subscription { id, expression, .. } = subscription;
        for (node, found) in expression.nodes().iter().enumerate() {
            if let Node::Predicate(predicate) = found {
                self.predicate(predicate, &PredicateSite { id, expression, node, prefix: "" }, report);
            }
        }
    }

    fn predicate(&mut self, predicate: &Arc<Predicate>, place: &PredicateSite<'_>, report: &mut Report) {
        if predicate.as_xpath().is_some() {
            return;
        }
        predicate.attributes(&mut |name| self.name(name, place, report));
        if let Some(elements) = predicate.as_elements() {
            let list = elements.list.strip_prefix(IT).map_or(elements.list, |_| "");
            let prefix = format!("{}{list}.", place.prefix);
            // Lists in lists nest only so deep.
            if let Some(Ok(inner)) = predicate.inner() {
                for predicate in inner.predicates() {
                    self.predicate(predicate, &PredicateSite { prefix: &prefix, ..*place }, report);
                }
            }
            return;
        }
        if predicate.as_unknown().is_some() {
            return;
        }
        if let Some((left, comparison, right)) = predicate.as_comparison() {
            return self.comparison(predicate, &left, comparison, &right, place, report);
        }
        self.text_order(predicate, place, report);
        text_network(predicate, place, report);
        empty_range(predicate, place, report);
        text_case(predicate, place, report);
        if place.prefix.is_empty() {
            self.types(predicate, place, report);
        } else {
            self.types_inside(predicate, place, report);
        }
    }

    /// Reports a name that no event has, or that looks like something else.
    fn name(&mut self, name: &Arc<str>, place: &PredicateSite<'_>, report: &mut Report) {
        if is_hidden(name) {
            return;
        }
        let path = format!("{}{name}", place.prefix);
        let known = self.attributes.find(name).filter(|_| place.prefix.is_empty());
        let seen = known.is_some_and(|known| self.sample.seen(known).events > 0);
        if seen || self.sample.has_name(&path) {
            return;
        }
        let spaced = format!(" {} ", name.to_lowercase());
        let operator = name.contains(['=', '<', '>', '!', '(', ')'])
            || SPACED.iter().any(|operator| spaced.trim_matches(' ').contains(operator));
        if operator {
            let make = || {
                let message = format!(
                    "\"{}\" in double quotes is the name of an attribute; without them it would be read as an \
                     expression",
                    shorten(name)
                );
                (name.to_string(), message)
            };
            report.note(FindingKind::QuotedName, path, place.id, make, || place.position());
            return;
        }
        if self.sample.is_empty() {
            return;
        }
        let (near, events) = (&mut self.near, self.sample.len());
        let make = || {
            let hint = near.of(&path).map(|near| format!("; did you mean `{}`?", shorten(near)));
            let message =
                format!("none of {events} events has `{}`{}", shorten(&path), hint.unwrap_or_default());
            (path.clone(), message)
        };
        report.note(FindingKind::UnseenAttribute, path.clone(), place.id, make, || place.position());
    }

    /// Reports an ordering of texts that look like something else.
    fn text_order(&self, predicate: &Predicate, place: &PredicateSite<'_>, report: &mut Report) {
        let operands: &[&Value] = match predicate.test() {
            Test::Less(value) | Test::AtMost(value) | Test::Greater(value) | Test::AtLeast(value) => &[value],
            Test::Between(low, high) => &[low, high],
            _ => return,
        };
        for operand in operands {
            let Value::String(text) = operand else { continue };
            let seen = self.seen(predicate.attribute());
            let advice = if self.attributes.time_zone().read(text.trim()).is_some() || looks_like_date(text) {
                "looks like a time, but texts are compared letter by letter: write `timestamp '...'` or `date \
                 '...'`"
            } else if read_number(text.trim()).is_ok() {
                "is a number in quotes, and texts are compared letter by letter ('9' is after '10'): write it \
                 without quotes, and `cast(... as decimal)` where events have text; or `version '...'` if it is a \
                 version"
            } else if text.matches('.').count() >= 2 && read_version(text).is_some() {
                "looks like a version, but texts are compared letter by letter ('2.9' is after '2.10'): write \
                 `version '...'`"
            } else if seen.has_times_as_texts() {
                "is not a time, although the events have times there; texts are compared letter by letter: write \
                 `timestamp '...'` or `date '...'`"
            } else {
                continue;
            };
            let name = shown(predicate.attribute());
            let key = format!("{name} {}", advice.len());
            let make = || {
                let value = shorten(&operand.to_string());
                (name.clone(), format!("`{}` is compared with {value}, which {advice}", shorten(&name)))
            };
            report.note(FindingKind::TextOrder, key, place.id, make, || place.position());
            return;
        }
    }

    /// What the sample shows about an attribute or term.
    fn seen(&self, name: &Arc<str>) -> Seen {
        self.attributes.find(name).map_or_else(Seen::default, |attribute| self.sample.seen(attribute))
    }

    /// Reports operands of a type that the attribute never has.
    fn types(&self, predicate: &Arc<Predicate>, place: &PredicateSite<'_>, report: &mut Report) {
        let term = predicate.term();
        let name = term.name();
        self.term(&term, place, report);
        for node in resolve_predicate(predicate, self.attributes.time_zone()) {
            let Node::Predicate(resolved) = node else { continue };
            let seen = self.seen(resolved.attribute());
            let unseen = families(resolved.test()).into_iter().find(|family| !seen.has(*family));
            // A reading that is not a time, address or version is a boolean that no expression uses.
            let (Some(family), true) = (unseen, seen.has_values()) else { continue };
            let plain = self.seen(&name);
            let plain = if plain.has_values() { plain } else { seen };
            let bare = *resolved.test() == Test::Equal(Value::Boolean(true)) && plain.has(Family::String);
            let attribute = shown(&name);
            let make = || {
                let mut message = format!(
                    "`{}` is compared with {}, but is {} in all {} events that have it",
                    shorten(&attribute),
                    name_of(family),
                    plain.types(),
                    plain.events
                );
                if resolved.attribute() != &name && plain.has(Family::String) {
                    message.push_str(", and none of its texts can be read as one");
                }
                if bare {
                    message.push_str(
                        "; a name alone asks whether it is true, and `||` is `or`: texts are joined \
                                      with `concat`",
                    );
                }
                (attribute.clone(), message)
            };
            let key = format!("{attribute} {}", name_of(family));
            report.note(FindingKind::UnseenType, key, place.id, make, || place.position());
            return;
        }
    }

    /// Reports operands of a type that an attribute of elements never has. Elements are not kept, so all that is
    /// known are the types of their values, not of terms.
    fn types_inside(&self, predicate: &Arc<Predicate>, place: &PredicateSite<'_>, report: &mut Report) {
        let name = predicate.term().name();
        let path = match &*name {
            IT => place.prefix.trim_end_matches('.').to_owned(),
            name if is_hidden(name) => return,
            name => format!("{}{name}", place.prefix),
        };
        let seen = self.sample.types_of(&path);
        let meets = |family: Family| FAMILIES.iter().any(|one| seen.has(*one) && can_meet(*one, family));
        let asked = resolve_predicate(predicate, self.attributes.time_zone()).into_iter().flat_map(|node| {
            if let Node::Predicate(resolved) = node { families(resolved.test()) } else { Vec::new() }
        });
        let unmet = asked.into_iter().find(|family| FAMILIES.contains(family) && !meets(*family));
        let (Some(family), true) = (unmet, seen.has_values()) else { return };
        let make = || {
            let message = format!(
                "`{}` is compared with {}, but is {} in all elements that have it",
                shorten(&path),
                name_of(family),
                seen.types()
            );
            (path.clone(), message)
        };
        let key = format!("{path} {}", name_of(family));
        report.note(FindingKind::UnseenType, key, place.id, make, || place.position());
    }

    /// Reports a term that no event gives a value, though all events have what it is computed from.
    fn term(&self, term: &Term, place: &PredicateSite<'_>, report: &mut Report) {
        let name = term.name();
        if !is_hidden(&name) || self.seen(&name).has_values() || self.sample.is_empty() {
            return;
        }
        let mut arguments = Vec::new();
        term.attributes(&mut |name| arguments.push(name.clone()));
        let all = !arguments.is_empty() && arguments.iter().all(|name| self.seen(name).has_values());
        if !all {
            return;
        }
        let written = term.to_string();
        let make = || {
            let types = arguments
                .iter()
                .map(|name| format!("`{}` is {}", shorten(&shown(name)), self.seen(name).types()));
            let types: Vec<String> = types.take(3).collect();
            let message = format!("`{}` has no value in the sample: {}", shorten(&written), types.join(", "));
            (written.clone(), message)
        };
        report.note(FindingKind::UnseenType, written.clone(), place.id, make, || place.position());
    }

    /// Reports a term that reads nothing of an event and never has a value, such as `now() - 7`.
    fn constant(&self, term: &Term, place: &PredicateSite<'_>, report: &mut Report) {
        let context =
            Context { zone: Some(self.attributes.time_zone()), now: Some(clock()), ..Context::default() };
        if term.reads_event() || term.value_apart(&context).is_some() {
            return;
        }
        let written = term.to_string();
        let make = || {
            let message =
                format!("`{}` never has a value; check the types of its operands", shorten(&written));
            (written.clone(), message)
        };
        report.note(FindingKind::UnseenType, written.clone(), place.id, make, || place.position());
    }

    /// Reports a comparison of two terms whose types never meet.
    fn comparison(
        &self,
        predicate: &Predicate,
        left: &Term,
        comparison: Comparison,
        right: &Term,
        place: &PredicateSite<'_>,
        report: &mut Report,
    ) {
        for side in [left, right] {
            self.constant(side, place, report);
        }
        let (first, second) = (self.seen(&left.name()), self.seen(&right.name()));
        if !first.has_values() || !second.has_values() || !place.prefix.is_empty() {
            return;
        }
        let text = matches!(comparison, Comparison::StartsWith | Comparison::EndsWith | Comparison::Contains);
        let meet = if text {
            first.has(Family::String) && second.has(Family::String)
        } else {
            FAMILIES.iter().any(|one| {
                FAMILIES.iter().any(|other| first.has(*one) && second.has(*other) && can_meet(*one, *other))
            })
        };
        if meet {
            return;
        }
        let make = || {
            let message = format!(
                "`{}` is {} and `{}` is {} in the sample, which are never compared",
                shorten(&left.to_string()),
                first.types(),
                shorten(&right.to_string()),
                second.types()
            );
            (left.to_string(), message)
        };
        report.note(FindingKind::UnseenType, predicate.to_string(), place.id, make, || place.position());
    }
}

/// The families that events have.
const FAMILIES: [Family; 8] = [
    Family::Boolean,
    Family::Number,
    Family::String,
    Family::Timestamp,
    Family::Date,
    Family::Duration,
    Family::Address,
    Family::Version,
];

/// Whether values of two families can be equal or ordered, where strings may be read as the other type.
fn can_meet(one: Family, other: Family) -> bool {
    let read = |family: Family| {
        matches!(family, Family::Timestamp | Family::Date | Family::Address | Family::Version)
    };
    one == other
        || one.is_time() && other.is_time()
        || one == Family::String && read(other)
        || other == Family::String && read(one)
}

/// The families of a test's operands.
fn families(test: &Test) -> Vec<Family> {
    match test {
        Test::Exists | Test::IsNull => Vec::new(),
        Test::Equal(value)
        | Test::Less(value)
        | Test::AtMost(value)
        | Test::Greater(value)
        | Test::AtLeast(value)
        | Test::Between(value, _) => vec![value.family()],
        Test::In(values) => {
            let mut families: Vec<Family> = values.iter().map(Value::family).collect();
            families.dedup();
            families
        }
        _ => vec![Family::String],
    }
}

fn name_of(family: Family) -> &'static str {
    match family {
        Family::Boolean => "`true` or `false`",
        Family::Number => "a number",
        Family::String => "a string",
        Family::Timestamp | Family::Date | Family::Local => "a time",
        Family::Duration => "an interval",
        Family::Address | Family::Network => "an address",
        Family::Version => "a version",
    }
}

/// Reports a network in quotes, which no address is in.
fn text_network(predicate: &Predicate, place: &PredicateSite<'_>, report: &mut Report) {
    let operands = match predicate.test() {
        Test::Equal(value) => std::slice::from_ref(value),
        Test::In(values) => values,
        _ => return,
    };
    let is_network = |value: &&Value| match value {
        Value::String(text) => text.contains('/') && Network::read(text.trim()).is_ok(),
        _ => false,
    };
    let Some(operand) = operands.iter().find(is_network) else { return };
    let name = shown(predicate.attribute());
    let not = if predicate.negated() { "not " } else { "" };
    let make = || {
        let (name, value) = (shorten(&name), shorten(&operand.to_string()));
        let message = format!(
            "`{name}` is compared with {value}, which is a network in quotes, and no address equals it: write `{name} \
             {not}in (cidr {value})`"
        );
        (name.to_string(), message)
    };
    report.note(FindingKind::TextNetwork, format!("{not}{name}"), place.id, make, || place.position());
}

/// Reports a `between` whose ends are in the wrong order, as is easily written for hours across midnight.
fn empty_range(predicate: &Predicate, place: &PredicateSite<'_>, report: &mut Report) {
    let Test::Between(low, high) = predicate.test() else { return };
    if low.family() != high.family() || low <= high {
        return;
    }
    let name = shown(predicate.attribute());
    let (low, high) = (low.to_string(), high.to_string());
    let make = || {
        let (name, low, high) = (shorten(&name), shorten(&low), shorten(&high));
        let message = format!(
            "`{name}` is never between {low} and {high}: the lower end is above the upper. To go past the end, as for \
             hours across midnight, write `{name} >= {low} or {name} <= {high}`"
        );
        (name.to_string(), message)
    };
    report.note(FindingKind::EmptyRange, format!("{name} {low} {high}"), place.id, make, || place.position());
}

/// Reports a text that the result of `lower` or `upper` never equals or contains.
fn text_case(predicate: &Predicate, place: &PredicateSite<'_>, report: &mut Report) {
    let term = predicate.term();
    let Some(function) = case_of(&term) else { return };
    let changed = |text: &str| function.change_case(text).filter(|changed| changed != text);
    let mut others = 0;
    let (verb, text) = match predicate.test() {
        Test::Equal(Value::String(text)) => ("never equals", text),
        Test::Like(text) => ("is never like", text),
        Test::StartsWith(text) => ("never starts with", text),
        Test::EndsWith(text) => ("never ends with", text),
        Test::Contains(text) => ("never contains", text),
        Test::In(values) => {
            let mut never = values.iter().filter_map(|value| match value {
                Value::String(text) if changed(text).is_some() => Some(text),
                _ => None,
            });
            let Some(text) = never.next() else { return };
            others = never.count();
            ("never equals", text)
        }
        _ => return,
    };
    let Some(wanted) = changed(text) else { return };
    let case = if function == Function::Lower { "lower" } else { "upper" };
    let written = term.to_string();
    let make = || {
        let [text, wanted] = [&**text, &*wanted].map(|text| shorten(&Value::String(text.into()).to_string()));
        let set = match others {
            0 => String::new(),
            1 => ", and so for 1 more value of the set".to_owned(),
            count => format!(", and so for {count} more values of the set"),
        };
        let message = format!(
            "`{}` {verb} {text}, which is not in {case} case: write {wanted}{set}",
            shorten(&written)
        );
        (written.clone(), message)
    };
    let key = format!("{written} {verb} {text}");
    report.note(FindingKind::TextCase, key, place.id, make, || place.position());
}

/// The function that gave the value of a term its case.
fn case_of(term: &Term) -> Option<Function> {
    match term {
        Term::Call(function @ (Function::Lower | Function::Upper), _) => Some(*function),
        // A part of a text in lower case is in lower case.
        Term::Call(Function::Trim | Function::Substring, arguments) => case_of(arguments.first()?),
        _ => None,
    }
}

/// Whether a text begins like a date in some other way of writing: 1/2/2026, 02.01.2026, 2026/01/02.
fn looks_like_date(text: &str) -> bool {
    let mut parts = text.trim().splitn(3, ['/', '-', '.']);
    let mut digits = |most: usize| {
        let part = parts.next().unwrap_or_default();
        let length = part.bytes().take_while(u8::is_ascii_digit).count();
        (1..=most).contains(&length).then_some((length, length == part.len()))
    };
    let (Some((first, true)), Some((_, true)), Some((last, _))) = (digits(4), digits(2), digits(4)) else {
        return false;
    };
    first == 4 || last == 4
}
