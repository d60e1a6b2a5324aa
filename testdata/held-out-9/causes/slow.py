"""A report of WSGI that takes its time: THINK seconds in the environment."""
import os, time
def app(request, start):
    time.sleep(float(os.environ["THINK"]))
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "3300")])
    return [b"r" * 3300]
