import { describe, expect, test } from 'vitest'
import { startApp, type TestApp } from './app.ts'
import { firstKeys, openBrowser, signIn, type TestBrowser } from './browser.ts'

const base = '/api/svc/v1/user-keychain-values'
const value = (text: string) => ['iv', 'tag', text].map((part) => Buffer.from(part).toString('base64')).join('|')
const entry = (key: string, keyType = 'room_key', text = key) => ({ key, keyType, value: value(text) })

interface Listed {
  data: { id: string; attributes: { userId: number; key: string; keyType: string; value: string } }[]
}

/** A browser of somebody who has made their keys. */
async function withKeys(svc: TestApp, username = 'ada') {
  const { browser, id } = await signIn(svc, username, { keys: false })
  const { status } = await browser.send('POST', '/handshake', { body: firstKeys(username) })
  expect(status).toBe(200)
  return { browser, id }
}

const keysOf = async (browser: TestBrowser) => {
  const { body } = await browser.send('GET', base)
  return (body as unknown as Listed).data.map(({ attributes }) => attributes.key).sort()
}

const update = (browser: TestBrowser, body: unknown) => browser.send('POST', `${base}/actions/batch-update`, { body })

describe('a keychain', () => {
  test('is seen by its person only', async () => {
    await using svc = await startApp()
    const ada = await withKeys(svc, 'ada')
    const bob = await withKeys(svc, 'bob')
    const { body } = await ada.browser.send('GET', base)
    const [first] = (body as unknown as Listed).data

    expect((body as unknown as Listed).data.map(({ attributes }) => attributes.userId)).toEqual([
      ada.id,
      ada.id,
      ada.id,
    ])
    expect((await ada.browser.send('GET', `${base}/${first?.id}`)).status).toBe(200)
    expect((await bob.browser.send('GET', `${base}/${first?.id}`)).status).toBe(404)
    expect((await openBrowser(svc.url).send('GET', base)).status).toBe(401)
    expect((await openBrowser(svc.url).send('GET', `${base}/${first?.id}`)).status).toBe(401)
  })

  test('is seen by no administrator either', async () => {
    await using svc = await startApp()
    await withKeys(svc, 'ada')
    const root = await svc.user({ username: 'root', role: 'admin', abilities: ['read', 'write', 'keychain'] })

    const answer = await svc.send('GET', base, { token: root.token })

    expect(await answer.json()).toMatchObject({ data: [] })
  })

  test('takes entries, replaces those there are and gives the whole back', async () => {
    await using svc = await startApp()
    const { browser } = await withKeys(svc)

    const { status, body } = await update(browser, {
      publicKey: Buffer.from('another').toString('base64'),
      set: [entry('lab'), entry('aiConvKey', 'ai_conv', 'new')],
      remove: [{ key: 'nothing', keyType: 'room_key' }],
    })

    expect(status).toBe(200)
    expect(body).toMatchObject({ meta: { _svc_sync_log: [] } })
    const written = (body as unknown as Listed).data.map(({ attributes }) => [attributes.key, attributes.value])
    expect(Object.fromEntries(written)).toMatchObject({ lab: value('lab'), aiConvKey: value('new') })
    expect(written).toHaveLength(4)
    expect(await svc.rows('select public_key from users where username = $1', ['ada'])).toEqual([
      { public_key: Buffer.from('another').toString('base64') },
    ])
  })

  test('is emptied before it is filled, and entries are removed by key and type', async () => {
    await using svc = await startApp()
    const { browser } = await withKeys(svc)

    await update(browser, { clean: '1', set: [entry('a'), entry('b'), entry('a', 'room_ai')] })
    await update(browser, { remove: [{ key: 'a', type: 'room_key' }] })

    expect(await keysOf(browser)).toEqual(['a', 'b'])
  })

  test('takes a JSON:API document as well', async () => {
    await using svc = await startApp()
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
    ['a member that is not known', { newPublicKey: 'YQ==' }],
  ] as const)('refuses %s, and changes nothing', async ([, wrong]) => {
    await using svc = await startApp()
    const { browser } = await withKeys(svc)
    const before = await keysOf(browser)

    const { status, body } = await update(browser, { clean: true, set: [entry('good')], ...wrong })

    expect(status).toBe(422)
    expect((body as { errors: { status: string }[] }).errors[0]).toMatchObject({ status: '422' })
    expect(await keysOf(browser)).toEqual(before)
  })

  test('is changed by a token only where the token may', async () => {
    await using svc = await startApp()
    const user = await svc.user({ abilities: ['read', 'write'] })
    const able = await svc.user({ abilities: ['keychain'] })
    const path = `${base}/actions/batch-update`

    expect((await svc.send('POST', path, { token: user.token, body: { set: [entry('x')] } })).status).toBe(403)
    expect((await svc.send('POST', path, { token: able.token, body: { set: [entry('x')] } })).status).toBe(200)
    expect((await svc.send('POST', path, { body: { set: [entry('x')] } })).status).toBe(401)
  })

  test('survives two browsers at once', async () => {
    await using svc = await startApp()
    const { browser } = await withKeys(svc)
    const rounds = Array.from({ length: 12 }, (_, index) =>
      update(browser.copy(), { clean: true, set: [entry(`key-${index}`)] }),
    )

    const statuses = (await Promise.all(rounds)).map(({ status }) => status)

    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await keysOf(browser)).toHaveLength(1)
  })
})

describe('the validator', () => {
  test('is the sealed public key, with the clear one beside it', async () => {
    await using svc = await startApp()
    const { browser } = await withKeys(svc)
    const keys = firstKeys('ada')

    const { status, body } = await browser.send('GET', `${base}/actions/validator`)

    expect(status).toBe(200)
    expect(body).toMatchObject({
      data: { type: 'user-keychain-values', attributes: { keyType: 'public_key' } },
      meta: { publicKey: keys.publicKey, validator: keys.keychain[1]?.value },
    })
  })

  test('is not there for somebody without keys, nor for a guest', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc)

    expect((await browser.send('GET', `${base}/actions/validator`)).status).toBe(404)
    expect((await openBrowser(svc.url).send('GET', `${base}/actions/validator`)).status).toBe(401)
  })
})
