"""How bytes travel to a provider and back: WebSocket, HTTP, event streams, signatures, and what is kept of them."""
