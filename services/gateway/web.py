"""The web application: which address does what."""

from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from okey_runtime.readiness import Readiness
from okey_runtime.status import platform_version
from services.gateway.answers import answer, refusal
from services.gateway.calls import call, sign_in
from services.gateway.failures import failure_for
from services.gateway.guard import HEADERS, HTTPS_ONLY, Guard
from services.gateway.guests import Guests
from services.gateway.origins import Origins
from services.gateway.page_files import PAGE, index_html, page_build
from services.gateway.session import Session, Shared

_LANGUAGES: Final = ("tr", "de", "en")


def make_web(
    shared: Shared,
    guests: Guests | None,
    readiness: Readiness,
    origins: Origins,
    *,
    requests_per_address: int,
    is_https: bool,
) -> Starlette:
    """The app; ``guests`` is None where nobody may play without an identity provider."""
    headers = {**HEADERS, **(HTTPS_ONLY if is_https else {})}

    async def unexpected(request: Request, error: Exception) -> Response:
        """An error that nobody expected; this is the outermost place, so the headers are added
        here.
        """
        response = refusal(failure_for(error))
        response.headers.update(headers)
        return response

    async def page(request: Request) -> Response:
        return HTMLResponse(index_html())

    async def config(request: Request) -> Response:
        return answer(
            {
                "has_guests": guests is not None,
                "languages": _LANGUAGES,
                "version": platform_version(),
                "page_build": page_build(),
                "server_time_ms": shared.clock.now_ms(),
            }
        )

    async def health(request: Request) -> Response:
        return Response(status_code=200 if readiness.is_ready else 503)

    async def guest(request: Request) -> Response:
        return await sign_in(request, guests, shared.callers)

    async def rpc(request: Request) -> Response:
        return await call(request, shared.client, shared.callers, shared.gate)

    async def socket(connection: WebSocket) -> None:
        await connection.accept()
        await Session(connection, shared).run()

    return Starlette(
        routes=[
            Route("/", page),
            Route("/table/{table_id}", page),
            Route("/invite/{table_id}", page),
            Mount("/static", StaticFiles(directory=PAGE, check_dir=False)),
            Route("/config.json", config),
            Route("/health", health),
            Route("/session/guest", guest, methods=["POST"]),
            Route("/rpc/{service}/{method}", rpc, methods=["POST"]),
            WebSocketRoute("/ws", socket),
        ],
        middleware=[
            Middleware(
                Guard, origins=origins, most_per_address=requests_per_address, headers=headers
            )
        ],
        exception_handlers={Exception: unexpected},
    )
