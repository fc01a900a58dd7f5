"""The pair design: which two configurations are compared on which prompt, by how many raters, on which side."""

from vaeval_tasks.design.balance import Balance, Range, balance
from vaeval_tasks.design.checks import Checks, check_pairs, repeat_pairs, training_pairs
from vaeval_tasks.design.expect import Expectation, expectation
from vaeval_tasks.design.plan import GENERATOR, DesignSettings, added_wave, first_wave, in_strata_order, stratum

__all__ = [
    "GENERATOR",
    "Balance",
    "Checks",
    "DesignSettings",
    "Expectation",
    "Range",
    "added_wave",
    "balance",
    "check_pairs",
    "expectation",
    "first_wave",
    "in_strata_order",
    "repeat_pairs",
    "stratum",
    "training_pairs",
]
