from fakes.fixtures import ask, authority, config, environment, make_speech, prompt, serve, short_prompt

__all__ = ["ask", "authority", "config", "environment", "make_speech", "prompt", "serve", "short_prompt"]
