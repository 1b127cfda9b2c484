"""Models that can be named: those of the server's settings."""

from typing import Any, Final, Literal

from pydantic import Field

from toolwright.surfaces.http.managed.pages import Written
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Query, Route, Shape, Visit
from toolwright.wiring.model_names import nameable


class ModelQuery(Query):
    limit: int = Field(20, ge=1, le=1_000)
    after_id: str | None = None
    before_id: str | None = None


class ModelListed(Shape):
    """A model."""

    id: str
    type: Literal["model"] = "model"
    display_name: str
    created_at: Written
    lifecycle: Literal["active", "deprecated", "retired"] = "active"
    capabilities: dict[str, Any] | None = None
    line: str | None = None
    max_input_tokens: int | None = None
    max_tokens: int | None = None
    deprecated_at: Written | None = None
    retires_at: Written | None = None
    allowed_fallback_models: list[str] | None = None


class ModelPage(Shape):
    """A part of the list."""

    data: list[ModelListed]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None


async def list_models(visit: Visit) -> dict[str, Any]:
    """List models by name."""
    asked = visit.query(ModelQuery)
    names = [name for name in nameable(visit.house.loaded) if _between(name, asked)]
    part = names[-asked.limit :] if asked.before_id else names[: asked.limit]
    return {
        "data": [_shown(name) for name in part],
        "has_more": len(names) > len(part),
        "first_id": part[0] if part else None,
        "last_id": part[-1] if part else None,
    }


def _between(name: str, asked: ModelQuery) -> bool:
    after, before = asked.after_id, asked.before_id
    return (after is None or name > after) and (before is None or name < before)


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return a model."""
    name = visit.path("model_id")
    if name not in nameable(visit.house.loaded):
        raise Problem("not_found", f"There is no model {name[:80]} in the settings of this server.")
    return _shown(name)


def _shown(name: str) -> dict[str, Any]:
    model = ModelListed(id=name, display_name=name, created_at=written_time(0.0))
    return model.model_dump()


ROUTES: Final = (
    Route(
        method="GET", path="/v1/models", handler=list_models, summary="List models", group="models",
        query=ModelQuery, returns=ModelPage,
    ),
    Route(
        method="GET", path="/v1/models/{model_id:path}", handler=retrieve, summary="Get a model",
        group="models", returns=ModelListed,
    ),
)  # fmt: skip
