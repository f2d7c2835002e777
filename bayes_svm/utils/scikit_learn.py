"""Names of scikit-learn that it does not call public: the only file to mend when one of them moves."""

from collections.abc import Callable
from functools import cache, wraps
from importlib.metadata import PackageNotFoundError, metadata
from inspect import signature
from typing import Any, TypeVar

from sklearn.base import _fit_context
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils._set_output import _get_adapter_from_container as get_adapter_from_container
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.multiclass import _ovr_decision_function as ovr_decision_function
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "BaseSearchCV",
    "FixedParameters",
    "HasMethods",
    "Interval",
    "LinkedToItsPage",
    "RealNotInt",
    "StrOptions",
    "check_matplotlib_support",
    "check_method_params",
    "check_sample_weight",
    "fit_context",
    "get_adapter_from_container",
    "num_samples",
    "ovr_decision_function",
    "routing_enabled",
    "safe_indexing",
    "safe_split",
    "validate_parameter_constraints",
    "validate_params",
]


Fit = TypeVar("Fit", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Fit], Fit]:
    """scikit-learn's decorator of ``fit``. A fit that fails or is stopped leaves the estimator as it was."""

    def decorated(fit: Fit) -> Fit:
        checked = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)(fit)

        @wraps(fit)
        def fit_or_nothing(estimator: Any, *arguments: Any, **options: Any) -> Any:
            before = vars(estimator).copy()
            try:
                return checked(estimator, *arguments, **options)
            except BaseException:
                vars(estimator).clear()
                vars(estimator).update(before)
                raise

        return fit_or_nothing  # type: ignore[return-value]

    return decorated


class FixedParameters:
    """Estimators whose signature is inspected once, and whose defaults are valid by the tests.

    To inspect it again, and to validate the defaults, takes a tenth of a small fit.
    """

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        return super()._get_param_names()  # type: ignore[misc]

    @classmethod
    @cache
    def _defaults(cls) -> dict[str, Any]:
        return {name: parameter.default for name, parameter in signature(cls).parameters.items()}

    def _validate_params(self: Any) -> None:
        defaults = self._defaults()
        given = {name: getattr(self, name) for name in self._get_param_names()}
        validate_parameter_constraints(
            self._parameter_constraints,
            {name: value for name, value in given.items() if value is not defaults[name]},
            caller_name=type(self).__name__,
        )


@cache
def _documentation() -> str:
    """Address of the documentation, as the metadata of the installed package have it; "" if there is none."""
    try:
        addresses = metadata("bayes-svm").get_all("Project-URL") or []
    except PackageNotFoundError:  # a checkout that is not installed
        return ""
    return dict(line.split(", ", 1) for line in addresses).get("Documentation", "")


class LinkedToItsPage:
    """Estimators whose HTML links to their page of the documentation, if its address is known.

    scikit-learn asks an estimator for ``_get_doc_link``. For a class of a user that is derived from one of
    ours, and thus of another module than ``_doc_link_module``, it shows no link.
    """

    _doc_link_module = "bayes_svm"

    @property
    def _doc_link_template(self) -> str:
        return _documentation() + "/reference/generated/bayes_svm.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}

    def _get_doc_link(self) -> str:
        return super()._get_doc_link() if _documentation() else ""  # type: ignore[misc]
