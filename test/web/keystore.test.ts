import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import * as web from '../../facades/web/browser/crypto.ts'
import { chromiumPath } from '../kit/parts/installed.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { loadBrowserModules } from '../kit/web/browser-modules.ts'

const salt = '0123456789abcdef0123456789abcdef'
const salts: web.Salts = { userdata: salt, passkey: salt, backup: salt, invitation: salt, ai: salt }

const prelude = `
import * as web from '/assets/crypto.js'
import { findKey as find, forgetKeys as forget, storeKey as keep } from '/assets/keystore.js'
const salts = ${JSON.stringify(salts)}
const tell = (value) => fetch('/told', { method: 'POST', body: JSON.stringify(value) })
const refusal = (promise) => promise.then(() => 'none', (error) => error.name)
for (const kind of ['error', 'unhandledrejection']) {
  addEventListener(kind, ({ error, reason }) => tell({ failed: String((error ?? reason)?.stack) }))
}
`

/** Runs each script on a page of its own in one real browser; returns the result of the last one. */
async function inBrowser(...scripts: string[]): Promise<unknown> {
  const modules = await loadBrowserModules()
  const { promise: told, resolve: tell, reject: fail } = Promise.withResolvers<unknown>()
  const server = createServer(async (request, response) => {
    const url = request.url ?? ''
    const page = /^\/(\d+)(\.js)?$/.exec(url)
    response.setHeader('content-security-policy', "default-src 'self'")
    if (url === '/told') tell(JSON.parse(await text(request)))
    if (page && !page[2]) {
      return response
        .setHeader('content-type', 'text/html')
        .end(`<!doctype html><script type="module" src="${url}.js"></script>`)
    }
    const body = page ? prelude + scripts[Number(page[1])] : modules.get(url)
    response.setHeader('content-type', 'text/javascript')
    response.statusCode = body === undefined ? 404 : 200
    response.end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const profile = await mkdtemp(join(tmpdir(), 'svc-chromium-'))
  const { port } = server.address() as AddressInfo
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', `--user-data-dir=${profile}`]
  const browser = spawn(chromiumPath, [...flags, `http://127.0.0.1:${port}/0`], { stdio: 'ignore', detached: true })
  const gone = once(browser, 'exit').then(() => fail(new Error('The browser has gone.')))
  const patience = setTimeout(() => fail(new Error('The page told nothing.')), 280_000)
  try {
    return await told
  } finally {
    clearTimeout(patience)
    // The browser consists of several processes in a group of their own.
    process.kill(-(browser.pid as number), 'SIGKILL')
    await gone
    server.closeAllConnections()
    server.close()
    await rm(profile, { recursive: true, maxRetries: 10 })
  }
}

const next = (page: number) => `location.href = '/${page}'`

describeWith('chromium')('in a real browser', () => {
  test('a stored key works on the next page, and cannot be exported', async () => {
    const sealed = await web.seal(await web.passkeyKey('Datakey_123', salts), 'a text')

    const result = await inBrowser(
      `await keep('1-abc', await web.passkeyKey('Datakey_123', salts)); ${next(1)}`,
      `const key = await find('1-abc')
       await tell({
         opened: await web.unseal(key, ${JSON.stringify(sealed)}),
         extractable: key.extractable,
         exported: await refusal(crypto.subtle.exportKey('raw', key)),
         stored: [Object.entries(localStorage), Object.entries(sessionStorage), document.cookie],
       })`,
    )

    expect(result).toEqual({
      opened: 'a text',
      extractable: false,
      exported: 'InvalidAccessError',
      stored: [[], [], ''],
    })
  })

  test('a key is forgotten on demand, and as soon as another owner asks', async () => {
    const result = await inBrowser(
      `const key = await web.passkeyKey('Datakey_123', salts)
       const found = async (owner) => (await find(owner)) !== undefined
       const before = await found('1-abc')
       await keep('1-abc', key)
       const kept = await found('1-abc')
       await forget()
       const forgotten = await found('1-abc')
       await keep('1-abc', key)
       const other = await found('1-xyz')
       await tell({ before, kept, forgotten, other, afterOther: await found('1-abc') })`,
    )

    expect(result).toEqual({ before: false, kept: true, forgotten: false, other: false, afterOther: false })
  })

  test('a key that could be exported is not kept', async () => {
    const result = await inBrowser(
      `const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt', 'decrypt'])
       await tell([await refusal(keep('1-abc', key)), (await find('1-abc')) === undefined])`,
    )

    expect(result).toEqual(['TypeError', true])
  })

  test('the keys of a first login are made, and open elsewhere', async () => {
    const result = await inBrowser(
      `const { handshake, backupCode } = await web.firstKeys('Datakey_123', 'jdoe', salts)
       await tell({ handshake, backupCode })`,
    )

    const { handshake, backupCode } = result as { handshake: web.Handshake; backupCode: string }
    const validator = { publicKey: handshake.publicKey, validator: handshake.keychain[1]!.value }
    const key = await web.unlock('Datakey_123', validator, salts)
    expect(await web.unsealEntry(key!, handshake.keychain[0]!)).toMatch(/^MII/)
    expect(await web.unlock('Datakey_124', validator, salts)).toBeUndefined()
    expect(await web.recover(backupCode, 'jdoe', handshake.passkeyBackup, salts)).toBe('Datakey_123')
  })

  test('the keys of a first login made elsewhere open', async () => {
    const { handshake, backupCode } = await web.firstKeys('Datakey_123', 'jdoe', salts)

    const result = await inBrowser(
      `const { publicKey, keychain, passkeyBackup } = ${JSON.stringify(handshake)}
       const validator = { publicKey, validator: keychain[1].value }
       const passkey = await web.recover('${backupCode}', 'jdoe', passkeyBackup, salts)
       const key = await web.unlock(passkey, validator, salts)
       await tell({
         passkey,
         privateKey: (await web.unsealEntry(key, keychain[0])).slice(0, 3),
         wrong: (await web.unlock('Datakey_124', validator, salts)) === undefined,
         misplaced: await refusal(web.unsealEntry(key, { ...keychain[2], keyType: 'private_key' })),
         altered: await refusal(web.recover('0000-0000-0000-0000', 'jdoe', passkeyBackup, salts)),
       })`,
    )

    expect(result).toEqual({
      passkey: 'Datakey_123',
      privateKey: 'MII',
      wrong: true,
      misplaced: 'Malformed',
      altered: 'CannotOpen',
    })
  })
})
