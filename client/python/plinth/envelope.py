"""Answers as the generated functions expect them: without their envelope."""

import json
from typing import Any

import httpx

from .errors import ApiError


class EnvelopeTransport(httpx.BaseTransport):
    """Unwraps ``{code, msg, data}`` and raises ApiError for a failure. Streams pass as they are."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._inner.handle_request(request)
        kind = response.headers.get("content-type", "")
        if kind.startswith("text/event-stream"):
            return response
        response.read()
        if not kind.startswith("application/json"):
            if response.status_code >= 400:
                raise failure(response, response.status_code, f"The server answered HTTP {response.status_code}.")
            return response
        contents = contents_of(response, json.loads(response.content))
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in BODY_HEADERS]
        return httpx.Response(response.status_code, headers=headers, json=contents, request=request)

    def close(self) -> None:
        self._inner.close()


# They describe the bytes that the new body replaces.
BODY_HEADERS = ("content-length", "content-encoding", "transfer-encoding")


def contents_of(response: httpx.Response, body: Any) -> Any:
    """``data`` where it stands alone, otherwise the fields beside ``code`` and ``msg``."""
    if not isinstance(body, dict) or not isinstance(body.get("code"), int) or "msg" not in body:
        if response.status_code >= 400:
            raise failure(response, response.status_code, json.dumps(body)[:500])
        return body
    if body["code"] != 200 or response.status_code >= 300:
        raise failure(response, body["code"], body["msg"], body.get("data"))
    fields = {name: value for name, value in body.items() if name not in ("code", "msg")}
    return fields["data"] if list(fields) == ["data"] else fields


def failure(response: httpx.Response, code: int, message: str, data: Any = None) -> ApiError:
    request_id = response.headers.get("x-request-id")
    return ApiError(message, code=code, status=response.status_code, data=data, request_id=request_id)
