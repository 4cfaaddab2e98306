"""The tests of the Python package: `python3 -m unittest discover -s bindings-python/tests -t bindings-python`."""
