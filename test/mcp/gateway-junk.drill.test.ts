import { expect, test } from 'vitest'
import { addCaller, buildRpc, revisions, startGateway } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { shareResource } from '../kit/share-resource.ts'

const mail = shareResource(() => startToolServer([buildTool('send')]))
const svc = shareResource(() =>
  startGateway([{ label: 'Mail', url: mail.url, requireApproval: 'always' }], { MCP_CALLS_PER_MINUTE: '100000' }),
)

type Members = Record<string, unknown>
type Junk = [what: string, body: unknown, headers?: Record<string, string>]

const values = [null, 0, -1.5, '', 'x', [], [1], {}, { x: 1 }, true, 'x'.repeat(5000)]
const metaKeys = ['protocolVersion', 'clientInfo', 'clientCapabilities'].map((key) => `io.modelcontextprotocol/${key}`)
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

/** Yields the call with one member of it replaced by something else. */
function* replaceMembers(body: Members): Generator<Junk> {
  const params = body['params'] as Members
  const meta = params['_meta'] as Members | undefined
  for (const value of values) {
    for (const name of ['id', 'method', 'params', 'jsonrpc']) yield [name, { ...body, [name]: value }]
    const inParams: Members = Object.fromEntries(
      ['name', 'arguments', '_meta', 'inputResponses', 'requestState', 'task'].map((name) => [name, { [name]: value }]),
    )
    for (const key of [...metaKeys, 'progressToken']) inParams[key] = { _meta: { ...meta, [key]: value } }
    for (const approval of [value, { action: value }, { action: 'accept', content: { choice: value } }])
      inParams[`approval ${JSON.stringify(approval)}`] = { requestState: 'x', inputResponses: { approval } }
    for (const [what, change] of Object.entries(inParams))
      yield [what, { ...body, params: { ...params, ...(change as Members) } }]
  }
}

function* listJunk(body: Members): Generator<Junk> {
  yield* replaceMembers(body)
  for (const text of ['', '{', '[]', '[{}]', 'null', '1', '"x"', '{"jsonrpc":"2.0"}']) yield [text, text]
  const polluting = '{"name":"mail_send","arguments":{"text":"x","__proto__":{"a":1}}}'
  for (const params of [polluting, `{"name":"mail_send","arguments":${deep(5000)}}`])
    yield [params.slice(0, 80), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`]
  for (const [name, value] of [
    ['mcp-protocol-version', '2099-01-01'],
    ['accept', 'text/html'],
    ['content-type', 'text/plain'],
    ['mcp-session-id', 'x'],
    ['last-event-id', '5'],
    ['mcp-name', 'other'],
    ['mcp-method', 'other'],
  ] as const)
    yield [name, body, { [name]: value }]
}

test.each(revisions)('junk in a call of %s is refused in the protocol, and calls nothing', async (revision) => {
  const { token } = await addCaller(svc)
  const params = { name: 'mail_send', arguments: { text: 'hi' } }
  const { body, headers } = buildRpc('tools/call', { token, revision, params })
  for (const [what, junk, more] of listJunk(body)) {
    const text = typeof junk === 'string' ? junk : JSON.stringify(junk)
    const answer = await fetch(`${svc.url}/mcp`, { method: 'POST', headers: { ...headers, ...more }, body: text })
    const received = await answer.text()
    expect([what, answer.status < 500, received.includes('-32603')]).toEqual([what, true, false])
    if (answer.status !== 202) expect([what, received]).toEqual([what, expect.stringContaining('"jsonrpc":"2.0"')])
  }
  expect(mail.seen.filter(({ method }) => method === 'tools/call')).toEqual([])
  expect(svc.log.filter((line) => JSON.parse(line).level >= 50)).toEqual([])
})
