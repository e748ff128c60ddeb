// Runs oidc-provider, an authorization server, on a free port of the loopback. It prints its URL as the first line of its
// standard output. The line "rotate" on its standard input gives it new keys, and is answered; the end of that ends it.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import Provider from 'oidc-provider';

// The name of a client says how its tokens are signed, and how long they are valid.
const algorithms = { rsa: 'RS256', ec: 'ES256', ed: 'EdDSA', brief: 'ES256' };
const scope = 'term.read term.write other';

const keys = () => ({
  keys: [
    ['RS256', 'rsa', { modulusLength: 2048 }], ['ES256', 'ec', { namedCurve: 'P-256' }], ['EdDSA', 'ed25519', {}],
  ].map(([alg, kind, options]) => ({
    ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }), alg, use: 'sig',
  })),
});

console.info = console.error; // notices about what is good enough for tests
let handler;
const server = createServer((request, response) => handler(request, response));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

function start() {
  handler = new Provider(issuer, {
    jwks: keys(),
    scopes: ['openid', ...scope.split(' ')],
    clients: [
      ...Object.keys(algorithms).map((id) => ({
        client_id: id, client_secret: `secret-of-${id}`, grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
      })),
      {
        client_id: 'desk', token_endpoint_auth_method: 'none', application_type: 'native', grant_types: ['authorization_code'],
        redirect_uris: ['http://127.0.0.1/callback'],
      },
    ],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true }, // pages that take any name and password
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource, client) => ({
          scope,
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: client.clientId === 'brief' ? 2 : 600,
          jwt: { sign: { alg: algorithms[client.clientId] ?? 'RS256' } },
        }),
      },
    },
  }).callback();
}

start();
console.log(issuer);
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'rotate') {
    start();
    console.log('rotated');
  }
}
server.close();
server.closeAllConnections();
