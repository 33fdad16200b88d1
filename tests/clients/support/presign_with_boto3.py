"""Reads {"s3", "method", "key", "lifetime", "headers", "time"} on standard input and prints the URL that boto3 makes of it."""

import datetime
import json
import sys

import boto3
import botocore.auth
import botocore.signers
from botocore.config import Config

PARAMETERS = {
    "content-type": "ContentType",
    "if-none-match": "IfNoneMatch",
    "x-amz-checksum-sha256": "ChecksumSHA256",
}

wanted = json.load(sys.stdin)
s3 = wanted["s3"]
now = datetime.datetime.strptime(wanted["time"], "%Y%m%dT%H%M%SZ")
botocore.auth.get_current_datetime = lambda *args, **kwargs: now

client = boto3.client(
    "s3",
    endpoint_url=s3["endpoint"],
    region_name=s3["region"],
    aws_access_key_id=s3["accessKeyId"],
    aws_secret_access_key=s3["secretAccessKey"],
    config=Config(
        signature_version="s3v4",
        s3={"addressing_style": "path"},
        request_checksum_calculation="when_required",
    ),
)
parameters = {PARAMETERS[name]: value for name, value in wanted["headers"].items() if name in PARAMETERS}
more = {name: value for name, value in wanted["headers"].items() if name not in PARAMETERS}
request_of = botocore.signers.create_request_object


def with_more_headers(request):
    request["headers"].update(more)
    return request_of(request)


botocore.signers.create_request_object = with_more_headers
operation = {"GET": "get_object", "PUT": "put_object"}[wanted["method"]]
print(
    client.generate_presigned_url(
        operation,
        Params={"Bucket": s3["bucket"], "Key": wanted["key"], **parameters},
        ExpiresIn=wanted["lifetime"],
    )
)
