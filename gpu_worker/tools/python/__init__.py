"""Tools written as a Python function in the page: sandboxed, with a schema made from the signature."""
