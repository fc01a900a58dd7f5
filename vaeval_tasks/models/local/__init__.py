"""Speech systems that run on this machine, in this process or as programs of their own."""
