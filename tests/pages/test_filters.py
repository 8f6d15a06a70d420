"""Filters of templates: what is code in a sentence."""

import pytest

from askless.app.pages.plumbing.filters import mark_code


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("as `group_by` it", "as <code>group_by</code> it"),
        ("`<b>` & `c`", "<code>&lt;b&gt;</code> &amp; <code>c</code>"),
        ("a lone ` is a letter", "a lone ` is a letter"),
        ("<i>", "&lt;i&gt;"),
    ],
)
def test_words_in_backticks_are_code(text: str, inner: str) -> None:
    assert mark_code(text) == f'<bdi class="name">{inner}</bdi>'
