// Converts the text of a .proto file into the form of service definition that the gRPC library needs.

import { status } from "@grpc/grpc-js";
import protobuf from "protobufjs";

/** Returns the definition of a service of unary calls. Messages are plain objects with the .proto file's field names. */
export function rpcService(protoText, serviceName) {
  const { root } = protobuf.parse(protoText, { keepCase: true });
  root.resolveAll();
  const methods = root.lookupService(serviceName).methodsArray.map((method) => [
    method.name,
    {
      path: `/${serviceName}/${method.name}`,
      requestStream: false,
      responseStream: false,
      ...codec("request", method.resolvedRequestType),
      ...codec("response", method.resolvedResponseType),
    },
  ]);
  return Object.fromEntries(methods);
}

function codec(part, type) {
  return {
    [`${part}Serialize`]: (message) => Buffer.from(type.encode(type.fromObject(message)).finish()),
    [`${part}Deserialize`]: (bytes) => type.decode(bytes),
  };
}

/**
 * Returns gRPC handlers for plain functions: they get the request and return the response, and an exception
 * becomes the call's error.
 */
export function rpcHandlers(functions) {
  const handlers = Object.entries(functions).map(([name, answer]) => [
    name,
    ({ request }, done) => {
      try {
        done(null, answer(request));
      } catch (error) {
        done({ code: status.INTERNAL, details: String(error) });
      }
    },
  ]);
  return Object.fromEntries(handlers);
}
