// @module-tag debian

import { afterAll, expect, test } from 'vitest'
import { readEnv } from '../../server/config/env.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { buildFirstKeys, openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { makePublicKey } from '../kit/identity/people.ts'

const base = '/api/svc/v1/user-keychain-values'
const value = (text: string) => ['iv', 'tag', text].map((part) => Buffer.from(part).toString('base64')).join('|')
const entry = (key: string, keyType = 'room_key', text = key) => ({ key, keyType, value: value(text) })

interface Listed {
  data: { id: string; attributes: { userId: number; key: string; keyType: string; value: string } }[]
}

const svc = await startApp()
const small = await startApp({ KEYCHAIN_MAX_ENTRIES: '20', KEYCHAIN_MAX_BYTES: '65536' })
afterAll(() => Promise.all([svc, small].map((one) => one[Symbol.asyncDispose]())))

let people = 0
const newName = () => `person${++people}`

/** Registers a new person with keys; returns their browser. */
async function withKeys(svc: TestApp) {
  const username = newName()
  const { browser, id } = await signIn(svc, username, { keys: false })
  const { status } = await browser.send('POST', '/handshake', { body: buildFirstKeys(username) })
  expect(status).toBe(200)
  return { browser, id, username }
}

const keysOf = async (browser: TestBrowser) => {
  const { body } = await browser.send('GET', base)
  return (body as unknown as Listed).data.map(({ attributes }) => attributes.key).sort()
}

const update = (browser: TestBrowser, body: unknown) => browser.send('POST', `${base}/actions/batch-update`, { body })

test('a keychain is seen by its person only', async () => {
  const ada = await withKeys(svc)
  const bob = await withKeys(svc)
  const { body } = await ada.browser.send('GET', base)
  const [first] = (body as unknown as Listed).data

  expect((body as unknown as Listed).data.map(({ attributes }) => attributes.userId)).toEqual([ada.id, ada.id, ada.id])
  expect((await ada.browser.send('GET', `${base}/${first?.id}`)).status).toBe(200)
  expect((await bob.browser.send('GET', `${base}/${first?.id}`)).status).toBe(404)
  expect((await openBrowser(svc.url).send('GET', base)).status).toBe(401)
  expect((await openBrowser(svc.url).send('GET', `${base}/${first?.id}`)).status).toBe(401)
})

test('a keychain is seen by no administrator either', async () => {
  await withKeys(svc)
  const root = await svc.user({ username: 'root', role: 'admin', abilities: ['read', 'write', 'keychain'] })

  const answer = await svc.send('GET', base, { token: root.token })

  expect(await answer.json()).toMatchObject({ data: [] })
})

test('a keychain takes entries, replaces those there are and gives the whole back', async () => {
  const { browser, username } = await withKeys(svc)

  const { status, body } = await update(browser, {
    publicKey: makePublicKey('another'),
    set: [entry('lab'), entry('aiConvKey', 'ai_conv', 'new')],
    remove: [{ key: 'nothing', keyType: 'room_key' }],
  })

  expect(status).toBe(200)
  expect(body).toMatchObject({ meta: { _svc_sync_log: [] } })
  const written = (body as unknown as Listed).data.map(({ attributes }) => [attributes.key, attributes.value])
  expect(Object.fromEntries(written)).toMatchObject({ lab: value('lab'), aiConvKey: value('new') })
  expect(written).toHaveLength(4)
  expect(await svc.rows('select public_key from users where username = $1', [username])).toEqual([
    { public_key: makePublicKey('another') },
  ])
})

test('a keychain is cleared before it is filled, and removals match key and type', async () => {
  const { browser } = await withKeys(svc)

  await update(browser, { clean: '1', set: [entry('a'), entry('b'), entry('a', 'room_ai')] })
  await update(browser, { remove: [{ key: 'a', type: 'room_key' }] })

  expect(await keysOf(browser)).toEqual(['a', 'b'])
})

test('a keychain takes a JSON:API document as well', async () => {
  const { browser } = await withKeys(svc)
  const document = { data: { type: 'user-keychain-values', attributes: { set: [entry('lab')] } } }

  const { status } = await update(browser, document)

  expect(status).toBe(200)
  expect(await keysOf(browser)).toContain('lab')
})

test.for([
  ['a value of two parts', { set: [{ ...entry('x'), value: 'YQ==|YQ==' }] }],
  ['a value that is no base64', { set: [{ ...entry('x'), value: '!|!|!' }] }],
  ['an unknown type', { set: [entry('x', 'master_key')] }],
  ['an empty key', { set: [entry('')] }],
  ['a key too long', { set: [entry('k'.repeat(256))] }],
  ['a value too long', { set: [{ ...entry('x'), value: value('v'.repeat(20_000)) }] }],
  ['an entry twice', { set: [entry('x'), entry('x')] }],
  ['a removal without a type', { remove: [{ key: 'x' }] }],
  ['a public key that is none', { publicKey: '<key>' }],
  ['a public key of another kind', { publicKey: 'a2V5' }],
  ['a public key with something behind it', { publicKey: `${makePublicKey()}AAAA` }],
  ['a public key whose modulus is even', { publicKey: evenKey() }],

  ['a member that is not known', { newPublicKey: 'YQ==' }],
] as const)('a keychain refuses %s, and changes nothing', async ([, wrong]) => {
  const { browser } = await withKeys(svc)
  const before = await keysOf(browser)

  const { status, body } = await update(browser, { clean: true, set: [entry('good')], ...wrong })

  expect(status).toBe(422)
  expect((body as { errors: { status: string }[] }).errors[0]).toMatchObject({ status: '422' })
  expect(await keysOf(browser)).toEqual(before)
})

test('a keychain is changed by a token only where the token may', async () => {
  const user = await svc.user({ abilities: ['read', 'write'] })
  const able = await svc.user({ abilities: ['keychain'] })
  const path = `${base}/actions/batch-update`

  expect((await svc.send('POST', path, { token: user.token, body: { set: [entry('x')] } })).status).toBe(403)
  expect((await svc.send('POST', path, { token: able.token, body: { set: [entry('x')] } })).status).toBe(200)
  expect((await svc.send('POST', path, { body: { set: [entry('x')] } })).status).toBe(401)
})

test('a keychain survives two browsers at once', async () => {
  const { browser } = await withKeys(svc)
  const rounds = Array.from({ length: 12 }, (_, index) =>
    update(browser.copy(), { clean: true, set: [entry(`key-${index}`)] }),
  )

  const statuses = (await Promise.all(rounds)).map(({ status }) => status)

  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(await keysOf(browser)).toHaveLength(1)
})

test('the validator is the sealed public key, with the clear one beside it', async () => {
  const { browser, username } = await withKeys(svc)
  const keys = buildFirstKeys(username)

  const { status, body } = await browser.send('GET', `${base}/actions/validator`)

  expect(status).toBe(200)
  expect(body).toMatchObject({
    data: { type: 'user-keychain-values', attributes: { keyType: 'public_key' } },
    meta: { publicKey: keys.publicKey, validator: keys.keychain[1]?.value },
  })
})

test('the validator is not there for somebody without keys, nor for a guest', async () => {
  const { browser } = await signIn(svc)

  expect((await browser.send('GET', `${base}/actions/validator`)).status).toBe(404)
  expect((await openBrowser(svc.url).send('GET', `${base}/actions/validator`)).status).toBe(401)
})

test('a batch of more than 2,000 elements in both lists is refused before validation', async () => {
  const { browser } = await withKeys(svc)
  const slots = Array.from({ length: 1001 }, (_, index) => slot(entry(`k${index}`)))

  const tooMany = await update(browser, { set: Array(1000).fill({}), remove: slots })

  expect(tooMany.status).toBe(422)
  expect(tooMany.body).toMatchObject({
    errors: [{ detail: 'remove must have, together with set, at most 2000 elements.', source: { pointer: '/remove' } }],
  })
  expect(tooMany.body.errors).toHaveLength(1)
  expect((await update(browser, { set: [entry('k0')], remove: slots.slice(1) })).status).toBe(200)
})

const many = (count: number, prefix = 'k') => Array.from({ length: count }, (_, index) => entry(`${prefix}${index}`))
const large = (count: number) => many(count).map((one) => ({ ...one, value: value('v'.repeat(11_000)) }))

test("the quota of a keychain refuses an entry too many by the limit's name", async () => {
  const { browser } = await withKeys(small)
  const other = await withKeys(small)
  expect((await update(browser, { set: many(17) })).status).toBe(200)
  const before = await keysOf(browser)
  const keyBefore = await small.rows('select public_key, updated_at from users order by id')

  const refusal = await update(browser, {
    publicKey: makePublicKey('third'),
    remove: [entry('k0')].map(slot),
    set: many(2, 'new'),
  })

  expect(refusal.status).toBe(422)
  expect(refusal.body).toMatchObject({
    errors: [{ detail: 'set would give the keychain more than 20 entries.', source: { pointer: '/set' } }],
  })
  expect(await keysOf(browser)).toEqual(before)
  expect(await small.rows('select public_key, updated_at from users order by id')).toEqual(keyBefore)
  expect((await update(browser, { set: [entry('k1', 'room_key', 'another')] })).status).toBe(200)
  expect((await update(browser, { remove: [entry('k0')].map(slot), set: [entry('new')] })).status).toBe(200)
  expect((await update(browser, { clean: true, set: many(20) })).status).toBe(200)
  expect((await update(other.browser, { set: many(17) })).status).toBe(200)
})

test('the quota of a keychain refuses more bytes than it allows', async () => {
  const { browser } = await withKeys(small)

  const refusal = await update(browser, { set: large(5) })

  expect(refusal.status).toBe(422)
  expect(JSON.stringify(refusal.body)).toContain('65536 bytes')
  expect(await keysOf(browser)).toHaveLength(3)
  expect((await update(browser, { set: large(4) })).status).toBe(200)
})

test('the quota of a keychain holds when many browsers add to it at once', async () => {
  const { browser } = await withKeys(small)

  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => update(browser.copy(), { set: many(5, `${index}-`) })),
  )

  const added = answers.filter(({ status }) => status === 200)
  expect(answers.filter(({ status }) => status === 422)).toHaveLength(7)
  expect(await keysOf(browser)).toHaveLength(3 + 5 * added.length)
})

test('the quota of a keychain also holds for the first keys, and keeps none', async () => {
  const { browser } = await signIn(small, 'ada', { known: false })
  const keys = buildFirstKeys()
  const keychain = [...keys.keychain, ...large(5)]

  const refusal = await browser.send('POST', '/handshake', { body: { ...keys, keychain } })

  expect([refusal.status, refusal.body]).toMatchObject([
    422,
    { code: 'quota_reached', message: 'A keychain has at most 65536 bytes of keys and values.' },
  ])
  expect(await small.rows(`select 1 from users where username = 'ada'`)).toEqual([])
  expect((await browser.send('POST', '/handshake', { body: keys })).status).toBe(200)
})

test('the quota of a keychain lets people above it change and remove, not add', async () => {
  const { browser, id } = await withKeys(small)
  await fill(small, id, 40)

  expect((await update(browser, { set: [entry('full-1', 'room_key', 'x')] })).status).toBe(200)
  expect(await update(browser, { set: [entry('new')] })).toMatchObject({
    status: 422,
    body: { errors: [{ code: 'quota_reached', source: { pointer: '/set' } }] },
  })
  expect((await update(browser, { remove: [entry('full-1')].map(slot) })).status).toBe(200)
  expect(await keysOf(browser)).toHaveLength(42)
})

test.for([
  ['KEYCHAIN_MAX_ENTRIES', '10001'],
  ['KEYCHAIN_MAX_ENTRIES', '5'],
  ['KEYCHAIN_MAX_BYTES', 'much'],
] as const)('the quota of a keychain is not set by %s=%s', ([name, wrong]) => {
  expect(() => readEnv({ [name]: wrong })).toThrow(new RegExp(name))
})

test('a keychain of thousands comes whole, in the list and after a change', async () => {
  const { browser, id } = await withKeys(svc)
  await fill(svc, id, 4990)

  const listed = await browser.send('GET', base)
  const updated = await update(browser, { set: [entry('last')] })

  const [list, whole] = [listed, updated].map(({ body }) => body as unknown as Listed)
  expect(list?.data).toHaveLength(4993)
  expect(whole?.data).toHaveLength(4994)
  expect(new Set(list?.data.map(({ id }) => id)).size).toBe(4993)
  expect(listed.body).toMatchObject({ jsonapi: { version: '1.1' }, links: { self: expect.stringContaining(base) } })
  expect(updated.body).toMatchObject({ jsonapi: { version: '1.1' }, meta: { _svc_sync_log: [] } })
  expect(listed.headers.get('etag')).toMatch(/^"/)
  const last = list?.data.at(-1)
  expect((await browser.send('GET', `${base}/${last?.id}`)).body['data']).toEqual(last)
})

/** Makes a key with an even modulus, which no RSA key has and browsers refuse. */
function evenKey() {
  const der = Buffer.from(makePublicKey(), 'base64')
  der[der.length - 6] = 2
  return der.toString('base64')
}

const slot = ({ key, keyType }: { key: string; keyType: string }) => ({ key, keyType })

/** Inserts entries for a person directly into the database. */
const fill = (svc: TestApp, userId: number, count: number) =>
  svc.rows(
    `insert into user_keychain_values (user_id, key, key_type, value)
     select $1, 'full-' || n, 'room_key', 'aXY=|dGFn|eHh4' from generate_series(1, $2) n`,
    [userId, count],
  )
