"""Which objects a list or a watch wants: by label and by field."""

from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.fields import FieldSelector
from proreus.api.selectors.labels import LabelSelector

__all__ = ["FieldSelector", "LabelSelector", "SelectorError"]
