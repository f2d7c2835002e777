"""Exact leave-one-out values of support vector machines."""

from bayes_svm.leave_one_out.api import (
    leave_one_out,
    read_machine,
    warn_if_inexact,
    whole_readings,
)
from bayes_svm.leave_one_out.result import LeaveOneOut, by_row

__all__ = ["LeaveOneOut", "by_row", "leave_one_out", "read_machine", "warn_if_inexact", "whole_readings"]
