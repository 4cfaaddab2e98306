"""The tests of the Python package: `python3 -m unittest discover -s bindings-python/tests -t bindings-python`."""
import signal

# A shell without job control starts its background jobs with this signal ignored, and Python then leaves it so: a test that
# interrupts itself would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
