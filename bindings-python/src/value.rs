//! What all value classes have in common: immutable, compared by their fields, shown as they are written, copied and
//! pickled by their own constructors.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::argument::Field;

/// `Name(field='value', ...)`, as it would be written to make one.
pub(crate) fn repr(value: &Bound<'_, PyAny>, fields: &[&str]) -> PyResult<String> {
    let mut text = value.get_type().name()?.to_string();
    text.push('(');
    for (position, field) in fields.iter().enumerate() {
        let separator = if position == 0 { "" } else { ", " };
        text.push_str(&format!("{separator}{field}={}", value.getattr(*field)?.repr()?.to_cow()?));
    }
    text.push(')');
    Ok(text)
}

/// Equal to another of exactly the same class whose fields are equal.
pub(crate) fn equal(value: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>, fields: &[&str]) -> PyResult<bool> {
    Ok(value.get_type().is(other.get_type()) && tuple(value, fields)?.eq(tuple(other, fields)?)?)
}

/// As the tuple of the fields.
pub(crate) fn hash(value: &Bound<'_, PyAny>, fields: &[&str]) -> PyResult<isize> {
    tuple(value, fields)?.hash()
}

/// The arguments with which `copy` and `pickle` make the same value again.
pub(crate) fn arguments<'py>(
    value: &Bound<'py, PyAny>,
    fields: &[&str],
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
    let keywords = PyDict::new(value.py());
    for field in fields {
        keywords.set_item(field, value.getattr(*field)?)?;
    }
    Ok((PyTuple::empty(value.py()), keywords))
}

fn tuple<'py>(value: &Bound<'py, PyAny>, fields: &[&str]) -> PyResult<Bound<'py, PyTuple>> {
    let items = fields.iter().map(|field| value.getattr(*field)).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(value.py(), items)
}

/// A list of the core as a field: a tuple, because values do not change.
#[derive(Clone, Debug)]
pub(crate) struct Listed<T>(pub(crate) Vec<T>);

impl<'a, 'py, T> IntoPyObject<'py> for &'a Listed<T>
where
    &'a T: IntoPyObject<'py>,
{
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr = pyo3::type_hint_subscript!(
        pyo3::type_hint_identifier!("builtins", "tuple"),
        <&'a T as IntoPyObject<'py>>::OUTPUT_TYPE,
        pyo3::inspect::PyStaticExpr::Constant { value: pyo3::inspect::PyStaticConstant::Ellipsis }
    );

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        PyTuple::new(py, &self.0)
    }
}

impl<T: Field> Field for Listed<T> {
    type Argument = Vec<T::Argument>;

    fn of(argument: Self::Argument) -> Self {
        Listed(argument.into_iter().map(T::of).collect())
    }
}

/// Declares a value class: a struct whose fields are its attributes and its constructor's keyword arguments, and
/// after it any further methods. `in "gallivant.module";` before it names another module than the package.
macro_rules! value {
    (
        $(#[$doc:meta])*
        $name:ident { $($fields:tt)* }
        $($method:tt)*
    ) => {
        $crate::value::value! { in "gallivant"; $(#[$doc])* $name { $($fields)* } $($method)* }
    };
    (
        in $module:tt;
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty $(= $default:tt)?,)+
        }
        $($method:tt)*
    ) => {
        $(#[$doc])*
        #[pyo3::pyclass(frozen, get_all, module = $module)]
        #[derive(Debug)]
        pub(crate) struct $name {
            $($(#[$field_doc])* pub(crate) $field: $type,)+
        }

        impl $name {
            pub(crate) const FIELDS: &'static [&'static str] = &[$(stringify!($field)),+];
        }

        #[pyo3::pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (*, $($field $(= $default)?),+))]
            #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
            fn new($($field: <$type as $crate::argument::Field>::Argument),+) -> Self {
                $name { $($field: $crate::argument::Field::of($field)),+ }
            }

            $($method)*

            fn __repr__(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<String> {
                $crate::value::repr(slf.as_any(), Self::FIELDS)
            }

            fn __eq__(slf: &pyo3::Bound<'_, Self>, other: &pyo3::Bound<'_, pyo3::PyAny>) -> pyo3::PyResult<bool> {
                $crate::value::equal(slf.as_any(), other, Self::FIELDS)
            }

            fn __hash__(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<isize> {
                $crate::value::hash(slf.as_any(), Self::FIELDS)
            }

            #[pyo3(signature = () -> "tuple[tuple[()], dict[str, object]]")]
            fn __getnewargs_ex__<'py>(
                slf: &pyo3::Bound<'py, Self>,
            ) -> pyo3::PyResult<(pyo3::Bound<'py, pyo3::types::PyTuple>, pyo3::Bound<'py, pyo3::types::PyDict>)> {
                $crate::value::arguments(slf.as_any(), Self::FIELDS)
            }
        }
    };
}
pub(crate) use value;
