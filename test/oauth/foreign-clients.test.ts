import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { expect, test } from 'vitest'
import { signIn } from '../kit/browser.ts'
import { CALLBACK, consent, startOAuth, tryToken } from '../kit/oauth/program.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startOAuth({ OAUTH_ABILITIES: 'mcp,ai' }))

/** The only option: the test has no certificate. */
const http = { [oauth.allowInsecureRequests]: true }

test('oauth4webapi goes from the resource to tokens, refresh and revocation', async () => {
  const { browser } = await signIn(svc, 'ada')
  const resource = new URL(`${svc.url}/mcp`)
  const found = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, http),
  )
  const issuer = new URL(found.authorization_servers?.[0] ?? '')
  const asked = await oauth.discoveryRequest(issuer, { ...http, algorithm: 'oauth2' })
  const server = await oauth.processDiscoveryResponse(issuer, asked)
  const registration = { client_name: 'Agent', redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' }
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(server, registration, http),
  )
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const query = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    scope: 'mcp ai',
    state,
  })

  const callback = oauth.validateAuthResponse(server, client, await consent(browser, String(query)), state)
  const tokens = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), callback, CALLBACK, verifier, http),
  )
  const refreshed = await oauth.processRefreshTokenResponse(
    server,
    client,
    await oauth.refreshTokenGrantRequest(server, client, oauth.None(), tokens.refresh_token ?? '', http),
  )

  expect(found.resource).toBe(resource.href)
  expect([server.issuer, tokens.scope, refreshed.scope]).toEqual([svc.url, 'mcp ai', 'mcp ai'])
  expect([await tryToken(svc, tokens.access_token), await tryToken(svc, refreshed.access_token)]).toEqual([200, 200])
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, oauth.None(), refreshed.refresh_token ?? '', http),
  )
  expect(await tryToken(svc, refreshed.access_token)).toBe(401)
})

test('openid-client signs in a registered program with a secret by each method', async () => {
  const { browser } = await signIn(svc, 'bob')
  const input = { name: 'Library', redirectUris: ['https://library.example/back'], hasSecret: true }
  const { clientId, clientSecret } = await svc.host.oauth.registerClient(input)
  const redirect_uri = 'https://library.example/back'
  for (const authentication of [openid.ClientSecretBasic(), openid.ClientSecretPost()]) {
    const options = { execute: [openid.allowInsecureRequests], algorithm: 'oauth2' as const }
    const metadata = { client_secret: clientSecret ?? '' }
    const config = await openid.discovery(new URL(svc.url), clientId, metadata, authentication, options)
    const verifier = openid.randomPKCECodeVerifier()
    const code_challenge = await openid.calculatePKCECodeChallenge(verifier)
    const parameters = { redirect_uri, code_challenge, code_challenge_method: 'S256', scope: 'ai', resource: svc.url }
    const address = openid.buildAuthorizationUrl(config, parameters)

    const target = await consent(browser, address.search.slice(1))
    const tokens = await openid.authorizationCodeGrant(config, target, { pkceCodeVerifier: verifier })
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')

    expect(address.href.startsWith(`${svc.url}/oauth/authorize?`)).toBe(true)
    expect(await tryToken(svc, refreshed.access_token)).toBe(200)
    await openid.tokenRevocation(config, refreshed.access_token)
    expect(await tryToken(svc, refreshed.access_token)).toBe(401)
  }
})
