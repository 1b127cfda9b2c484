"""What a server asks of us, answered by our side of the connection."""

from dataclasses import dataclass

import mcp_types as types
from mcp.client.session import ClientRequestContext

from toolwright.contracts.mcp import McpFault, McpHost
from toolwright.tools.mcp.sdk import translation


@dataclass(frozen=True, slots=True)
class AskedBack:
    """The library's callbacks over one host."""

    host: McpHost

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Bring a form or an address to a person."""
        del context
        return translation.elicited(await self.host.elicit(translation.elicitation(params)))

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData:
        """Let our model go on from what a server wrote. Tools in it are not offered to the model."""
        del context
        try:
            return translation.sampled(await self.host.sample(translation.sampling_request(params)))
        except McpFault as fault:
            return types.ErrorData(code=types.INVALID_REQUEST, message=fault.message)

    async def list_roots(self, context: ClientRequestContext) -> types.ListRootsResult | types.ErrorData:
        """Name the folders that the session works in."""
        del context
        return translation.roots(self.host.roots())

    async def logged(self, params: types.LoggingMessageNotificationParams) -> None:
        """Take a line of the server's log."""
        self.host.told(translation.logged(params))

    async def notified(self, message: types.ServerNotification | Exception) -> None:
        """Take what a server tells of its own accord."""
        told = translation.news(message)
        if told is not None:
            self.host.told(told)
