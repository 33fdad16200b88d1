"""An S3-compatible store for tests, in memory: moto, with one request at a time, so that the conditions of writes are atomic.

Listens on a free port of this machine, creates the buckets named by the arguments, and prints the port.
"""

import io
import sys
import threading
from wsgiref.util import setup_testing_defaults

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

application = DomainDispatcherApplication(create_backend_app)
one_at_a_time = threading.Lock()


def serve(environ, start_response):
    with one_at_a_time:
        response = application(environ, start_response)
        try:
            return [b"".join(response)]
        finally:
            if hasattr(response, "close"):
                response.close()


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_):
        pass


def create(bucket):
    environ = {"REQUEST_METHOD": "PUT", "PATH_INFO": f"/{bucket}", "wsgi.input": io.BytesIO()}
    environ["HTTP_AUTHORIZATION"] = "AWS4-HMAC-SHA256 Credential=id/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
    setup_testing_defaults(environ)
    b"".join(application(environ, lambda *_: None))


for name in sys.argv[1:]:
    create(name)
server = make_server("127.0.0.1", 0, serve, threaded=True, request_handler=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
