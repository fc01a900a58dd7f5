"""Which configurations meet on which prompt, as whole numbers: cyclic (near-)1-factorisations.

For an odd number K of configurations the near-factor ``r`` is the (K-1)/2 disjoint pairs {r+i, r-i} mod K;
it leaves out ``r``, which meets ``r + d`` besides. For an even K the near-factor of K-1 is completed by
(r, K-1). So a prompt has ceil(K/2) pairs, covers every configuration, and shows no pair twice.

Source: the round-robin construction (Kirkman 1847); for 19 configurations and its counts ``collect.md`` 5.2.
"""

from __future__ import annotations

from vaeval_tasks.errors import InputError

__all__ = ["added_pairs", "added_period", "period", "prompt_pairs"]

IndexPair = tuple[int, int]


def period(k: int) -> int:
    """Return after how many prompts every pair of ``k`` configurations was shown equally often.

    K(K-1)/2 for an odd K (every pair (K+1)/2 times), K-1 for an even one (every pair once).

    Raises:
        InputError: there are fewer than two configurations.
    """
    if k < 2:
        raise InputError(f"a pair design needs two configurations or more, got {k}")
    return k * (k - 1) // 2 if k % 2 else k - 1


def _near_factor(k: int, r: int) -> list[IndexPair]:
    """Return the disjoint pairs of an odd ``k`` that leave out ``r``."""
    return [((r + i) % k, (r - i) % k) for i in range(1, (k - 1) // 2 + 1)]


def prompt_pairs(k: int, t: int) -> list[IndexPair]:
    """Return the pairs of prompt number ``t`` (from 0) among ``k`` configurations.

    Any run of prompts from 0 shows every pair equally often within 2; within 1 at multiples of K (odd)
    or at any length (even); exactly at multiples of :func:`period`.
    """
    if k % 2 == 0:
        r = t % (k - 1)
        return [*_near_factor(k - 1, r), (r, k - 1)]
    r = t % k
    d = (t // k) % ((k - 1) // 2) + 1
    return [*_near_factor(k, r), (r, (r + d) % k)]


def _rounds(n: int) -> int:
    """Return how many rounds ``n`` added configurations need to meet each other once."""
    return n if n % 2 and n > 1 else n - 1


def added_period(old: int, new: int) -> int:
    """Return after how many prompts every added configuration met each other one, old and new, equally often."""
    turn = old + _rounds(new)
    return turn * (old + new // 2) if new % 2 and new > 1 else turn


def added_pairs(old: int, new: int, t: int) -> list[IndexPair]:
    """Return the pairs of prompt ``t`` in a wave that adds ``new`` configurations to ``old`` ones.

    Configurations 0..old-1 are the old ones. A turn is ``old`` prompts on which the added ones meet rotating
    old opponents, then the rounds in which they meet each other; of an odd number one is left over, and
    meets another opponent each turn. Pairs of two old ones, which the first wave holds, are not shown again.
    """
    turn, step = divmod(t, old + _rounds(new))
    if step < old:
        return [((step + j) % old, old + j) for j in range(new)]
    r = step - old
    if new % 2 == 0:
        return [(old + i, old + j) for i, j in prompt_pairs(new, r)]
    extra = turn % (old + new // 2)
    opponent = (extra + r) % old if extra < old else old + (r + extra - old + 1) % new
    return [(opponent, old + r), *((old + i, old + j) for i, j in _near_factor(new, r))]
