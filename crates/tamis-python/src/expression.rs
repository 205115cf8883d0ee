//! `tamis.Expression`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::error;
use crate::items;
use crate::limits::{Limits, or_default};
use crate::term::{self, Term};
use crate::value::{self, Refusal};
use crate::xml;

/// A Boolean expression over predicates.
///
/// Create one with `parse`, `from_json` or `tamis.attr`, and combine them with `& | ^ ~`. Its text,
/// `str(x)`, is canonical: parsing it gives an equal expression.
#[pyclass(module = "tamis", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Expression(pub tamis::Expression);

#[pymethods]
impl Expression {
    /// Parse an expression.
    ///
    /// Raises:
    ///     ExpressionSyntaxError: The text is invalid; the error says where and what was expected.
    ///     ExpressionError: It is well formed but has no meaning, such as `a < true`.
    ///     LimitError: It exceeds a limit.
    #[staticmethod]
    #[pyo3(signature = (text, *, limits=None))]
    fn parse(py: Python<'_>, text: &Bound<'_, PyAny>, limits: Option<&Bound<'_, Limits>>) -> PyResult<Self> {
        parse_text(py, text, &or_default(limits)).map(Expression)
    }

    /// Read an expression from its JSON form, as text or bytes.
    #[staticmethod]
    #[pyo3(signature = (json, *, limits=None))]
    fn from_json(
        py: Python<'_>,
        json: &Bound<'_, PyAny>,
        limits: Option<&Bound<'_, Limits>>,
    ) -> PyResult<Self> {
        let limits = or_default(limits);
        let parsed = if let Ok(bytes) = json.cast::<PyBytes>() {
            match std::str::from_utf8(bytes.as_bytes()) {
                Ok(text) => without_lock(py, text.len(), || tamis::expression::from_json(text, &limits)),
                Err(_) => return Err(error::expression(py, "the JSON form is not UTF-8")),
            }
        } else {
            let text = text_of(py, json, "the JSON form of an expression")?;
            without_lock(py, text.len(), || tamis::expression::from_json(text, &limits))
        };
        parsed.map(Expression).map_err(|error| error::raise(py, &error))
    }

    /// The expression `true` or `false`.
    #[staticmethod]
    fn constant(value: bool) -> Self {
        Expression(tamis::Expression::constant(value))
    }

    /// One predicate; `tamis.attr` is the more convenient way to build one.
    #[staticmethod]
    fn predicate(
        py: Python<'_>,
        attribute: &Bound<'_, PyAny>,
        operator: &str,
        operands: &Bound<'_, PyAny>,
        weights: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let operands = items::all::<Bound<'_, PyAny>>(operands)?;
        let weights = items::all::<f64>(weights)?;
        let left = match attribute.cast::<Term>() {
            Ok(term) => term.get().0.clone(),
            Err(_) => {
                let name = text_of(py, attribute, "an attribute's name")?;
                tamis::expression::Term::attribute(name).map_err(|error| error::raise(py, &error))?
            }
        };
        if let Some(negated) = ["is unknown", "is not unknown"].iter().position(|known| *known == operator) {
            return tamis::expression::Predicate::unknown(left, negated == 1, &term::limits())
                .map(|predicate| Expression(predicate.into()))
                .map_err(|error| error::raise(py, &error));
        }
        let Some((positive, negated)) = tamis::expression::Operator::from_spelling(operator) else {
            return Err(error::expression(py, &format!("there is no operator `{operator}`")));
        };
        if let [right] = &operands[..]
            && let Ok(right) = right.cast::<Term>()
        {
            let right = right.get().0.clone();
            let comparison = tamis::expression::Comparison::from_spelling(positive.spelling(false));
            let Some(comparison) = comparison.filter(|_| weights.is_empty()) else {
                let message = format!("`{operator}` takes a constant, not a term, and a term has no weight");
                return Err(error::expression(py, &message));
            };
            return tamis::expression::Predicate::comparison(
                left,
                comparison,
                negated,
                right,
                &term::limits(),
            )
            .map(|predicate| Expression(predicate.into()))
            .map_err(|error| error::raise(py, &error));
        }
        let values = operands.iter().map(value::read).collect::<Result<Vec<_>, _>>();
        let mut values = values.map_err(|refusal| match refusal {
            Refusal::Reason(reason) => error::expression(py, &format!("`{left} {operator}`: {reason}")),
            Refusal::Python(failure) => failure,
        })?;
        let operand = match (positive, values.len()) {
            (positive, _) if positive.takes() == tamis::expression::Takes::Set => {
                tamis::expression::Operand::Set(values)
            }
            (_, 0) => tamis::expression::Operand::Nothing,
            (_, 1) => tamis::expression::Operand::One(values.remove(0)),
            (tamis::expression::Operator::Between, 2) => {
                let high = values.remove(1);
                tamis::expression::Operand::Range(values.remove(0), high)
            }
            (tamis::expression::Operator::Between, count) => {
                return Err(error::expression(py, &format!("`{operator}` takes two values, not {count}")));
            }
            _ => tamis::expression::Operand::Set(values),
        };
        tamis::expression::Predicate::on(&left, positive, negated, operand, &weights, &term::limits())
            .map(|predicate| Expression(predicate.into()))
            .map_err(|error| error::raise(py, &error))
    }

    /// Whether some (`any`), all or none of the elements of a list satisfy an expression.
    #[staticmethod]
    #[pyo3(signature = (quantifier, list, inner, *, weight=None))]
    fn elements(
        py: Python<'_>,
        quantifier: &str,
        list: &Bound<'_, Term>,
        inner: &Bound<'_, Expression>,
        weight: Option<f64>,
    ) -> PyResult<Self> {
        term::elements(py, quantifier, list.get(), inner.get(), weight)
    }

    /// Whether the document of an event satisfies an XPath expression.
    #[staticmethod]
    #[pyo3(signature = (text, *, namespaces=None, weight=None))]
    fn xpath(
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        namespaces: Option<&Bound<'_, PyAny>>,
        weight: Option<f64>,
    ) -> PyResult<Self> {
        let text = text_of(py, text, "an XPath expression")?;
        let namespaces = xml::read_namespaces(namespaces)?;
        let namespaces: Vec<(&str, &str)> =
            namespaces.iter().map(|(prefix, name)| (&**prefix, &**name)).collect();
        tamis::expression::Predicate::xpath(text, &namespaces, weight.as_slice(), &tamis::Limits::default())
            .map(|predicate| Expression(predicate.into()))
            .map_err(|error| error::raise(py, &error))
    }

    /// The conjunction of the expressions; `true` if there are none.
    #[staticmethod]
    fn all_of(expressions: &Bound<'_, PyAny>) -> PyResult<Self> {
        let expressions = items::all::<Bound<'_, Expression>>(expressions)?;
        let expressions = expressions.iter().map(|expression| &expression.get().0);
        Ok(Expression(tamis::Expression::all(expressions)))
    }

    /// The disjunction of the expressions; `false` if there are none.
    #[staticmethod]
    fn any_of(expressions: &Bound<'_, PyAny>) -> PyResult<Self> {
        let expressions = items::all::<Bound<'_, Expression>>(expressions)?;
        let expressions = expressions.iter().map(|expression| &expression.get().0);
        Ok(Expression(tamis::Expression::any(expressions)))
    }

    /// The JSON form, as text.
    fn to_json(&self) -> String {
        tamis::expression::to_json(&self.0)
    }

    /// The expression as the condition of a WHERE clause, for a backfill in SQL.
    ///
    /// The rows for which the condition is true are the rows that match. An expression without an
    /// exact translation is refused.
    ///
    /// Args:
    ///     dialect: `"spark"`, `"duckdb"` or `"postgres"`.
    ///     columns: The types of the table's columns, as a `pyarrow.Schema` or as a mapping of
    ///         names to `"string"`, `"integer"`, `"decimal(12, 2)"`, `"float"`, `"boolean"`,
    ///         `"timestamp"`, `"date"`, `[type]` for lists and `{name: type}` for objects. Without
    ///         them, a column must have the type of the constants it is compared with.
    ///     missing: As for `Index`.
    ///     time_zone: As for `Index`; the database's session must use the same one.
    ///
    /// Raises:
    ///     ExpressionError: There is no exact translation; the message says why.
    #[pyo3(signature = (dialect, *, columns=None, missing="unknown", time_zone="UTC"))]
    fn to_sql<'py>(
        &self,
        py: Python<'py>,
        dialect: &str,
        columns: Option<Bound<'py, PyAny>>,
        missing: &str,
        time_zone: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let write = py.import("tamis.sql")?.getattr("write")?;
        write.call1((self.to_json(), self.attributes(), dialect, columns, missing, time_zone))
    }

    /// The names of its attributes, in the order in which they first occur.
    #[getter]
    fn attributes(&self) -> Vec<String> {
        let mut seen = std::collections::HashSet::new();
        let mut names = Vec::new();
        for predicate in self.0.predicates().filter(|predicate| predicate.as_xpath().is_none()) {
            predicate.attributes(&mut |name| {
                if seen.insert(name.clone()) {
                    names.push(name.to_string());
                }
            });
        }
        names
    }

    /// True if both or neither of the two are.
    fn xnor(&self, other: &Bound<'_, Expression>) -> Self {
        Expression(tamis::Expression::xnor(&self.0, &other.get().0))
    }

    /// Whether it is true: `E is true`. The result is never unknown.
    fn is_true(&self, py: Python<'_>) -> PyResult<Self> {
        self.tested(py, tamis::Truth::True, false)
    }

    /// Whether it is false or unknown: `E is not true`.
    fn is_not_true(&self, py: Python<'_>) -> PyResult<Self> {
        self.tested(py, tamis::Truth::True, true)
    }

    /// Whether it is false: `E is false`.
    fn is_false(&self, py: Python<'_>) -> PyResult<Self> {
        self.tested(py, tamis::Truth::False, false)
    }

    /// Whether it is true or unknown: `E is not false`.
    fn is_not_false(&self, py: Python<'_>) -> PyResult<Self> {
        self.tested(py, tamis::Truth::False, true)
    }

    /// Whether it is unknown because a value is missing: `E is unknown`.
    fn is_unknown(&self, py: Python<'_>) -> PyResult<Self> {
        self.tested(py, tamis::Truth::Unknown, false)
    }

    /// Whether it is true or false: `E is not unknown`.
    fn is_not_unknown(&self, py: Python<'_>) -> PyResult<Self> {
        self.tested(py, tamis::Truth::Unknown, true)
    }

    fn __and__(&self, other: &Bound<'_, Expression>) -> Self {
        Expression(tamis::Expression::all([&self.0, &other.get().0]))
    }

    fn __or__(&self, other: &Bound<'_, Expression>) -> Self {
        Expression(tamis::Expression::any([&self.0, &other.get().0]))
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        loose_operand(other, "&")
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        loose_operand(other, "|")
    }

    fn __xor__(&self, other: &Bound<'_, Expression>) -> Self {
        Expression(tamis::Expression::xor(&self.0, &other.get().0))
    }

    fn __invert__(&self) -> Self {
        Expression(tamis::Expression::negate(&self.0))
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(error::no_truth())
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Expression {}>", self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let restore = slf.py().import("tamis.builder")?.getattr("_restore")?;
        Ok((restore, (slf.get().0.to_string(),)))
    }
}

impl Expression {
    fn tested(&self, py: Python<'_>, truth: tamis::Truth, negated: bool) -> PyResult<Self> {
        tamis::Expression::is(&self.0, tamis::expression::TruthTest::new(truth, negated))
            .map(Expression)
            .map_err(|error| error::raise(py, &error))
    }
}

pub fn text_of<'a>(py: Python<'_>, object: &'a Bound<'_, PyAny>, what: &str) -> PyResult<&'a str> {
    let Ok(text) = object.cast::<PyString>() else {
        let found = error::type_name(object);
        return Err(error::expression(py, &format!("{what} must be a string, not {found}")));
    };
    text.to_str().map_err(|_| {
        error::expression(py, &format!("{what} contains a lone surrogate, which is not valid Unicode"))
    })
}

fn parse_text(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    limits: &tamis::Limits,
) -> PyResult<tamis::Expression> {
    let text = text_of(py, text, "an expression's text")?;
    without_lock(py, text.len(), || tamis::parse(text, limits)).map_err(|error| error::raise(py, &error))
}

/// Runs `work`, which handles this many bytes, without the interpreter's lock; with it if there are
/// so few bytes that releasing the lock would take as long.
pub fn without_lock<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    /// Takes some tens of microseconds.
    const FEW: usize = 1 << 10;
    if bytes > FEW { py.detach(work) } else { work() }
}

/// The expression in a Python object: an `Expression`, or text.
pub fn read(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    limits: &tamis::Limits,
) -> PyResult<tamis::Expression> {
    if let Ok(expression) = object.cast::<Expression>() {
        return Ok(expression.get().0.clone());
    }
    if object.is_instance_of::<PyString>() {
        return parse_text(py, object, limits);
    }
    // An attribute of the builder without an operator.
    if let Ok(expression) = object.call_method0("__tamis_expression__") {
        return read(py, &expression, limits);
    }
    let found = error::type_name(object);
    Err(error::expression(py, &format!("an expression must be text or a tamis.Expression, not {found}")))
}

/// The result of `value & expression` for a value that is not an expression. If it is a number or a
/// text, a comparison probably lacks parentheses.
fn loose_operand(value: &Bound<'_, PyAny>, operator: &str) -> PyResult<Py<PyAny>> {
    if value::read(value).is_err() {
        return Ok(value.py().NotImplemented());
    }
    Err(pyo3::exceptions::PyTypeError::new_err(format!(
        "`{operator}` binds more tightly than comparisons; write (attr.a > 1) {operator} (attr.b == 2), with parentheses"
    )))
}
