"""Whether a site wants its pages fetched by programs: ``robots.txt``."""

from urllib.robotparser import RobotFileParser

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, JudgedUrl, WebRequest, WebResponse
from toolwright.tools.web_cache import WebCache
from toolwright.workspaces.urls import judged

AGENT = "toolwright"
MOST_BYTES = 500 * 1024


async def welcome(url: JudgedUrl, egress: Egress, cache: WebCache) -> bool:
    """Whether the site's ``robots.txt`` lets this page be fetched. No such file means yes; a site that
    fails to say means no."""
    place = judged(url.scheme, url.host, url.port, "/robots.txt").url
    answer = cache.get(place)
    if answer is None:
        try:
            answer = await egress.send(WebRequest(url=place, max_bytes=MOST_BYTES))
        except ToolFailure as failed:
            if failed.code in {"network_error", "timeout"}:
                return False
            raise
        cache.put(place, answer)
    return _permits(answer, url)


def _permits(answer: WebResponse, url: JudgedUrl) -> bool:
    if answer.status >= 500:
        return False
    if answer.status != 200:
        return True
    rules = RobotFileParser()
    rules.parse(answer.body.decode("utf-8", errors="replace").splitlines())
    return rules.can_fetch(AGENT, url.url)
