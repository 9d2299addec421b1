// @module-tag debian

import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { generateSecret, writeToken } from '../../entities/identity/token-format.ts'
import {
  addCaller,
  buildRpc,
  callTool,
  listTools,
  MODERN,
  type RpcMessage,
  revisions,
  sendRpc,
  startGateway,
} from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer, type ToolServerRequest } from '../kit/mcp/tool-server.ts'
import { shareResource } from '../kit/share-resource.ts'

const library = shareResource(() => startToolServer([buildTool('search'), buildTool('borrow')]))
const archive = shareResource(() => startToolServer([buildTool('search')]))
const svc = shareResource(() =>
  startGateway(
    [
      { label: 'Library', url: library.url },
      { label: 'Archive', url: archive.url },
    ],
    { CORS_ORIGINS: 'https://inspector.example', MCP_CALLS_PER_MINUTE: '1000', OAUTH_CLIENTS: 'off' },
  ),
)
let token: string
beforeAll(async () => {
  token = (await addCaller(svc)).token
})
beforeEach(() => {
  library.behave = undefined
  library.seen.length = 0
})

const input = { text: 'Ovid' }
const namesOf = ({ result }: Awaited<ReturnType<typeof listTools>>) =>
  result.tools.map(({ name }: { name: string }) => name)

/** Lets the library answer calls as the function says. */
function onCall(behave: (call: ToolServerRequest) => void | Promise<void>) {
  library.behave = async (call) => {
    if (call.rpc.method !== 'tools/call') return false
    await behave(call)
    return true
  }
}

describe('the protocol', () => {
  test('each revision opens, lists the tools, and calls one', async () => {
    for (const revision of revisions) {
      const hello = revision === MODERN ? 'server/discover' : 'initialize'
      const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
      const opened = await sendRpc(svc, hello, { token, revision, ...(revision !== MODERN && { params }) })
      expect([revision, opened.status, opened.error]).toEqual([revision, 200, undefined])
      expect(opened.result).toMatchObject(
        revision === MODERN
          ? { supportedVersions: [MODERN] }
          : { protocolVersion: revision, serverInfo: { name: 'svc' } },
      )
      expect(namesOf(await listTools(svc, { token, revision }))).toEqual([
        'archive_search',
        'library_borrow',
        'library_search',
      ])
      const called = await callTool(svc, 'library_search', { token, revision, input })
      expect([called.status, called.result]).toEqual([
        200,
        expect.objectContaining({ content: [{ type: 'text', text: 'done' }] }),
      ])
    }
  })

  test('a list may be kept for a minute, and is always the same', async () => {
    const lists = [await listTools(svc, { token }), await listTools(svc, { token })]
    const [first, second] = lists.map(({ result }) => JSON.stringify(result))
    expect(first).toBe(second)
    expect(lists[0]?.result).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' })
    expect(lists[0]?.headers.get('cache-control')).toMatch(/no-store/)
  })

  test('an address of one tool server has its tools alone', async () => {
    expect(namesOf(await listTools(svc, { token, path: '/mcp/archive' }))).toEqual(['archive_search'])
    const [{ id } = { id: 0 }] = await svc.rows<{ id: number }>(
      "select id from mcp_servers where server_label = 'Archive'",
    )
    expect(namesOf(await listTools(svc, { token, path: `/mcp/${id}` }))).toEqual(['archive_search'])
    const elsewhere = await callTool(svc, 'library_search', { token, input, path: '/mcp/archive' })
    expect(elsewhere.error).toMatchObject({ code: -32602, message: 'Unknown tool' })
    expect((await listTools(svc, { token, path: '/mcp/nothing' })).error?.message).toMatch(/no tool server/)
  })

  test('an address follows its label, and names the ids of servers that share it', async () => {
    await using other = await startGateway([
      { label: 'Archive', url: archive.url },
      { label: 'ARCHIVE', url: library.url },
    ])
    const token = (await addCaller(other)).token
    const [first, second] = await other.rows<{ id: number }>('select id from mcp_servers order by id')
    for (const [method, params] of [
      ['server/discover', {}],
      ['tools/list', {}],
      ['tools/call', { name: 'archive_search', arguments: input }],
    ] as const) {
      const { status, error } = await sendRpc(other, method, { token, params, path: '/mcp/archive' })
      const message = `Several tool servers have this name. Use their ids: /mcp/${first?.id}, /mcp/${second?.id}.`
      expect([method, status, error]).toEqual([method, 404, expect.objectContaining({ message })])
    }
    const ofFirst = namesOf(await listTools(other, { token, path: `/mcp/${first?.id}` }))
    await other.changeCatalogue(`update mcp_servers set server_label = '${second?.id}' where id = ${first?.id}`)
    const ofSecond = namesOf(await listTools(other, { token, path: `/mcp/${second?.id}` }))
    expect(ofFirst.length + ofSecond.length).toBe(3)
    expect(namesOf(await listTools(other, { token, path: '/mcp/archive' }))).toEqual(ofSecond)
    expect(namesOf(await listTools(other, { token, path: `/mcp/${first?.id}` }))).toEqual(ofFirst)
  })

  test('an unknown tool is an error of the protocol, an unknown method has 404', async () => {
    for (const revision of revisions) {
      for (const name of ['library_burn', 'x'.repeat(201)]) {
        const { error } = await callTool(svc, name, { token, revision })
        expect([revision, error]).toEqual([revision, { code: -32602, message: 'Unknown tool' }])
      }
    }
    expect(await sendRpc(svc, 'tools/destroy', { token })).toMatchObject({ status: 404, error: { code: -32601 } })
  })

  test('parameters that do not fit are refused with a short sentence, whatever the method', async () => {
    const wrong = [
      ['tools/call', {}, 'params.name is required'],
      ['tools/call', { name: 5 }, 'params.name must be a string'],
      ['tools/call', { name: 'library_search', arguments: [] }, 'params.arguments must be an object'],
      ['prompts/get', { name: null }, 'params.name must be a string'],
      ['resources/read', { uri: {} }, 'params.uri must be a string'],
      ['tools/list', { cursor: 1 }, 'params.cursor must be a string'],
      ['resources/templates/list', { cursor: [] }, 'params.cursor must be a string'],
    ] as const
    for (const revision of revisions)
      for (const [method, params, message] of wrong) {
        const { error } = await sendRpc(svc, method, { token, revision, params })
        expect([revision, method, error]).toEqual([
          revision,
          method,
          { code: -32602, message: `Invalid params: ${message}.` },
        ])
      }
    const opened = await sendRpc(svc, 'initialize', { token, revision: '2025-11-25', params: { capabilities: [] } })
    expect(opened.error).toEqual({ code: -32602, message: 'Invalid params: params.protocolVersion is required.' })
  })

  test('what is no single message of a fitting size is refused with a sentence', async () => {
    const { headers, body } = buildRpc('tools/list', { token })
    const send = async (text: string, more: Record<string, string> = {}) => {
      const response = await fetch(`${svc.url}/mcp`, { method: 'POST', headers: { ...headers, ...more }, body: text })
      const answer = (await response.json()) as RpcMessage
      expect(answer).toMatchObject({ jsonrpc: '2.0', id: null, error: { message: expect.stringMatching(/\w+\.$/) } })
      return [response.status, answer.error?.code]
    }
    expect(await send(JSON.stringify([body, body]))).toEqual([400, -32600])
    expect(await send('{"jsonrpc":')).toEqual([400, -32700])
    expect(await send('')).toEqual([400, -32700])
    expect(await send(`{"params":${'['.repeat(60)}${']'.repeat(60)}}`)).toEqual([400, -32700])
    expect(await send(JSON.stringify({ ...body, padding: 'x'.repeat(256 * 1024) }))).toEqual([413, -32000])
    expect(await send('method=tools/list', { 'content-type': 'text/plain' })).toEqual([415, -32000])
  })

  test('a message without an id is accepted without an answer', async () => {
    const { headers } = buildRpc('initialize', { token })
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    const response = await fetch(`${svc.url}/mcp`, { method: 'POST', headers, body })
    expect([response.status, await response.text()]).toEqual([202, ''])
  })
})

describe('access', () => {
  const methods = ['server/discover', 'initialize', 'tools/list', 'tools/call', 'ping', 'prompts/list', 'nonsense']

  test('a request without a token is told how to get one, whatever its method', async () => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'POST']) {
      const { status, headers } = await fetch(`${svc.url}/mcp`, { method })
      expect([method, status, headers.get('www-authenticate')]).toEqual([method, 401, 'Bearer scope="mcp"'])
    }
    for (const method of methods) {
      const { status, headers, error } = await sendRpc(svc, method, { token: undefined })
      expect([method, status, headers.get('www-authenticate')]).toEqual([method, 401, 'Bearer scope="mcp"'])
      expect(error).toMatchObject({ code: -32000, data: { code: 'signed_out', requestId: expect.any(String) } })
    }
  })

  test('twenty made-up tokens are refused with 401 on each method', async () => {
    const [, id = ''] = token.split('_')
    const madeUp = [
      ...['x', 'null', 'undefined', '0', 'admin', 'svc_', 'svc__', `svc_${id}`, `svc_${id}_`, 'sk-1234567890'],
      ...['svc_1_x', 'svc_app_1_x', token.slice(0, -1), `${token}x`, token.toUpperCase(), token.slice(4)],
      writeToken({ id: Number(id), secret: generateSecret() }),
      writeToken({ id: 999_999, secret: generateSecret() }),
      'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.',
      Buffer.from(token).toString('base64'),
    ]
    expect(new Set(madeUp).size).toBe(20)
    const answers = madeUp.flatMap((token) => methods.map((method) => sendRpc(svc, method, { token })))
    for (const { status, headers, result } of await Promise.all(answers))
      expect([status, headers.get('www-authenticate'), result]).toEqual([
        401,
        'Bearer error="invalid_token", scope="mcp"',
        undefined,
      ])
    expect(library.seen).toEqual([])
  })

  test('an expired and a revoked token are refused, and one without the ability', async () => {
    const [expired, revoked] = [await addCaller(svc), await addCaller(svc)]
    await svc.rows("update access_tokens set expires_at = now() - interval '1 minute' where user_id = $1", [expired.id])
    await svc.rows('delete from access_tokens where user_id = $1', [revoked.id])
    for (const { token } of [expired, revoked])
      expect((await callTool(svc, 'library_search', { token, input })).status).toBe(401)
    const able = await svc.user({ abilities: ['ai', 'user', 'read', 'write', 'admin'], role: 'admin' })
    for (const method of methods) {
      const { status, headers } = await sendRpc(svc, method, { token: able.token })
      expect([status, headers.get('www-authenticate')]).toEqual([403, 'Bearer error="insufficient_scope", scope="mcp"'])
    }
    expect(library.seen).toEqual([])
  })

  test('a token that may call tools may do nothing else', async () => {
    expect((await svc.send('GET', '/v1/models', { token })).status).toBe(403)
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(403)
    expect((await svc.send('GET', '/trpc/mcpGateway.listTools?input={}', { token })).status).toBe(200)
  })

  test('methods other than POST are refused to those who have a token', async () => {
    for (const path of ['/mcp', '/mcp/library'])
      for (const method of ['GET', 'DELETE', 'PUT']) {
        const { status, headers } = await svc.send(method, path, { token })
        expect([method, status, headers.get('allow')]).toEqual([method, 405, 'POST, OPTIONS'])
      }
  })

  test('a foreign page and a foreign name of this host are refused', async () => {
    const status = async (headers: Record<string, string>) => {
      const rpc = buildRpc('tools/list', { token, headers })
      const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
      // `fetch` would not send another Host.
      request(`${svc.url}/mcp`, { method: 'POST', headers: rpc.headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end(JSON.stringify(rpc.body))
      return promise
    }
    const { host, origin } = new URL(svc.url)
    for (const [headers, expected] of [
      [{ origin }, 200],
      [{ origin: 'https://inspector.example' }, 200],
      [{ origin: 'https://evil.example' }, 403],
      [{ origin: 'null' }, 403],
      [{ origin: 'http://localhost:1' }, 403],
      [{ host }, 200],
      [{ host: 'localhost:3000' }, 200],
      [{ host: '[::1]' }, 200],
      [{ host: 'svc:3000' }, 200],
      [{ host: 'evil.example' }, 403],
      [{ host: '127.0.0.1.evil.example' }, 403],
      [{ host: 'evil.localhost.example:3000' }, 403],
    ] as const)
      expect([headers, await status({ ...headers })]).toEqual([headers, expected])
  })

  test('pages of a listed origin may read the challenge and call', async () => {
    const origin = 'https://inspector.example'
    const preflight = await fetch(`${svc.url}/mcp`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,mcp-protocol-version',
      },
    })
    expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(/mcp-protocol-version/)
    const { headers } = await sendRpc(svc, 'tools/list', { token: undefined, headers: { origin } })
    expect(headers.get('access-control-expose-headers')).toMatch(/www-authenticate/)
  })

  test('an unknown well-known address is JSON for every reader', async () => {
    for (const path of ['oauth-protected-resource/mcp/x', 'openid-configuration', 'x/y/z'])
      for (const accept of ['text/html', '*/*', 'application/json', 'image/png'])
        for (const method of ['GET', 'POST']) {
          const response = await fetch(`${svc.url}/.well-known/${path}`, {
            method,
            headers: { accept, 'sec-fetch-mode': 'navigate' },
            redirect: 'manual',
          })
          expect([response.status, await response.json()]).toEqual([
            404,
            expect.objectContaining({ code: 'not_found' }),
          ])
        }
  })
})

describe('calls', () => {
  test('arguments that do not fit are a result, and reach no server', async () => {
    for (const wrong of [{}, { text: 1 }, { text: 'much longer than it may be' }, { text: 'nul \0' }]) {
      const { status, result } = await callTool(svc, 'library_search', { token, input: wrong })
      expect([status, result]).toEqual([200, expect.objectContaining({ isError: true })])
      expect(result.content[0].text).toMatch(/text/)
    }
    expect(library.seen).toEqual([])
  })

  test("the fifth call at once of a person is refused, but no other's", async () => {
    const other = await addCaller(svc)
    const gate = Promise.withResolvers<void>()
    onCall(async ({ reply }) => {
      await gate.promise
      reply({ content: [{ type: 'text', text: 'late' }] })
    })
    const call = (token: string, revision?: (typeof revisions)[number]) =>
      callTool(svc, 'library_search', { token, input, ...(revision && { revision }) })
    const running = [call(token), call(token), call(token), call(token)]
    await expect.poll(() => library.seen.filter(({ method }) => method === 'tools/call').length).toBe(4)

    for (const revision of revisions) {
      const refused = await call(token, revision)
      expect([refused.status, refused.headers.get('retry-after'), refused.error?.message]).toEqual([
        429,
        '1',
        'You have too many calls of tools under way. Try again later.',
      ])
    }
    const others = call(other.token)
    gate.resolve()
    for (const { status } of await Promise.all([...running, others])) expect(status).toBe(200)
    library.behave = undefined
    expect((await call(token)).status).toBe(200)
  })

  test('a client that goes away cancels the call at the tool server', async () => {
    for (const revision of revisions) {
      const closed = Promise.withResolvers<void>()
      const begun = Promise.withResolvers<void>()
      onCall(({ response }) => {
        response.once('close', closed.resolve)
        begun.resolve()
      })
      const leaving = new AbortController()
      const call = callTool(svc, 'library_search', { token, input, revision, signal: leaving.signal })
      await begun.promise
      leaving.abort()
      await expect(call).rejects.toThrow()
      await closed.promise
    }
    // The places of calls that were left are free.
    library.behave = undefined
    const again = Array.from({ length: 4 }, () => callTool(svc, 'library_search', { token, input }))
    await expect.poll(async () => (await Promise.all(again)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })

  test('a revoked token cancels its call at the tool server', async () => {
    const person = await addCaller(svc)
    const closed = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    onCall(({ response }) => {
      response.once('close', closed.resolve)
      begun.resolve()
    })
    const call = callTool(svc, 'library_search', { token: person.token, input })
    await begun.promise
    await svc.rows('delete from access_tokens where user_id = $1', [person.id])
    await closed.promise
    expect((await call).result).toMatchObject({ isError: true })
  })

  test('two hundred interleaved calls of two people never show the result of the other', async () => {
    const people = [await addCaller(svc), await addCaller(svc)]
    onCall(async ({ rpc, reply }) => {
      await pause(Math.random() * 5)
      const { text } = (rpc.params?.arguments ?? {}) as { text?: string }
      reply({ content: [{ type: 'text', text: `for ${text}` }] })
    })
    const work = people.flatMap(({ token, username }) =>
      Array.from({ length: 4 }, async (_, lane) => {
        for (let n = 0; n < 25; n++) {
          const text = `${username} ${lane} ${n}`
          const { result } = await callTool(svc, 'library_search', { token, input: { text } })
          expect(result.content).toEqual([{ type: 'text', text: `for ${text}` }])
        }
      }),
    )
    await Promise.all(work)
  })
})

test('the call beyond those of a minute is refused, and others notice nothing', async () => {
  await using quiet = await startGateway([{ label: 'Library', url: library.url }], { MCP_CALLS_PER_MINUTE: '3' })
  const [one, other] = [await addCaller(quiet), await addCaller(quiet)]
  const call = (token: string) => callTool(quiet, 'library_search', { token, input })
  for (let n = 0; n < 3; n++) expect((await call(one.token)).status).toBe(200)
  const { status, headers, error } = await call(one.token)
  expect([status, error?.code]).toEqual([429, -32000])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await call(other.token)).status).toBe(200)
  expect((await listTools(quiet, { token: one.token })).status).toBe(200)
})
