"""A REST client on one connection: eight small answers, then one of 60 kB."""
import http.client, os
c = http.client.HTTPConnection(os.environ["PIPEFILL_SERVER"], 8000)
for path in ["/get/700/0"] * 8 + ["/get/60000/0"]:
    c.request("GET", path)
    c.getresponse().read()
