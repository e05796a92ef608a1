"""One server and one caller."""

import json
from collections.abc import Iterator
from typing import Any

import httpx

from .envelope import EnvelopeTransport, contents_of
from .errors import ApiError, ConnectionLost
from .generated import Client


class Plinth:
    """Calls a server with an API key, or with the token of a sign-in and the id of its client.

    ``client`` is what the generated functions below ``plinth.generated.api`` take. ``timeout`` is in seconds and holds for
    the connection and for each silence of an answer. Use it as a context manager, or call ``close``.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        token: str | None = None,
        client_id: str | None = None,
        language: str = "en",
        timeout: float = 120,
    ) -> None:
        headers = {"Accept-Language": language}
        bearer = api_key or token
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        if client_id:
            headers["Clientid"] = client_id
        self.client = Client(
            base_url=base_url.rstrip("/"),
            headers=headers,
            timeout=httpx.Timeout(timeout),
            raise_on_unexpected_status=True,
            httpx_args={"transport": EnvelopeTransport(httpx.HTTPTransport())},
        )

    def stream_chat(self, **body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """Sends a message (the body of ``POST /chat/send``) and yields its events, name and data, up to ``done``.

        Raises ApiError for a refusal and a failed turn, and ConnectionLost where the stream ends before ``done``. Leaving
        the loop closes the connection, which stops the turn.
        """
        http = self.client.get_httpx_client()
        headers = {"Accept": "text/event-stream"}
        with http.stream("POST", "/chat/send", json=body, headers=headers) as response:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                response.read()
                contents_of(response, response.json())
                raise ConnectionLost("The server answered without a stream.")
            name = "message"
            for line in response.iter_lines():
                if line.startswith("event:"):
                    name = line[6:].strip()
                elif line.startswith("data:"):
                    data = json.loads(line[5:])
                    if name == "error":
                        request_id = response.headers.get("x-request-id")
                        code = data.get("code", 500)
                        raise ApiError(
                            data["error"], code=code, status=200, data=data.get("data"), request_id=request_id
                        )
                    if not name.startswith("["):
                        yield name, data
                    if name == "done":
                        return
        raise ConnectionLost("The connection was lost before the answer was complete.")

    def close(self) -> None:
        self.client.get_httpx_client().close()

    def __enter__(self) -> "Plinth":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
