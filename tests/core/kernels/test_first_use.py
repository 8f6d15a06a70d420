"""Names that only training needs come at their first use, each from its own file."""

import pytest

from askless.core import kernels


@pytest.mark.parametrize("name", sorted(kernels.MODULES))
def test_name_comes_from_the_file_that_defines_it(name):
    defined = getattr(kernels, name)
    module = f"askless.core.kernels.{kernels.MODULES[name]}"

    assert getattr(defined, "__module__", module) in (module, "builtins")
    assert vars(kernels)[name] is defined


def test_unknown_name_is_refused_as_by_any_module():
    with pytest.raises(AttributeError, match="has no attribute 'boost_forests'"):
        kernels.boost_forests  # noqa: B018 - to read it is the test
