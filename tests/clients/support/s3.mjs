// A signer of S3 URLs that shares no code with the registry's, for access without the registry.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
import { createHash, createHmac } from "node:crypto";

const hmac = (key, text) => createHmac("sha256", key).update(text).digest();

/** Returns the URL that allows `method` on `key` for a minute. */
export function presignedUrl(s3, { method, key }) {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const day = time.slice(0, 8);
  const scope = [day, s3.region, "s3", "aws4_request"];
  const url = new URL(`${s3.endpoint}/${s3.bucket}/${key}`);
  const query = {
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": [s3.accessKeyId, ...scope].join("/"),
    "X-Amz-Date": time,
    "X-Amz-Expires": "60",
    "X-Amz-SignedHeaders": "host",
  };
  url.search = Object.entries(query).map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
  const request = [method, url.pathname, url.search.slice(1), `host:${url.host}\n`, "host", "UNSIGNED-PAYLOAD"].join("\n");
  const digest = createHash("sha256").update(request).digest("hex");
  const toSign = ["AWS4-HMAC-SHA256", time, scope.join("/"), digest].join("\n");
  const signingKey = scope.reduce(hmac, `AWS4${s3.secretAccessKey}`);
  return `${url}&X-Amz-Signature=${hmac(signingKey, toSign).toString("hex")}`;
}
