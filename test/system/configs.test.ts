import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Caller, UsageType } from '../../routers/core/caller.ts'
import { createContext } from '../../routers/core/context.ts'
import { createCaller } from '../../routers/index.ts'
import { idsOf, type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'

const extension = 'test/fixtures/public-extension.ts'

let svc: JsonApiApp
let extended: JsonApiApp
beforeAll(async () => {
  svc = await startJsonApi()
  extended = await startJsonApi({ EXTENSIONS: extension })
})
afterAll(() => Promise.all([svc, extended].map((one) => one[Symbol.asyncDispose]())))

type Blocks = Record<string, Record<string, unknown>>

/** Returns the blocks of a caller after checking that all three addresses return the same. */
async function blocksFor({ services }: JsonApiApp, caller: Caller, usage: UsageType, origin?: 'host'): Promise<Blocks> {
  const api = createCaller(() => createContext(services, { caller, usage, origin, requestId: 'test' }))
  const { items } = await api.configs.list()
  const blocks = Object.fromEntries(items.map(({ id, values = {} }) => [id, values]))
  for (const [id, values] of Object.entries(blocks)) expect(await api.configs.get({ id })).toEqual({ id, values })
  const { list } = await api.configs.public()
  expect({ ...list?.['svc-core'], ...list?.['extensions'] }).toEqual(blocks)
  return blocks
}

const guest: Caller = { type: 'guest' }
const registering: Caller = { type: 'registering', username: 'new', name: 'New', email: 'new@example.org' }
const userOf = ({ people: { ada } }: JsonApiApp): Caller => ({
  type: 'user',
  person: { ...ada, role: 'user', groups: [] },
})

const everybody = ['locale', 'security', 'transfer']
const signedIn = ['locale', 'salts', 'security', 'transfer', 'ai', 'storage_files', 'storage_avatars']

describe('blocks of configuration', () => {
  test.for<[string, (svc: JsonApiApp) => [Caller, UsageType, 'host'?], string[]]>([
    ['a guest', () => [guest, 'main'], everybody],
    ['who is registering', () => [registering, 'main'], ['locale', 'salts', 'security', 'transfer']],
    ['a user in the browser', (svc) => [userOf(svc), 'main'], signedIn],
    ['a user by token', (svc) => [userOf(svc), 'external'], [...signedIn, 'extApp']],
    ['the host', () => [guest, 'main', 'host'], everybody],
  ])('%s gets those that are for them', async ([, of, keys]) => {
    const blocks = await blocksFor(svc, ...of(svc))
    expect(Object.keys(blocks)).toEqual(keys)
    const [{ type }] = of(svc)
    expect(blocks['transfer']).toHaveProperty('baseUrl')
    const salts = {
      user: ['userdata', 'invitation', 'ai', 'passkey', 'backup'],
      registering: ['userdata', 'passkey', 'backup'],
    }
    expect(Object.keys(blocks['salts'] ?? {})).toEqual(type === 'user' || type === 'registering' ? salts[type] : [])
    if (blocks['extApp']) expect('aiInGroups' in blocks['extApp']).toBe(type === 'user')
  })

  test('the kinds of files that are announced are a setting that announces the same', async () => {
    const block = (await blocksFor(svc, userOf(svc), 'main'))['storage_files'] as { allowedMimeTypes: string[] }
    const all = block.allowedMimeTypes.join(',')
    await using copy = await startJsonApi({ ALLOWED_FILE_MIME_TYPES: all })
    expect((await blocksFor(copy, userOf(copy), 'main'))['storage_files']).toEqual(block)
  })

  test('blocks of configuration say what front ends need to know', async () => {
    await using svc = await startJsonApi({
      BASE_URL: 'https://svc.localhost:8443/base',
      APP_LOCALE: 'de_DE',
      USERDATA_ENCRYPTION_SALT: 'a salt of sixteen',
      APP_SECURITY_PASSKEY_ALLOW_PASTE: 'false',
      MAX_AVATAR_FILE_SIZE: '1000',
      MAX_FILE_SIZE: '5000',
      ALLOWED_FILE_MIME_TYPES: 'application/pdf, image/png',
    })
    const blocks = await blocksFor(svc, userOf(svc), 'main')
    expect(blocks['locale']).toEqual({
      default: 'de_DE',
      available: [
        { lang: 'de_DE', htmlLang: 'de-DE', nameInLanguage: 'Deutsch', shortName: 'DE' },
        { lang: 'en_US', htmlLang: 'en-US', nameInLanguage: 'English', shortName: 'EN' },
      ],
    })
    expect(blocks['security']).toEqual({
      passkeyAllowPaste: false,
      passkeyRestrictCharacters: false,
      keychainForm: 'salted',
    })
    expect(blocks['transfer']).toEqual({
      baseUrl: 'https://svc.localhost:8443/base',
      websocket: { key: 'svc', host: 'svc.localhost', port: 8443, forceTls: true, path: '/base/ws/transfer' },
    })
    expect(blocks['ai']).toEqual({
      handle: '@svc',
      svcUserDisplayName: 'svc',
      svcUserUsername: 'svc',
      svcUserAvatar: 'profile_avatars-00000000-0000-4000-8000-000000000001',
    })
    expect(blocks['storage_files']).toEqual({
      maxFileSize: 5000,
      allowedMimeTypes: ['application/pdf', 'image/png'],
      allowedExtensions: ['pdf', 'png'],
    })
    expect(blocks['storage_avatars']).toMatchObject({
      maxFileSize: 1000,
      allowedExtensions: expect.arrayContaining(['png', 'jpg']),
    })
    expect(blocks['salts']).toMatchObject({
      userdata: 'a salt of sixteen',
      passkey: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  test('blocks of configuration are served to guests and to programs over the wire', async () => {
    const { list, status } = await svc.guest.get('/configs')
    expect([status, idsOf(list)]).toEqual([200, everybody])
    expect(idsOf((await svc.ada.get('/configs')).list)).toEqual([...signedIn, 'extApp'])
    const locale = await svc.guest.get('/configs/locale')
    expect(locale.one).toMatchObject({
      type: 'configs',
      id: 'locale',
      attributes: { values: { default: 'en_US' } },
      links: { self: '/api/svc/v1/configs/locale' },
    })
    const all = await svc.guest.get('/configs/public')
    expect([all.one.id, all.links['self'], Object.keys(all.one.attributes)]).toEqual([
      'public',
      '/api/svc/v1/configs/public',
      ['list'],
    ])
    expect(Object.keys((all.one.attributes['list'] as Record<string, Blocks>)['svc-core'] ?? {})).toEqual(everybody)
    for (const path of ['/configs', '/configs/public', '/configs/transfer'])
      expect((await svc.guest.get(path)).text).not.toMatch(/websocket|salts|aiInGroups/)
  })

  test('hidden configuration blocks answer like blocks that do not exist', async () => {
    const say = async (key: string) => {
      const { status, errors } = await extended.guest.get(`/configs/${key}`)
      const [{ detail, code } = {}] = errors
      return [status, code, detail?.replaceAll(key, 'KEY')]
    }
    const missing = await say('nonsense')
    expect(missing[0]).toBe(404)
    for (const key of ['salts', 'ai', 'storage_files', 'storage_avatars', 'extApp', 'campus_staff', '__proto__'])
      expect(await say(key)).toEqual(missing)
    expect((await extended.ada.get('/configs/campus_staff')).status).toBe(200)
    const change = async (method: string, path: string) =>
      (await extended.admin.send(method, path, { data: {} })).status
    expect(await change('POST', '/configs')).toBe(405)
    expect(await change('PATCH', '/configs/locale')).toBe(403)
    expect(await change('DELETE', '/configs/locale')).toBe(405)
    expect((await extended.guest.get('/configs/public?nonsense=1')).errors[0]?.source).toEqual({
      parameter: 'nonsense',
    })
    expect((await extended.guest.get('/configs/public?fields[configs]=values')).one.attributes).toEqual({})
  })

  test('blocks of configuration are added by modules of the operator, which decide for whom', async () => {
    const asGuest = await extended.guest.get('/configs')
    expect(idsOf(asGuest.list)).toEqual([...everybody, 'campus', 'campus_later'])
    expect((await extended.guest.get('/configs/campus')).one.attributes['values']).toEqual({
      motto: 'Read more.',
      for: 'guest',
      usage: 'main',
    })
    expect((await extended.ada.get('/configs/campus')).one.attributes['values']).toMatchObject({
      for: 'user',
      usage: 'external',
    })
    const { one } = await extended.ada.get('/configs/public')
    expect(Object.keys((one.attributes['list'] as Record<string, Blocks>)['extensions'] ?? {})).toEqual([
      'campus',
      'campus_staff',
      'campus_later',
    ])
    expect((await extended.guest.get('/configs/campus_later')).one.attributes['values']).toEqual({ open: true })
  })
})
