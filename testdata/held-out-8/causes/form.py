"""A form of WSGI: it reads what was sent, and answers how much it was."""
def app(request, start):
    answer = b"%d\n" % len(request["wsgi.input"].read())
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(answer)))])
    return [answer]
