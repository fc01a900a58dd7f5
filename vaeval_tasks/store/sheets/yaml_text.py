"""YAML in which no mapping may have a key twice; PyYAML would take the last one without a word."""

from __future__ import annotations

from typing import Any

import yaml

from vaeval_tasks.store.sheets.cell_values import Twice, once

__all__ = ["parse_yaml"]


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses a key that is there twice."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    own = [key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
    once((loader.construct_object(key, deep=True), None) for key in own)
    loader.flatten_mapping(node)  # what is merged in may be overridden
    return {loader.construct_object(k, deep=True): loader.construct_object(v, deep=True) for k, v in node.value}


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def parse_yaml(text: str) -> Any:
    """Return what a YAML text holds.

    Raises:
        ValueError: it is not YAML, or a mapping has a key twice.
    """
    try:
        return yaml.load(text, _Loader)  # noqa: S506 (it is a safe loader)
    except Twice:
        raise
    except (yaml.YAMLError, TypeError) as error:  # a list as a key is a TypeError
        raise ValueError(str(error)) from None
