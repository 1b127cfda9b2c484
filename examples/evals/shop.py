"""The tools that the evals in this folder are about."""

from toolwright import tool

STOCK = {"lamp": 3, "chair": 0}


@tool(read_only=True)
def stock(article: str) -> int:
    """Say how many pieces of an article are in stock. Use it before an order is promised.

    Args:
        article: The name of the article, in the singular, such as "lamp".
    """
    return STOCK.get(article, 0)


@tool
def order(article: str, pieces: int) -> str:
    """Order pieces of an article for the customer. Do not use it for what is not in stock.

    Args:
        article: The name of the article, in the singular, such as "lamp".
        pieces: How many.
    """
    return f"ordered: {pieces} x {article}"
