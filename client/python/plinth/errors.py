"""The failures of calls."""

from typing import Any


class ApiError(Exception):
    """The server has answered, and the answer is a failure or cannot be read.

    ``code`` is that of the envelope, or the HTTP status where the answer has no envelope. ``data`` holds what a program
    needs to act on the failure. ``request_id`` names the request in the log of the server.
    """

    def __init__(
        self, message: str, *, code: int, status: int, data: Any = None, request_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.data = data
        self.request_id = request_id


class ConnectionLost(Exception):
    """A stream ended before its answer was complete."""
