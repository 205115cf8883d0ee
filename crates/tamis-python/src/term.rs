//! `tamis._tamis.Term`: the left or right side of an operator, for the builder.

use pyo3::prelude::*;

use crate::error;
use crate::expression::{Expression, text_of};
use crate::value::{self, Refusal};

/// An attribute, a constant, or a function of terms: what `tamis.attr` compares.
#[pyclass(module = "tamis._tamis", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Term(pub tamis::expression::Term);

/// The builder's limits. The index that the expression is added to checks its own.
pub fn limits() -> tamis::Limits {
    tamis::Limits { pattern: tamis::Limits::default().pattern, ..tamis::Limits::none() }
}

#[pymethods]
impl Term {
    /// An attribute by its name.
    #[staticmethod]
    fn attribute(py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<Self> {
        let name = text_of(py, name, "an attribute's name")?;
        tamis::expression::Term::attribute(name).map(Term).map_err(|error| error::raise(py, &error))
    }

    /// The element of a list, inside `any`, `all` and `none`.
    #[staticmethod]
    fn element() -> Self {
        Term(tamis::expression::Term::element())
    }

    /// A function of terms and values, named as in text; `type` is the target of `cast`.
    #[staticmethod]
    #[pyo3(signature = (function, arguments, *, r#type=None))]
    fn call(
        py: Python<'_>,
        function: &str,
        arguments: Vec<Bound<'_, PyAny>>,
        r#type: Option<&str>,
    ) -> PyResult<Self> {
        let arguments = arguments.iter().map(|argument| read(py, argument)).collect::<PyResult<Vec<_>>>()?;
        tamis::expression::Term::named(function, r#type, arguments, &limits())
            .map(Term)
            .map_err(|error| error::raise(py, &error))
    }

    /// A text in lower case, character by character.
    #[staticmethod]
    fn lower(text: &str) -> String {
        tamis::expression::lower(text)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Term {}>", self.0)
    }
}

/// The term in a Python object: a `Term`, or a value.
pub fn read(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<tamis::expression::Term> {
    if let Ok(term) = object.cast::<Term>() {
        return Ok(term.get().0.clone());
    }
    value::read(object).map(tamis::expression::Term::Constant).map_err(|refusal| match refusal {
        Refusal::Reason(reason) => error::expression(py, &reason),
        Refusal::Python(failure) => failure,
    })
}

/// Whether some, all or no elements of a list satisfy an expression.
pub fn elements(
    py: Python<'_>,
    quantifier: &str,
    list: &Term,
    inner: &Expression,
    weight: Option<f64>,
) -> PyResult<Expression> {
    let Some(quantifier) = tamis::expression::Quantifier::from_name(quantifier) else {
        return Err(error::expression(py, &format!("`{quantifier}` is not `any`, `all` or `none`")));
    };
    let tamis::expression::Term::Attribute(name) = &list.0 else {
        return Err(error::expression(py, "elements are those of an attribute"));
    };
    tamis::expression::Predicate::elements(quantifier, name, &inner.0, weight.as_slice(), &limits())
        .map(|predicate| Expression(predicate.into()))
        .map_err(|error| error::raise(py, &error))
}
