"""A REST client on one connection: cli.py COUNT SLEEP_MS PATH [POST_BYTES]. It sleeps after each answer."""
import http.client, os, sys, time
count, sleep, path = int(sys.argv[1]), float(sys.argv[2]) / 1000, sys.argv[3]
body = b"y" * int(sys.argv[4]) if len(sys.argv) > 4 else None
c = http.client.HTTPConnection(os.environ["PIPEFILL_SERVER"], 8000)
total = 0
for n in range(count):
    if n and sleep: time.sleep(sleep)
    c.request("POST" if body else "GET", path, body=body)
    total += len(c.getresponse().read())
print("received", total)
