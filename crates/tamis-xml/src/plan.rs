//! Which paths must a document contain before a filter can be true?
//!
//! A filter is split into linear paths of element names, which engines match together, and a
//! remainder. If the linear path is the whole filter, reaching it is the answer. If its steps have
//! only value tests, these are applied to the elements of the path. Every other filter is
//! evaluated, but only once its paths have been reached: the main path, and those nested in its
//! predicates with the preceding steps prepended (Diao et al. 2003, 6.2). For a filter that can be
//! true without any path, such as `not(//draft)`, the answer is known as long as none of its paths
//! is reached.

use std::sync::Arc;

use super::document::Document;
use super::evaluate::{EvaluationScratch, is_true};
use super::limits::Limits;
use super::meter::Meter;
use super::xpath::{Axis, Comparison, Function, NodeId, NodeTest, Path, Start, Step, Type, XPath, XPathKind};

/// The maximum number of required paths per filter. More would be correct, but no more selective.
const GROUPS: usize = 32;

/// One step of a linear path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LinearStep {
    /// Whether the element may be at any depth below the previous one, instead of its child.
    pub descendant: bool,
    pub test: ElementTest,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ElementTest {
    Any,
    Namespace(Arc<str>),
    Name { namespace: Arc<str>, local: Arc<str> },
}

pub type LinearPath = Vec<LinearStep>;

/// The value of an element that is tested.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    Attribute {
        namespace: Arc<str>,
        local: Arc<str>,
    },
    /// The string value.
    Own,
    /// Each child text node.
    Text,
}

/// A value test. It passes if some value of the source passes.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueTest {
    pub source: Source,
    pub condition: ValueCondition,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ValueCondition {
    Exists,
    String(Comparison, Arc<str>),
    Number(Comparison, f64),
    Contains(Arc<str>),
    StartsWith(Arc<str>),
}

/// How a filter is decided.
#[derive(Debug)]
pub enum Plan {
    /// Reaching one of the paths is the answer.
    Exact(Vec<LinearPath>),
    /// Reaching the path through elements that pass the tests of their steps is the answer.
    Values { path: LinearPath, tests: Vec<(usize, ValueTest)> },
    /// Evaluate once at least one path of every group has been reached.
    Evaluate { groups: Vec<Vec<LinearPath>> },
    /// The answer is `default` unless one of the paths is reached; then evaluate.
    Default { default: bool, paths: Vec<LinearPath> },
    /// Evaluate on every document.
    Always,
}

impl Plan {
    pub fn new(xpath: &XPath) -> Plan {
        let root = without_boolean(xpath, xpath.root());
        if let XPathKind::Path(path) = &xpath.node(root).kind
            && let Some(plan) = streamable(xpath, path)
        {
            return plan;
        }
        let mut exact = Vec::new();
        if add_exact(xpath, root, &mut exact) {
            return Plan::Exact(exact);
        }
        let mut groups = required(xpath, root, &[]);
        if !groups.is_empty() {
            groups.truncate(GROUPS);
            return Plan::Evaluate { groups };
        }
        let mut paths = Vec::new();
        if !support(xpath, root, &mut paths) {
            return Plan::Always;
        }
        let mut nothing = Document::default();
        nothing.read_nothing();
        let mut meter = Meter::new(&Limits::default(), None);
        // An expression that exhausts the meter without any nodes would do so on documents too, and
        // must fail there.
        match is_true(xpath, &nothing, &mut EvaluationScratch::default(), &mut meter) {
            Ok(default) => Plan::Default { default, paths },
            Err(_) => Plan::Always,
        }
    }
}

/// The argument of `boolean()`, if the call changes nothing.
fn without_boolean(xpath: &XPath, mut id: NodeId) -> NodeId {
    while let XPathKind::Call(Function::Boolean, arguments) = &xpath.node(id).kind
        && matches!(xpath.node(arguments[0]).result, Type::Nodes | Type::Boolean)
    {
        id = arguments[0];
    }
    id
}

/// Adds paths such that the expression is true if and only if one of them is reached. Returns false
/// if the expression needs more than paths.
fn add_exact(xpath: &XPath, id: NodeId, paths: &mut Vec<LinearPath>) -> bool {
    match &xpath.node(without_boolean(xpath, id)).kind {
        XPathKind::Or(operands) | XPathKind::Union(operands) => {
            operands.iter().all(|operand| add_exact(xpath, *operand, paths))
        }
        XPathKind::Path(path) => match streamable(xpath, path) {
            Some(Plan::Exact(mut exact)) => {
                paths.append(&mut exact);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// The plan of a path whose own elements decide it.
fn streamable(xpath: &XPath, path: &Path) -> Option<Plan> {
    if matches!(path.start, Start::Nodes(..)) {
        return None;
    }
    let (linear, used) = prefix(&path.steps, &[]);
    let rest = &path.steps[used..];
    let mut tests = Vec::new();
    let mut at = 0;
    for step in &path.steps[..used] {
        if is_gap(step) {
            continue;
        }
        at += 1;
        for predicate in &step.predicates {
            tests_of(xpath, *predicate, at - 1, &mut tests)?;
        }
    }
    match rest {
        [] => {}
        // `//a/@b` matches if and only if `//a[@b]` does.
        [Step { axis: Axis::Attribute, test: NodeTest::Name { namespace, local }, predicates }]
            if predicates.is_empty() =>
        {
            let source = Source::Attribute { namespace: namespace.clone(), local: local.clone() };
            tests.push((
                linear.len().checked_sub(1)?,
                ValueTest { source, condition: ValueCondition::Exists },
            ));
        }
        _ => return None,
    }
    if linear.is_empty() {
        return None;
    }
    Some(if tests.is_empty() { Plan::Exact(vec![linear]) } else { Plan::Values { path: linear, tests } })
}

/// Whether the step is `descendant-or-self::node()`, which `//` abbreviates.
fn is_gap(step: &Step) -> bool {
    step.axis == Axis::DescendantOrSelf && step.test == NodeTest::Node && step.predicates.is_empty()
}

/// The linear path of the first steps, appended to `before`, and the number of steps it covers.
fn prefix(steps: &[Step], before: &[LinearStep]) -> (LinearPath, usize) {
    let mut path = before.to_vec();
    let mut gap = false;
    let mut used = 0;
    for (at, step) in steps.iter().enumerate() {
        if is_gap(step) {
            gap = true;
            continue;
        }
        let test = match (step.axis, &step.test) {
            (Axis::Child | Axis::Descendant, NodeTest::Any) => ElementTest::Any,
            (Axis::Child | Axis::Descendant, NodeTest::Namespace(namespace)) => {
                ElementTest::Namespace(namespace.clone())
            }
            (Axis::Child | Axis::Descendant, NodeTest::Name { namespace, local }) => {
                ElementTest::Name { namespace: namespace.clone(), local: local.clone() }
            }
            _ => break,
        };
        path.push(LinearStep { descendant: gap || step.axis == Axis::Descendant, test });
        gap = false;
        used = at + 1;
    }
    (path, used)
}

/// Adds the value tests of a predicate; `None` if it consists of more than value tests.
fn tests_of(
    xpath: &XPath,
    predicate: NodeId,
    step: usize,
    tests: &mut Vec<(usize, ValueTest)>,
) -> Option<()> {
    match &xpath.node(predicate).kind {
        XPathKind::And(operands) => {
            operands.iter().try_for_each(|operand| tests_of(xpath, *operand, step, tests))
        }
        XPathKind::Path(_) => {
            let source = source(xpath, predicate)
                .filter(|source| matches!(source, Source::Attribute { .. } | Source::Text))?;
            tests.push((step, ValueTest { source, condition: ValueCondition::Exists }));
            Some(())
        }
        XPathKind::Compare(comparison, left, right) => {
            let (source, comparison, constant) = match (source(xpath, *left), source(xpath, *right)) {
                (Some(source), None) => (source, *comparison, *right),
                (None, Some(source)) => (source, comparison.mirrored(), *left),
                _ => return None,
            };
            let condition = match &xpath.node(constant).kind {
                XPathKind::String(text) => match comparison {
                    Comparison::Equal | Comparison::NotEqual => {
                        ValueCondition::String(comparison, text.clone())
                    }
                    _ => ValueCondition::Number(comparison, super::evaluate::to_number(text)),
                },
                XPathKind::Number(number) => ValueCondition::Number(comparison, *number),
                XPathKind::Negate(inner) => match &xpath.node(*inner).kind {
                    XPathKind::Number(number) => ValueCondition::Number(comparison, -number),
                    _ => return None,
                },
                _ => return None,
            };
            tests.push((step, ValueTest { source, condition }));
            Some(())
        }
        XPathKind::Call(function @ (Function::Contains | Function::StartsWith), arguments) => {
            let XPathKind::String(text) = &xpath.node(arguments[1]).kind else { return None };
            // The string value of a node-set is that of its first node, or `''` if it is empty.
            let source =
                source(xpath, arguments[0]).filter(|source| *source != Source::Text && !text.is_empty())?;
            let condition = match function {
                Function::Contains => ValueCondition::Contains(text.clone()),
                _ => ValueCondition::StartsWith(text.clone()),
            };
            tests.push((step, ValueTest { source, condition }));
            Some(())
        }
        _ => None,
    }
}

/// The value of the context element that an expression denotes: `@name`, `.` or `text()`.
fn source(xpath: &XPath, id: NodeId) -> Option<Source> {
    let XPathKind::Path(Path { start: Start::Context, steps }) = &xpath.node(id).kind else { return None };
    let [Step { axis, test, predicates }] = &**steps else { return None };
    if !predicates.is_empty() {
        return None;
    }
    match (axis, test) {
        (Axis::Attribute, NodeTest::Name { namespace, local }) => {
            Some(Source::Attribute { namespace: namespace.clone(), local: local.clone() })
        }
        (Axis::Itself, NodeTest::Node) => Some(Source::Own),
        (Axis::Child, NodeTest::Text) => Some(Source::Text),
        _ => None,
    }
}

/// Groups of paths such that the expression is true only if at least one path of every group is
/// reached. `before` is the linear path to the context element.
fn required(xpath: &XPath, id: NodeId, before: &[LinearStep]) -> Vec<Vec<LinearPath>> {
    let node = xpath.node(id);
    match &node.kind {
        XPathKind::Path(path) => required_by_path(xpath, path, before),
        XPathKind::And(operands) => {
            operands.iter().flat_map(|operand| required(xpath, *operand, before)).collect()
        }
        XPathKind::Or(operands) | XPathKind::Union(operands) => {
            let mut group = Vec::new();
            for operand in operands {
                let shortest = |group: &Vec<LinearPath>| group.iter().map(Vec::len).min();
                match required(xpath, *operand, before).into_iter().max_by_key(shortest) {
                    Some(mut longest) => group.append(&mut longest),
                    None => return Vec::new(),
                }
            }
            vec![group]
        }
        XPathKind::Compare(_, left, right) => {
            // A comparison with a node-set needs a node, except with a boolean.
            let results = [xpath.node(*left).result, xpath.node(*right).result];
            if results.contains(&Type::Boolean) {
                return Vec::new();
            }
            let sides = [left, right].into_iter().filter(|side| xpath.node(**side).result == Type::Nodes);
            sides.flat_map(|side| required(xpath, *side, before)).collect()
        }
        XPathKind::Call(Function::Boolean | Function::Count | Function::Sum, arguments) => {
            match xpath.node(arguments[0]).result {
                Type::Nodes | Type::Boolean => required(xpath, arguments[0], before),
                _ => Vec::new(),
            }
        }
        XPathKind::Call(Function::Contains | Function::StartsWith, arguments) => {
            let proper =
                matches!(&xpath.node(arguments[1]).kind, XPathKind::String(text) if !text.is_empty());
            match xpath.node(arguments[0]).result {
                Type::Nodes if proper => required(xpath, arguments[0], before),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

fn required_by_path(xpath: &XPath, path: &Path, before: &[LinearStep]) -> Vec<Vec<LinearPath>> {
    let before = match &path.start {
        Start::Root => &[],
        Start::Context => before,
        Start::Nodes(inner, _) => return required(xpath, *inner, before),
    };
    let mut groups = Vec::new();
    let (linear, used) = prefix(&path.steps, before);
    let mut at = before.len();
    for step in &path.steps[..used] {
        if is_gap(step) {
            continue;
        }
        at += 1;
        for predicate in &step.predicates {
            if xpath.node(*predicate).result != Type::Number {
                groups.append(&mut required(xpath, *predicate, &linear[..at]));
            }
        }
    }
    if linear.len() > before.len() {
        groups.insert(0, vec![linear]);
    }
    groups
}

/// Adds paths such that every node-set in the expression is empty as long as none of them is
/// reached. Returns false if there are no such paths.
fn support(xpath: &XPath, id: NodeId, paths: &mut Vec<LinearPath>) -> bool {
    match &xpath.node(id).kind {
        XPathKind::Path(path) => match &path.start {
            Start::Nodes(inner, _) => support(xpath, *inner, paths),
            _ => {
                let (linear, _) = prefix(&path.steps, &[]);
                let found = !linear.is_empty();
                paths.push(linear);
                found
            }
        },
        XPathKind::Or(operands) | XPathKind::And(operands) | XPathKind::Union(operands) => {
            operands.iter().all(|operand| support(xpath, *operand, paths))
        }
        XPathKind::Compare(_, left, right) => support(xpath, *left, paths) && support(xpath, *right, paths),
        XPathKind::Arithmetic(first, rest) => {
            support(xpath, *first, paths) && rest.iter().all(|(_, operand)| support(xpath, *operand, paths))
        }
        XPathKind::Negate(operand) => support(xpath, *operand, paths),
        XPathKind::String(_) | XPathKind::Number(_) => true,
        XPathKind::Call(function, arguments) => {
            // `id()` finds elements anywhere in the document.
            let own = function.speaks_of_context(arguments.len()) || *function == Function::Id;
            !own && arguments.iter().all(|argument| support(xpath, *argument, paths))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn plan(text: &str) -> String {
        let show = |path: &LinearPath| {
            let step = |step: &LinearStep| {
                let name = match &step.test {
                    ElementTest::Any => "*",
                    ElementTest::Namespace(namespace) => namespace,
                    ElementTest::Name { local, .. } => local,
                };
                format!("{}{name}", if step.descendant { "//" } else { "/" })
            };
            path.iter().map(step).collect::<String>()
        };
        let list = |paths: &[LinearPath]| paths.iter().map(show).collect::<Vec<_>>().join(" ");
        match Plan::new(&XPath::parse(text, &[("p", "urn:p")], &Limits::default()).unwrap()) {
            Plan::Exact(paths) => format!("exact {}", list(&paths)),
            Plan::Values { path, tests } => {
                let steps: Vec<_> = tests.iter().map(|(step, _)| step.to_string()).collect();
                format!("values {} at {}", show(&path), steps.join(" "))
            }
            Plan::Evaluate { groups } => {
                format!("evaluate {}", groups.iter().map(|group| list(group)).collect::<Vec<_>>().join(", "))
            }
            Plan::Default { default, paths } => format!("{default} without {}", list(&paths)),
            Plan::Always => "always".into(),
        }
    }

    #[test]
    fn filters_are_split_into_paths() {
        for (text, expected) in [
            ("/a//b/*", "exact /a//b/*"),
            ("a/p:*", "exact /a/urn:p"),
            ("//a[@x='1'][. > 3]/b[text()]", "values //a/b at 0 0 1"),
            ("//a/@b", "values //a at 0"),
            ("//a[contains(@b, 'x') and 5 < @c]", "values //a at 0 0"),
            // The query q6 of Diao et al. 2003, 6.2.1, and its three paths.
            ("/a[d]//b[e/f]/c", "evaluate /a//b/c, /a/d, /a//b/e/f"),
            ("//a[b[c]/d]", "evaluate //a, //a/b/d, //a/b/c"),
            ("//b[2]", "evaluate //b"),
            ("(//b)[2]/c", "evaluate //b"),
            ("//a/../c", "evaluate //a"),
            ("//a/text()", "evaluate //a"),
            ("//a | b/c", "exact //a /b/c"),
            ("boolean(//a) or (b or c/d)", "exact //a /b /c/d"),
            ("boolean(boolean(//a[@x]))", "values //a at 0"),
            ("//a | //b[@x]", "evaluate //a //b"),
            ("boolean(3)", "true without "),
            ("id('x')", "always"),
            ("//a/following::b", "evaluate //a"),
            ("//a and not(//b)", "evaluate //a"),
            ("//a[b or c/d]", "evaluate //a, //a/b //a/c/d"),
            ("//a = //b", "evaluate //a, //b"),
            ("//a = true()", "false without //a"),
            ("not(//a)", "true without //a"),
            ("count(//a) < 2 or b", "true without //a /b"),
            ("count(//a) > 2", "false without //a"),
            ("1", "true without "),
            ("string-length() > 3", "always"),
            ("/", "always"),
            ("//text()", "always"),
            ("@a", "always"),
            ("//a//.", "evaluate //a"),
            ("//a[not(b)]", "evaluate //a"),
            ("//a[contains(b, 'x')]/c", "evaluate //a/c, //a/b"),
        ] {
            assert_eq!(plan(text), expected, "{text}");
        }
    }
}
