// go-plugin's side of a provider. Terraform starts the program, reads one handshake line from its standard
// output, and then calls it by gRPC at the address in that line.

import { Server, ServerCredentials } from "@grpc/grpc-js";

import { selfSignedCertificate } from "./certificate.mjs";
import goPluginProto from "./proto/go-plugin.proto";
import tfplugin6Proto from "./proto/tfplugin6.proto";
import { rpcHandlers, rpcService } from "./rpc.mjs";

const GO_PLUGIN_PROTOCOL = 1;
const TERRAFORM_PROTOCOL = 6;

// Not a secret: it only distinguishes a start by Terraform from a start by hand.
const MAGIC_COOKIE = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";

/** Serves the provider's RPCs until Terraform calls `Shutdown` or ends. */
export async function serve(provider) {
  if (process.env.TF_PLUGIN_MAGIC_COOKIE !== MAGIC_COOKIE) {
    console.error("This is a Terraform provider: `terraform` and `tofu` start it; do not run it directly.");
    process.exit(1);
  }
  exitWithTerraform();

  const server = new Server();
  server.addService(rpcService(tfplugin6Proto, "tfplugin6.Provider"), rpcHandlers(provider));
  server.addService(rpcService(goPluginProto, "plugin.GRPCController"), rpcHandlers({ Shutdown: () => stop(server) }));

  const { certificate, credentials } = mutualTls(process.env.PLUGIN_CLIENT_CERT);
  const port = await listen(server, credentials);
  console.log([GO_PLUGIN_PROTOCOL, TERRAFORM_PROTOCOL, "tcp", `127.0.0.1:${port}`, "grpc", certificate].join("|"));
}

/** Each side trusts exactly the certificate that the other created for this run ("AutoMTLS"). */
function mutualTls(clientCertificate) {
  if (!clientCertificate) return { certificate: "", credentials: ServerCredentials.createInsecure() };
  const own = selfSignedCertificate("localhost");
  const keyPair = { cert_chain: Buffer.from(own.certificatePem), private_key: Buffer.from(own.privateKeyPem) };
  return {
    certificate: own.certificate.toString("base64").replace(/=+$/, ""),
    credentials: ServerCredentials.createSsl(Buffer.from(clientCertificate), [keyPair], true),
  };
}

/** Listens on a free port that only this machine can reach. */
function listen(server, credentials) {
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", credentials, (error, port) => (error ? reject(error) : resolve(port)));
  });
}

/** Answers, and ends after Terraform closes the connection. */
function stop(server) {
  server.tryShutdown(() => process.exit(0));
  return {};
}

function exitWithTerraform() {
  // Ctrl-C reaches the whole process group; Terraform decides how to react, and stops its providers.
  process.on("SIGINT", () => {});

  // A killed Terraform sends no message, but its child processes get another parent.
  const terraform = process.ppid;
  setInterval(() => process.ppid === terraform || process.exit(1), 1000);
}
