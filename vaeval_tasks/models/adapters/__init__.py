"""One file a protocol: a configuration and a conversation become requests, and events become a reply."""
