"""The embedded sample data set, in the schema and layout of the Hub data set."""
