// A real OpenID Connect provider for the tests: `node provider.mjs PORT SITE`.
// Whoever signs in as NAME is NAME; people.json beside it says who is in which group.
import { readFileSync } from 'node:fs';
import Provider from 'oidc-provider';

const [port, site] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const people = JSON.parse(readFileSync(new URL('people.json', import.meta.url)));
const groupsOf = (name) => people[name]?.groups ?? [];

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'askless',
      client_secret: 'kept-by-the-service',
      redirect_uris: [`${site}/ui/sign-in/oidc/callback`],
    },
    {
      client_id: 'agent',
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['http://127.0.0.1/back'],
    },
  ],
  claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email'] },
  // ID tokens stay small; who wants to know more asks the userinfo endpoint.
  conformIdTokenClaims: true,
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: people[id]?.name ?? id, groups: groupsOf(id) }),
  }),
  extraTokenClaims: (_, token) => ({ groups: groupsOf(token.accountId) }),
  features: {
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        scope: '',
        audience: resource,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
  cookies: { keys: ['of the tests'] },
  pkce: { required: () => true },
  ttl: { AccessToken: 3600, Interaction: 3600, Session: 3600, Grant: 3600 },
});

provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
