import { createDecipheriv, generateKeyPairSync, privateDecrypt, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'

/** The service, and a token with the ability `write` of an administrator, by which the app registers. */
interface Service {
  url: string
  adminToken: string
}

type Json = Record<string, never>

/**
 * A program as others write it, which knows no more of the service than its addresses. Its page `/` is for a user of its
 * own, who is asked to link their account once and then reads what a model answers to `?question`, as it comes.
 */
export async function startSampleApp(service: Service, name: string) {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  // Browsers send cookies to every port of a host.
  const cookie = `user-${port}`
  const { id, credential } = await register()

  async function sendRequest(method: string, path: string, token: string, body?: object, accept = 'application/json') {
    const type = accept.includes('json') ? accept : 'application/json'
    const headers = { accept, authorization: `Bearer ${token}`, ...(body && { 'content-type': type }) }
    return fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  }

  /** The service gets only the public key. */
  async function register(): Promise<{ id: string; credential: string }> {
    const publicKey = keys.publicKey.export({ type: 'spki', format: 'pem' })
    const own = { name, url, redirectUrls: [`${url}/back`], publicKey, abilities: ['ai'], needsKeys: false }
    const body = { data: { type: 'ext-apps', attributes: own } }
    const registration = await sendRequest(
      'POST',
      '/api/svc/v1/ext-apps',
      service.adminToken,
      body,
      'application/vnd.api+json',
    )
    if (!registration.ok) throw new Error(await registration.text())
    const { data } = (await registration.json()) as { data: { id: string; attributes: { credential: string } } }
    return { id: data.id, credential: data.attributes.credential }
  }

  /** Returns the connection of a user of the app: a request to pass on or, after consent, sealed secrets. */
  async function connection(user: string): Promise<Json> {
    const answer = await sendRequest('GET', `/api/svc/v1/connections/${encodeURIComponent(user)}`, credential)
    return ((await answer.json()) as { data: { attributes: Json } }).data.attributes
  }

  /** RSA-OAEP around a key, AES-256-GCM around the text. */
  function open(sealed: string): string {
    const [wrapped = '', inner = ''] = sealed.split('|').map((part) => Buffer.from(part, 'base64').toString())
    const key = privateDecrypt({ key: keys.privateKey, oaepHash: 'sha256' }, Buffer.from(wrapped, 'base64'))
    const [iv, tag, text] = inner.split('|').map((part) => Buffer.from(part, 'base64')) as [Buffer, Buffer, Buffer]
    const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: 16 }).setAuthTag(tag)
    return Buffer.concat([decipher.update(text), decipher.final()]).toString()
  }

  /** The token for a user, or undefined where they are not linked. */
  async function tokenFor(user: string): Promise<string | undefined> {
    const { extAppSecrets } = (await connection(user)) as { extAppSecrets?: { apiToken: string } }
    return extAppSecrets && open(extAppSecrets.apiToken)
  }

  const userOf = ({ headers }: IncomingMessage) =>
    new RegExp(`${cookie}=([\\w-]+)`).exec(headers.cookie ?? '')?.[1] ?? randomBytes(9).toString('base64url')

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { pathname, searchParams } = new URL(request.url ?? '/', url)
    const user = userOf(request)
    response.setHeader('set-cookie', `${cookie}=${user}; HttpOnly; SameSite=Lax; Path=/`)
    if (pathname === '/back' && searchParams.get('svc-connect-status') !== 'success') {
      return void response.end('Not linked, and that is fine.')
    }
    const token = await tokenFor(user)
    if (!token) {
      const { extAppConnectRequest } = await connection(user)
      return void response.writeHead(302, { location: `${service.url}/connect/${extAppConnectRequest}` }).end()
    }
    const text = searchParams.get('question') ?? 'Hello'
    const body = { payload: { model: 'mock-1', messages: [{ role: 'user', content: { text } }] } }
    const stream = await sendRequest('POST', '/api/ai-req', token, body, 'text/event-stream')
    response.writeHead(stream.status, { 'content-type': 'text/plain; charset=utf-8' })
    if (stream.body) await pipeline(stream.body, response)
  }

  return {
    id,
    url,
    cookie,
    credential,
    connection,
    tokenFor,
    open,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
