// Turns the text of a .proto file into what the gRPC library wants to know of a service.

import { status } from "@grpc/grpc-js";
import protobuf from "protobufjs";

/** The definition of a service of unary calls. Messages are plain objects with the .proto file's field names. */
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

/** gRPC handlers from plain functions: request in, response out, an exception is the call's error. */
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
