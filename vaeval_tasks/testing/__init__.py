"""Public fakes of the providers' protocols, for the tests of whoever writes an adapter."""
