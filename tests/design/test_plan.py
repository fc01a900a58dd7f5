"""The pair design, property-tested for 3..30 configurations and 1..400 prompts."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaeval_tasks.design import DesignSettings, Range, added_wave, balance, first_wave, in_strata_order
from vaeval_tasks.design.factors import added_period, period, prompt_pairs
from vaeval_tasks.errors import InputError
from vaeval_tasks.store.schema import Condition, Pair, Prompt

CONFIGS = st.integers(3, 30).map(lambda k: [f"m{i:02d}/x/y" for i in range(k)])


@st.composite
def prompt_sets(draw: st.DrawFn) -> list[Prompt]:
    n = draw(st.integers(1, 400))
    categories, levels = draw(st.integers(1, 11)), draw(st.integers(1, 5))
    degraded = draw(st.integers(0, n // 4))
    return [
        Prompt(
            prompt_id=f"p{i:04d}",
            category=f"c{i % categories}",
            difficulty=f"L{i % levels + 1}",
            condition=Condition.far_field if i < degraded else Condition.clean,
        )
        for i in range(n)
    ]


def rates(pairs: list[Pair], configs: list[str]) -> Range:
    counts = Counter((p.a, p.b) for p in pairs)
    return Range.of(counts[two] for two in itertools.combinations(configs, 2))


@settings(max_examples=60, deadline=None)
@given(prompts=prompt_sets(), configs=CONFIGS, seed=st.integers(0, 9))
def test_every_design_is_balanced(prompts: list[Prompt], configs: list[str], seed: int) -> None:
    made = first_wave(prompts, configs, DesignSettings(seed=seed))
    k = len(configs)
    assert len(made) == len(prompts) * -(-k // 2)
    by_prompt = defaultdict(list)
    for pair in made:
        by_prompt[pair.prompt_id].append((pair.a, pair.b))
    for pairs in by_prompt.values():
        assert len(set(pairs)) == len(pairs)  # none twice on a prompt
        assert {name for two in pairs for name in two} == set(configs)  # all covered
    assert all(pair.a < pair.b for pair in made)  # no self pair
    assert len({pair.pair_id for pair in made}) == len(made)
    seen = rates(made, configs)
    assert seen.high - seen.low <= 2
    # the first slot shows each pair of configurations left and right equally often; so do two slots, exactly
    shown = balance(made, prompts)
    assert shown.side_gap <= 1
    assert set(shown.left_share.values()) == {0.5}


@settings(max_examples=60, deadline=None)
@given(prompts=prompt_sets(), configs=CONFIGS)
def test_every_stratum_sees_every_pair_about_equally_often(prompts: list[Prompt], configs: list[str]) -> None:
    made = first_wave(prompts, configs, DesignSettings())
    # A stratum is a run of neighbours. Within one block its counts differ by 2 at most, and only the block it
    # starts in and the one it ends in are cut: 4. A category is two runs: its clean and its degraded prompts.
    for name, seen in balance(made, prompts).strata.items():
        runs = {"category": 2, "degraded": 1}.get(name.split()[0])
        if runs:
            assert seen.high - seen.low <= 4 * runs, name


@pytest.mark.parametrize("k", range(3, 31))
def test_multiples_of_the_period_are_exact_and_of_k_within_one(k: int) -> None:
    names = [f"m{i:02d}" for i in range(k)]

    def spread(n: int) -> int:
        prompts = [Prompt(prompt_id=f"p{i:04d}", category="c", difficulty="L1") for i in range(n)]
        seen = rates(first_wave(prompts, names, DesignSettings()), names)
        return seen.high - seen.low

    if period(k) <= 200:
        assert spread(period(k)) == spread(2 * period(k)) == 0
    assert spread(k) <= 1
    assert spread(3 * k) <= 1


@given(prompts=prompt_sets(), configs=CONFIGS)
@settings(max_examples=20, deadline=None)
def test_the_design_depends_on_nothing_but_its_input(prompts: list[Prompt], configs: list[str]) -> None:
    made = first_wave(prompts, configs, DesignSettings(seed=3))
    assert made == first_wave(prompts[::-1], configs[::-1], DesignSettings(seed=3))


def test_another_seed_gives_another_design_of_the_same_balance(published: list[Prompt]) -> None:
    names = [f"m{i}" for i in range(7)]
    one, two = (first_wave(published, names, DesignSettings(seed=s)) for s in (1, 2))
    assert one != two
    assert balance(one, published).pair_rate == balance(two, published).pair_rate


def test_the_published_study(published: list[Prompt]) -> None:
    """819 prompts x 10 pairs = 8,190; 819 = 4 x 171 + 135, so 4 x 10 and 135 / 19 = 7.1 rounds more: 47 to 49."""
    names = [f"m{i:02d}" for i in range(19)]
    made = first_wave(published, names, DesignSettings())
    seen = balance(made, published)
    assert len(published) == 819
    assert len(made) == 8190
    assert seen.tasks == 16380
    assert (seen.pair_rate.low, seen.pair_rate.high) == (47, 49)
    assert sum(map(sum, seen.matrix)) == 2 * 8190
    assert (min(seen.appearances.values()), max(seen.appearances.values())) == (862, 863)
    assert seen.uncovered == {}
    # random matchings give 0-7 on the degraded set, 2-18 on a level and 0-13 on a category (collect.md 5.2)
    assert (seen.strata["degraded"].low, seen.strata["degraded"].high) == (2, 4)
    for name, low, high in (("level", 6, 13), ("category", 3, 7)):
        found = [r for key, r in seen.strata.items() if key.startswith(name)]
        assert min(r.low for r in found) >= low
        assert max(r.high for r in found) <= high


def test_strata_order_puts_the_degraded_set_last(published: list[Prompt]) -> None:
    order = in_strata_order(published)
    assert all(p.condition is not Condition.clean for p in order[-45:])
    core = [(p.category, p.difficulty) for p in order[:-45]]
    assert core == sorted(core)


@settings(max_examples=60, deadline=None)
@given(prompts=prompt_sets(), configs=st.integers(2, 22), new=st.integers(1, 6))
def test_a_further_wave_adds_only_the_new(prompts: list[Prompt], configs: int, new: int) -> None:
    old = [f"m{i:02d}" for i in range(configs)]
    added = [f"a{i:02d}" for i in range(new)]
    first = first_wave(prompts, old, DesignSettings())
    wave = added_wave(first, prompts, old + added, DesignSettings())
    assert {p.wave for p in wave} == {2}
    assert all(set(added) & {p.a, p.b} for p in wave)
    assert len({p.pair_id for p in [*first, *wave]}) == len(first) + len(wave)
    by_prompt = defaultdict(list)
    for pair in wave:
        by_prompt[pair.prompt_id].append((pair.a, pair.b))
    assert len(by_prompt) == len(prompts)
    for pairs in by_prompt.values():
        assert len(set(pairs)) == len(pairs)
        standing = Counter(name for two in pairs for name in two if name in added)
        assert set(standing) == set(added)
        assert len(pairs) <= new
        assert max(standing.values()) == 1 or (new % 2 == 1 and Counter(standing.values())[2] == 1)
    seen = balance([*first, *wave], prompts).added_rate
    assert seen.high - seen.low <= 2
    assert balance(wave, prompts).side_gap <= 1


def test_one_configuration_added_to_the_published_study(published: list[Prompt]) -> None:
    """819 prompts over 19 opponents: 43 or 44 each (43 x 19 = 817)."""
    old = [f"m{i:02d}" for i in range(19)]
    first = first_wave(published, old, DesignSettings())
    wave = added_wave(first, published, [*old, "zz"], DesignSettings())
    assert len(wave) == 819
    seen = balance([*first, *wave], published)
    assert (seen.added_rate.low, seen.added_rate.high) == (43, 44)
    assert (seen.pair_rate.low, seen.pair_rate.high) == (47, 49)
    third = added_wave([*first, *wave], published, [*old, "zz", "zy"], DesignSettings())
    assert {p.wave for p in third} == {3}
    assert all("zy" in (p.a, p.b) for p in third)


def test_periods_by_hand() -> None:
    assert (period(3), period(4), period(19), period(20)) == (3, 3, 171, 19)
    assert (added_period(19, 1), added_period(19, 2), added_period(19, 3)) == (19, 20, 22 * 20)
    # K = 5, prompt 1: r = 1 leaves out 1: {2, 0}, {3, 4}; d = 1: (1, 2)
    assert {frozenset(p) for p in prompt_pairs(5, 1)} == {frozenset(p) for p in ((2, 0), (3, 4), (1, 2))}


@pytest.mark.parametrize(
    ("names", "n", "message"),
    [(["a"], 1, "two configurations"), (["a", "b", "a"], 1, "named twice"), (["a", "b"], 0, "at least one prompt")],
)
def test_impossible_designs_are_refused(names: list[str], n: int, message: str) -> None:
    prompts = [Prompt(prompt_id=f"p{i}", category="c", difficulty="L1") for i in range(n)]
    with pytest.raises(InputError, match=message):
        first_wave(prompts, names, DesignSettings())


def test_a_prompt_named_twice_and_a_wave_of_nothing_are_refused() -> None:
    prompt = Prompt(prompt_id="p", category="c", difficulty="L1")
    with pytest.raises(InputError, match="'p' is named twice"):
        first_wave([prompt, prompt], ["a", "b"], DesignSettings())
    first = first_wave([prompt], ["a", "b"], DesignSettings())
    with pytest.raises(InputError, match="none to add"):
        added_wave(first, [prompt], ["a", "b"], DesignSettings())


@pytest.mark.parametrize(
    "wrong", [{"raters_per_pair": 0}, {"repeat_share": 1.5}, {"check_every": -1}, {"training": -1}]
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        DesignSettings(**wrong)  # type: ignore[arg-type]
