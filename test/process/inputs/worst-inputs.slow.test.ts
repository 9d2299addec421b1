import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { TestBrowser } from '../../kit/browser.ts'
import { startAttackTarget } from '../../kit/inputs/attack-target.ts'
import { createHugeBody } from '../../kit/inputs/huge-body.ts'
import { attackable, listMemberNames, type TestedProcedure } from '../../kit/inputs/schemas.ts'
import { buildMembers, buildWorstInputs } from '../../kit/inputs/worst-inputs.ts'
import { base, mediaType } from '../../kit/json-api/client.ts'
import { shareResource } from '../../kit/share-resource.ts'

// The tests send some thousand requests on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

const MAX_URL = 15_000

const svc = shareResource(startAttackTarget)

async function overTrpc({ name, isQuery }: TestedProcedure, inputs: string[], as: TestBrowser['send']) {
  const isBatch = inputs.length > 1
  const path = `/trpc/${inputs.map(() => name).join()}${isBatch ? '?batch=1' : ''}`
  const body = isBatch ? `{${inputs.map((input, index) => `"${index}":${input}`).join()}}` : inputs[0]
  if (!isQuery) return as('POST', path, { body })
  return as('GET', `${path}${isBatch ? '&' : '?'}input=${encodeURIComponent(body ?? '').slice(0, MAX_URL)}`)
}

test('the worst inputs cost any procedure little, and get a short answer', async () => {
  expect(attackable.length).toBeGreaterThan(50)
  for (const procedure of attackable) {
    const bytes = procedure.isQuery ? 4000 : Math.min(svc.limitOf(procedure.name) - 100, 400_000)
    const shapes = Object.entries(buildWorstInputs(listMemberNames(procedure), bytes))
    const answers = await Promise.all(
      shapes.map(async ([shape, input]) => ({ shape, ...(await overTrpc(procedure, [input], svc.browser.send)) })),
    )
    for (const answer of answers) svc.assertModest(answer, `${procedure.name} with ${answer.shape}`)
  }
})

test('many bad inputs in one batch get one short answer', async () => {
  for (const procedure of attackable) {
    const bytes = procedure.isQuery ? 60 : Math.min(svc.limitOf(procedure.name), 100_000) / 50 - 20
    const answer = await overTrpc(procedure, Array(50).fill(buildMembers(bytes)), svc.browser.send)
    svc.assertModest(answer, `50 calls of ${procedure.name}`)
  }
})

test('names of very many, very long or odd procedures get a short answer', async () => {
  const names = [Array(51).fill('users.me').join(), 'x'.repeat(MAX_URL), '%00'.repeat(MAX_URL / 3), ','.repeat(MAX_URL)]
  for (const name of names)
    for (const batch of ['', '?batch=1'])
      for (const as of [svc.browser.send, svc.asGuest])
        svc.assertModest(await as('GET', `/trpc/${name}${batch}`), name.slice(0, 20))
})

test('every closed procedure refuses a guest before it parses the body', async () => {
  for (const procedure of attackable) {
    const isOpen = procedure.access.callers.startsWith('anyone')
    const { status } = await overTrpc(procedure, procedure.isQuery ? ['no JSON'] : ['{'.repeat(1000)], svc.asGuest)
    if (isOpen) expect([400, 401, 422], procedure.name).toContain(status)
    else expect(status, procedure.name).toBe(401)
  }
})

/** Credentials required before a body of this length is read, and the response to the headers alone. */
async function answerToHead(path: string, type: string, length: number, headers: Record<string, string> = {}) {
  return new Promise<number>((done, failed) => {
    const sent = request(svc.url + path, {
      method: 'POST',
      headers: { 'content-type': type, 'content-length': String(length), ...headers },
    })
    sent.on('response', ({ statusCode = 0 }) => {
      done(statusCode)
      sent.destroy()
    })
    sent.on('error', failed)
    sent.flushHeaders()
  })
}

test('a guest gets the answer to the head alone: nobody waits for the body', async () => {
  const outcomes = [
    await answerToHead('/trpc/tokens.create', 'application/json', 1000),
    await answerToHead('/trpc/users.update,ai.ask?batch=1', 'application/json', 1_000_000),
    await answerToHead(`${base}/ai-providers`, mediaType, 1000),
    await answerToHead(`${base}/user-keychain-values/actions/batch-update`, 'application/json', 1_000_000),
    await answerToHead('/api/ai-req', 'application/json', 1_000_000),
    await answerToHead('/handshake', 'application/json', 1000),
  ]

  expect(outcomes).toEqual([401, 401, 401, 401, 401, 401])
})

test('a body has the size that its calls need, announced or not', async () => {
  const headers = { authorization: `Bearer ${svc.token}` }
  expect(await answerToHead('/trpc/users.delete', 'application/json', 17_000, headers)).toBe(413)
  expect(await answerToHead('/trpc/users.delete,ai.ask?batch=1', 'application/json', 3_000_000, headers)).toBe(413)
  expect(await answerToHead(`${base}/ai-providers`, mediaType, 70_000, headers)).toBe(413)

  const options = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: createHugeBody(),
  }
  const huge = await fetch(`${svc.url}/trpc/users.delete`, { ...options, duplex: 'half' } as RequestInit).catch(
    () => undefined,
  )
  // The connection may close before the response is read.
  expect(huge?.status ?? 413).toBe(413)
})

/** Returns the addresses to which the pages send a body, as their source names them. */
async function pageEndpoints(): Promise<string[]> {
  const text = await readFile(join(import.meta.dirname, '../../../facades/web/actions.ts'), 'utf8')
  const called = /(?:app\.post(?:<[^(]*>)?\(\s*|for \(const path of \[)('[^\])]+)/g
  return [...text.matchAll(called)].flatMap(([, names = '']) =>
    names.split(',').flatMap((name) => name.match(/\/[^']+/) ?? []),
  )
}

/** Endpoints without a body that end the session, or that are not for browsers. */
const others = ['/logout', '/req/profile/reset']

test('the worst bodies cost page endpoints little, and get a short response', async () => {
  const paths = (await pageEndpoints()).filter((path) => !others.includes(path))
  expect(paths).toEqual(expect.arrayContaining(['/req/login', '/handshake', '/req/profile/create-token']))
  const names = [...new Set(attackable.flatMap(listMemberNames))].slice(0, 30)
  for (const path of paths)
    for (const [shape, body] of Object.entries(buildWorstInputs(names, 15_000)))
      for (const send of [svc.browser.send, svc.asGuest])
        svc.assertModest(await send('POST', path, { body }), `${path} with ${shape}`)
})

test('the worst bodies cost an AI request little, and get a short answer', async () => {
  for (const [shape, worst] of Object.entries(buildWorstInputs(['messages', 'model'], svc.env.AI_MAX_BODY - 100))) {
    const body = `{"payload":${worst}}`
    const answer = await svc.send('POST', '/api/ai-req', { token: svc.token, body })
    svc.assertModest({ status: answer.status, text: await answer.text() }, shape)
    svc.assertModest(await svc.asGuest('POST', '/api/ai-req', { body }), `${shape} by a guest`)
  }
})

test('two megabytes of empty messages are refused by count with one problem', async () => {
  const sendQuestion = (count: number) =>
    svc.send('POST', '/api/ai-req', {
      token: svc.token,
      body: { payload: { model: 'm', messages: Array(count).fill({}) } },
    })

  const tooMany = await sendQuestion(20_000)
  expect([tooMany.status, svc.judged.take()]).toEqual([422, 0])
  expect(await tooMany.json()).toMatchObject({
    errors: { 'payload.messages': ['The payload.messages field must have at most 2000 messages.'] },
  })
  const farTooMany = await sendQuestion(600_000)
  expect([farTooMany.status, svc.judged.take()]).toEqual([422, 0])
  const many = await sendQuestion(2000)
  expect([many.status, svc.judged.take()]).toEqual([422, 2000])
  expect(Object.values(((await many.json()) as { errors: Record<string, string[]> }).errors).flat()).toHaveLength(20)
})
