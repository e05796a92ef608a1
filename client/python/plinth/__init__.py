"""The API of Plinth for Python: a function for each operation, and the reader of a chat's stream."""

from .caller import Plinth
from .errors import ApiError, ConnectionLost

__all__ = ["ApiError", "ConnectionLost", "Plinth"]
