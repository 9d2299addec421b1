import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import sharp from 'sharp'
import { afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { removeEverybody } from '../kit/identity/first-keys.ts'
import { newName } from '../kit/identity/people.ts'
import { whileChanging } from '../kit/locks.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)
beforeAll(async () => {
  await mkdir(join(svc.folder, 'files'), { recursive: true })
})
// Removes all people and pictures for the next test, the AI user's included.
afterEach(async () => {
  await removeEverybody(svc)
  await svc.changeCatalogue('update users set avatar = null where id = 1')
  for (const path of await filesOf(svc)) await rm(path)
})

const picture = (colour: string) =>
  sharp({ create: { width: 40, height: 30, channels: 3, background: colour } })
    .png()
    .toBuffer()

/** Sets or removes a person's picture as the page of their settings does; returns the status. */
async function change(browser: TestBrowser, id: number, image: Buffer | null): Promise<number> {
  const attributes = { avatar: image?.toString('base64') ?? null }
  const { status } = await browser.send('PATCH', `/api/svc/v1/users/${id}`, {
    body: { data: { type: 'users', id: String(id), attributes } },
    headers: { 'content-type': 'application/vnd.api+json', 'sec-fetch-site': 'same-origin' },
  })
  return status
}

const attributesOf = (document: unknown) =>
  (document as { data: { attributes: Record<string, unknown> } }).data.attributes

const pathOf = (id: unknown) => `/req/profile/picture/${id}`

/** Downloads a person's picture as a browser. */
async function look(svc: TestApp, id: unknown, browser?: TestBrowser, more: { query?: string; known?: string } = {}) {
  const headers = { cookie: `svc_session=${browser?.session}`, ...(more.known && { 'if-none-match': more.known }) }
  const answer = await svc.send('GET', `${pathOf(id)}${more.query ?? ''}`, browser && { headers })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

/** Returns red, green and blue of the middle pixel. */
async function colourOf(bytes: Buffer): Promise<number[]> {
  const { data } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const middle = 3 * (128 * 256 + 128)
  return [...data.subarray(middle, middle + 3)]
}

async function signInWithPicture() {
  const ada = await signIn(svc, newName())
  expect(await change(ada.browser, ada.id, await picture('#ff0000'))).toBe(200)
  return ada
}

test('the picture of a person is sent to themselves as a square, cached privately', async () => {
  const ada = await signInWithPicture()

  const { status, headers, bytes } = await look(svc, ada.id, ada.browser)

  expect([status, headers.get('content-type')]).toEqual([200, 'image/webp'])
  expect(headers.get('cache-control')).toBe('private, max-age=300')
  expect(headers.get('content-security-policy')).toBe("default-src 'none'")
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 256, height: 256 })
  const [red = 0, green = 255, blue = 255] = await colourOf(bytes)
  expect([red > 240, green < 20, blue < 20]).toEqual([true, true, true])
})

test('the picture of a person comes in two sizes, and supports conditional requests', async () => {
  const ada = await signInWithPicture()

  const [large, small] = [
    await look(svc, ada.id, ada.browser),
    await look(svc, ada.id, ada.browser, { query: '?size=small' }),
  ]
  const etag = large.headers.get('etag') ?? ''

  expect(await sharp(small.bytes).metadata()).toMatchObject({ format: 'webp', width: 64, height: 64 })
  expect(small.headers.get('etag')).not.toBe(etag)
  expect(await look(svc, ada.id, ada.browser, { known: etag })).toMatchObject({ status: 304, bytes: Buffer.alloc(0) })
  expect((await look(svc, ada.id, ada.browser, { query: '?size=huge' })).status).toBe(422)
})

const filesOf = async ({ folder }: TestApp) =>
  (await readdir(join(folder, 'files'), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

test('the picture of a person is downloaded by its identifier only by acquaintances', async () => {
  const ada = await signInWithPicture()
  const { token: stranger } = await signIn(svc, newName('bob'))
  const { avatar } = attributesOf((await ada.browser.send('GET', `/api/svc/v1/users/${ada.id}`)).body)
  expect(avatar).toMatch(/^profile_avatars-[0-9a-f-]{36}$/)
  const { avatar_id } = (await (await svc.send('GET', '/api/user', { token: ada.token })).json()) as {
    avatar_id: string
  }
  expect(`profile_avatars-${avatar_id}`).toBe(avatar)

  for (const path of [`/proxy/storage/${avatar}`, `/api/svc/v1/proxy/storage/${avatar}`]) {
    const get = (token?: string, headers = {}) => svc.send('GET', path, { token, headers })
    const own = await get(ada.token)
    const bytes = Buffer.from(await own.arrayBuffer())
    expect(Object.fromEntries(own.headers)).toMatchObject({
      'content-type': 'image/webp',
      'cache-control': 'private, no-cache',
      'content-length': String(bytes.length),
      'content-security-policy': expect.stringContaining('sandbox'),
    })
    expect(bytes.equals((await look(svc, ada.id, ada.browser)).bytes)).toBe(true)
    expect((await get(ada.token, { 'if-none-match': own.headers.get('etag') ?? '' })).status).toBe(304)
    const part = await get(ada.token, { range: 'bytes=8-11' })
    expect([part.status, await part.text()]).toEqual([206, 'WEBP'])
    expect([(await get(stranger)).status, (await get()).status]).toEqual([404, 401])
    expect((await svc.send('GET', path.replace('profile', 'room'), { token: ada.token })).status).toBe(404)
  }
})

/** Makes the files two hours older and sweeps; counts the swept and the remaining files. */
async function leftAfterSweep(svc: TestApp) {
  const earlier = new Date(Date.now() - 2 * 60 * 60_000)
  for (const path of await filesOf(svc)) await utimes(path, earlier, earlier)
  const { pictures } = await svc.host.files.sweep()
  return { swept: pictures, left: (await filesOf(svc)).length }
}

test('the picture of a person stays when any step of a change fails', async () => {
  const ada = await signInWithPicture()
  const { storage } = svc.services.files
  const { put: store, delete: remove } = storage
  onTestFinished(() => void Object.assign(storage, { put: store, delete: remove }))
  const failStorage = async () => {
    throw new Error('broken')
  }
  const [before, other] = [(await look(svc, ada.id, ada.browser)).bytes, await picture('#00ff00')]
  const failures: [string, () => void][] = [
    ['the large one is stored', () => Object.assign(storage, { put: failStorage })],
    [
      'the small one is stored',
      () =>
        Object.assign(storage, {
          put: (key: string, bytes: Uint8Array) => (key.includes('-small') ? failStorage() : store(key, bytes)),
        }),
    ],
  ]
  for (const [step, fail] of failures) {
    fail()
    expect([step, await change(ada.browser, ada.id, other)]).toEqual([step, 500])
    Object.assign(storage, { delete: failStorage })
    expect([step, await change(ada.browser, ada.id, other)]).toEqual([step, 500])
    Object.assign(storage, { put: store, delete: remove })
    expect((await look(svc, ada.id, ada.browser)).bytes.equals(before)).toBe(true)
  }
  expect(await leftAfterSweep(svc)).toEqual({ swept: 1, left: 2 })

  Object.assign(storage, { delete: failStorage })
  expect(await change(ada.browser, ada.id, other)).toBe(200)
  Object.assign(storage, { delete: remove })
  expect(await filesOf(svc)).toHaveLength(4)
  expect(await leftAfterSweep(svc)).toEqual({ swept: 1, left: 2 })
  expect((await look(svc, ada.id, ada.browser)).status).toBe(200)
})

test('the picture of a person is encrypted on the disk, and removed with them', async () => {
  const ada = await signInWithPicture()
  const stored = await filesOf(svc)
  const bytes = await Promise.all(stored.map((path) => readFile(path)))

  expect(bytes.map((file) => file.includes('WEBP'))).toEqual([false, false])
  await copyFile(
    stored.find((path) => path.includes('-small')) ?? '',
    stored.find((path) => !path.includes('-small')) ?? '',
  )
  expect((await look(svc, ada.id, ada.browser)).status).toBe(500)

  // The person changes the picture at the same moment.
  const newer = `avatars/${randomUUID()}.webp`
  for (const path of stored) await rename(path, path.replace(/[^/]{36}(?=(-small)?\.webp$)/, basename(newer, '.webp')))
  await whileChanging(svc, `update users set avatar = '${newer}' where id = ${ada.id}`, () =>
    svc.host.admin.removeUser({ user: { id: ada.id } }),
  )
  expect(await filesOf(svc)).toEqual([])
})

test('the picture of a person from before encryption is sent unchanged in both sizes', async () => {
  const ada = await signInWithPicture()
  const [{ avatar } = { avatar: '' }] = await svc.rows<{ avatar: string }>('select avatar from users where id = $1', [
    ada.id,
  ])
  const old = await sharp(await picture('#0000ff'))
    .resize(256, 256)
    .webp()
    .toBuffer()
  for (const path of await filesOf(svc)) await rm(path)
  await writeFile(join(svc.folder, 'files', avatar), old)

  for (const query of ['', '?size=small'])
    expect((await look(svc, ada.id, ada.browser, { query })).bytes.equals(old)).toBe(true)
  expect(await change(ada.browser, ada.id, null)).toBe(200)
  expect(await filesOf(svc)).toEqual([])
})

test('the picture of a person looks to strangers like that of a missing person', async () => {
  const ada = await signInWithPicture()
  const { browser: bob, token } = await signIn(svc, newName('bob'))

  for (const id of [ada.id, 999_999]) {
    const message = `There is no resource of the type users with the id ${id}.`
    const { status, body } = await bob.send('GET', pathOf(id))
    expect([status, body]).toEqual([404, { success: false, code: 'not_found', message, requestId: expect.any(String) }])
  }
  expect((await svc.send('GET', pathOf(ada.id), { token })).status).toBe(404)
})

test('the picture of a person is closed to guests and people who are registering', async () => {
  const ada = await signInWithPicture()
  const { browser: newcomer } = await signIn(svc, newName('carol'), { known: false })

  expect((await openBrowser(svc.url).send('GET', pathOf(ada.id))).status).toBe(401)
  expect((await newcomer.send('GET', pathOf(ada.id))).status).toBe(403)
})

test('the picture of a person is open to their own token that may read', async () => {
  const ada = await signInWithPicture()

  expect((await svc.send('GET', pathOf(ada.id), { token: ada.token })).status).toBe(200)
  await svc.rows("update access_tokens set abilities = '{ai}' where user_id = $1", [ada.id])
  expect((await svc.send('GET', pathOf(ada.id), { token: ada.token })).status).toBe(403)
})

test('the picture of a person changes and goes when they change or remove it', async () => {
  const ada = await signInWithPicture()

  await change(ada.browser, ada.id, await picture('#0000ff'))
  const [, , blue = 0] = await colourOf((await look(svc, ada.id, ada.browser)).bytes)
  expect(await change(ada.browser, ada.id, null)).toBe(200)

  expect(blue).toBeGreaterThan(240)
  expect((await look(svc, ada.id, ada.browser)).status).toBe(404)
})

test('the picture of a person that is the AI is visible after any sign-in', async () => {
  const ada = await signInWithPicture()
  const builtIn = await look(svc, 1, ada.browser)

  await svc.host.admin.updateAiAvatar({ image: (await picture('#00ff00')).toString('base64') })

  const [, green = 0] = await colourOf((await look(svc, 1, ada.browser)).bytes)
  expect(builtIn.status).toBe(200)
  expect(await sharp(builtIn.bytes).metadata()).toMatchObject({ format: 'webp', width: 256, height: 256 })
  expect(green).toBeGreaterThan(240)
  expect((await look(svc, 1)).status).toBe(401)
})

test('the picture of a person is reported for the AI before and after setting', async () => {
  const ada = await signInWithPicture()
  const readAvatars = async () => {
    const { body: config } = await ada.browser.send('GET', '/api/svc/v1/configs/ai')
    const { body: user } = await ada.browser.send('GET', '/api/svc/v1/users/1')
    const { values } = attributesOf(config) as { values: Record<string, unknown> }
    return [values['svcUserAvatar'], attributesOf(user)['avatar']]
  }
  expect(await svc.rows('select avatar from users where id = 1')).toEqual([{ avatar: null }])

  const before = await readAvatars()
  const { avatar } = await svc.host.admin.updateAiAvatar({ image: (await picture('#00ff00')).toString('base64') })

  const after = await readAvatars()
  const builtIn = 'profile_avatars-00000000-0000-4000-8000-000000000001'
  expect(before).toEqual([builtIn, builtIn])
  const identifier = String(avatar).replace('avatars/', 'profile_avatars-').replace('.webp', '')
  expect(after).toEqual([identifier, identifier])
  for (const name of [builtIn, identifier])
    expect((await svc.send('GET', `/proxy/storage/${name}`, { token: ada.token })).status).toBe(200)
})

test.for([['..%2F..%2Fapp.key'], ['0'], ['-1'], ['1e3'], ['1%00'], ['99999999999999999999'], ["1' or 1=1"], ['x']])(
  'the picture of a person is not found by %s',
  async ([id]) => {
    const { browser } = await signIn(svc, newName())

    expect([404, 422]).toContain((await look(svc, id, browser)).status)
  },
)
