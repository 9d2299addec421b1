import { request } from 'node:http'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { signIn } from '../../kit/browser.ts'
import { base, startJsonApi } from '../../kit/json-api/client.ts'
import { whileChanging } from '../../kit/locks.ts'
import { listStoredFiles, PNG, sendAttachments, sendForm, upload } from '../../kit/rooms/attachments.ts'
import { createRoom } from '../../kit/rooms/messages.ts'
import { shareResource } from '../../kit/share-resource.ts'

const MAX = 200_000
/** Longer than any of these uploads takes. */
const TIMEOUT_MS = 60_000

let token: string
const svc = shareResource(() =>
  startJsonApi({
    MAX_FILE_SIZE: `${MAX}`,
    ALLOWED_FILE_MIME_TYPES: 'text/plain, image/png',
    ATTACHMENT_QUOTA: `${3 * MAX}`,
    UPLOADS_PER_PERSON: '2',
    UPLOADS_AT_ONCE: '3',
    UPLOAD_TIMEOUT: `${TIMEOUT_MS}ms`,
  }),
)
beforeAll(() => {
  token = svc.people.ada.token
})

afterEach(async () => {
  await svc.rows('delete from attachments')
  await svc.services.files.attachments.remove(await listStoredFiles(svc))
})

const refused = async ({ status, errors }: { status: number; errors: { code: string }[] }) => {
  const files = await listStoredFiles(svc)
  const rows = await svc.rows('select from attachments')
  return [status, errors[0]?.code, files.length, rows.length]
}

test('a file of the maximum size is accepted, and one byte more refused', async () => {
  expect((await upload(svc, token, 'x'.repeat(MAX))).status).toBe(201)
  await svc.rows('delete from attachments')
  await svc.services.files.attachments.remove(await listStoredFiles(svc))

  expect(await refused(await upload(svc, token, 'x'.repeat(MAX + 1)))).toEqual([413, 'too_large', 0, 0])
  expect(await refused(await upload(svc, token, 'x'.repeat(MAX * 2)))).toEqual([413, 'too_large', 0, 0])
  expect(await refused(await chunked('x'.repeat(MAX * 20)))).toEqual([413, 'too_large', 0, 0])
})

/** A form without a Content-Length. */
async function chunked(text: string) {
  const form = new FormData()
  form.append('file', new Blob([text]), 'a.txt')
  const { headers, body } = new Response(form)
  return sendForm(svc, token, body as ReadableStream, { 'content-type': headers.get('content-type') ?? '' })
}

test.for<[string, string | Buffer, number, string]>([
  ['a program', Buffer.from('MZ\x90\0\x03\0\0\0', 'latin1'), 415, 'unsupported_media_type'],
  ['a kind that is known and not allowed', '%PDF-1.7', 415, 'unsupported_media_type'],
  ['bytes of no kind', Buffer.from([1, 2, 3, 0]), 415, 'unsupported_media_type'],
  ['nothing', '', 422, 'invalid'],
])('%s is refused, whatever it is called, and nothing is kept', async ([, bytes, status, code]) => {
  for (const name of ['a.txt', 'a.png']) {
    const answer = await upload(svc, token, bytes, { name, type: 'image/png' })
    expect(await refused(answer)).toEqual([status, code === 'invalid' ? expect.stringMatching(/^invalid/) : code, 0, 0])
  }
})

test.for<[string, () => FormData]>([
  ['without a file', () => formOf(['clientEncrypted', 'true'])],
  ['with a file of another name', () => formOf(['picture', PNG])],
  ['with two files', () => formOf(['file', PNG], ['file', PNG])],
  ['with a field behind the file', () => formOf(['file', PNG], ['clientEncrypted', 'true'])],
  ['with a field that nobody knows', () => formOf(['room', '1'], ['file', PNG])],
  ['with something else than true or false', () => formOf(['clientEncrypted', 'perhaps'], ['file', PNG])],
])('a form %s is refused, and nothing is kept', async ([, form]) => {
  const [status, code, ...kept] = await refused(await sendForm(svc, token, form()))

  expect([status, code, kept]).toEqual([422, expect.stringMatching(/^invalid/), [0, 0]])
})

test('a form with too long a field is refused, and nothing is kept', async () => {
  const form = formOf(['clientEncrypted', 'x'.repeat(1001)], ['file', PNG])

  expect(await refused(await sendForm(svc, token, form))).toEqual([413, 'too_large', 0, 0])
})

function formOf(...parts: [name: string, value: string | Buffer][]): FormData {
  const form = new FormData()
  for (const [name, value] of parts) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new Blob([value as Uint8Array<ArrayBuffer>]), 'a.png')
  }
  return form
}

test.for<[string, string, string, number]>([
  ['JSON', 'application/json', '{}', 415],
  ['a form of another kind', 'application/x-www-form-urlencoded', 'a=b', 415],
  ['a form without a boundary', 'multipart/form-data', 'x', 422],
  [
    'a form that breaks off',
    'multipart/form-data; boundary=b',
    '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
    422,
  ],
  ['an empty body', 'multipart/form-data; boundary=b', '', 422],
])('%s is refused as a body', async ([, type, body, status]) => {
  const answer = await sendForm(svc, token, body, { 'content-type': type })

  expect((await refused(answer)).filter((_, at) => at !== 1)).toEqual([status, 0, 0])
})

test('the name of a file leads into no folder', async () => {
  const { status, one } = await upload(svc, token, 'x', { name: '../../etc/passwd' })

  expect([status, one.attributes['name']]).toEqual([201, 'passwd'])
})

test.for([
  ['a\u202Egnp.exe', 'must have no characters that turn the direction of text'],
  ['a\u0007b', 'must have no control characters'],
  ['x'.repeat(300), '255'],
] as [string, string][])('a deceptive file name is refused with its fault: %j', async ([name, reason]) => {
  const { status, errors } = await upload(svc, token, 'x', { name })

  expect([status, errors]).toMatchObject([422, [{ detail: expect.stringContaining(reason) }]])
})

test('concurrent uploads of a person never exceed their storage quota', async () => {
  const size = MAX - 1000
  const first = await upload(svc, token, 'x'.repeat(size))
  const second = await upload(svc, token, 'x'.repeat(size))
  const both = await Promise.all([1, 2].map(() => upload(svc, token, 'x'.repeat(size))))

  expect([first.status, second.status, ...both.map(({ status }) => status).sort()]).toEqual([201, 201, 201, 422])
  expect(await listStoredFiles(svc)).toHaveLength(3)
  expect((await upload(svc, svc.people.bob.token, 'x')).status).toBe(201)
})

test('concurrent uploads are bounded for a person and for the process', async () => {
  const own = [begin(token), begin(token)]
  await expect.poll(async () => (await listStoredFiles(svc)).length).toBe(2)
  const third = await upload(svc, token, 'x')
  own.push(begin(svc.people.bob.token))
  await expect.poll(async () => (await listStoredFiles(svc)).length).toBe(3)
  const other = await upload(svc, svc.people.admin.token, 'x')
  for (const { end } of own) end()

  expect([third.status, other.status]).toEqual([429, 503])
  expect(await Promise.all(own.map(({ status }) => status))).toEqual([201, 201, 201])
  expect((await upload(svc, token, 'x')).status).toBe(201)
})

test('a timed-out or aborted upload leaves nothing, and the first gets an error', async () => {
  await using hasty = await startJsonApi({ UPLOAD_TIMEOUT: '1500ms', UPLOADS_PER_PERSON: '1' })
  const slow = begin(hasty.people.ada.token, hasty)
  const broken = begin(token)
  await expect.poll(async () => (await listStoredFiles(svc)).length).toBe(1)
  broken.abort()
  await expect.poll(() => listStoredFiles(svc)).toEqual([])
  await broken.status

  expect(await slow.status).toBe(408)
  expect(await listStoredFiles(hasty)).toEqual([])
  expect(hasty.services.limits.uploads.acquire(String(hasty.people.ada.id))).toBeDefined()
})

/** Sends the first half of a file, and the rest on request. */
function begin(by: string, { url } = svc) {
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
  const sending = request(`${url}${base}/attachments/actions/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${by}`, 'content-type': 'multipart/form-data; boundary=b' },
  })
  const status = new Promise<number>((resolve) => {
    sending.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sending.on('error', () => resolve(0))
  })
  sending.write(head + 'x'.repeat(100_000))
  return { status, end: () => sending.end('y\r\n--b--\r\n'), abort: () => sending.destroy() }
}

test('a file of somebody who is erased while it comes in is not kept', async () => {
  const person = await svc.user({ abilities: ['write'] })

  const answer = await whileChanging(svc, `delete from users where id = ${person.id}`, () =>
    upload(svc, person.token, 'x'),
  )

  expect(await refused(answer)).toEqual([404, 'not_found', 0, 0])
})

test('a message is not sent with a file that is deleted concurrently', async () => {
  const room = await createRoom(svc)
  const { one } = await upload(svc, room.admin.token, 'x')

  const sent = await whileChanging(svc, `delete from attachments where id = ${one.id}`, () =>
    sendAttachments(room.admin, room.id, [one.id]),
  )

  expect(sent.status).toBe(404)
  expect((await room.admin.get(`/rooms/${room.id}/messages`)).list).toEqual([])
})

test('a page uploads and downloads with its session, and another site does not', async () => {
  const { browser } = await signIn(svc, 'fay')
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
  const form = () => formOf(['file', PNG])

  const own = await sendForm(svc, undefined, form(), { cookie, 'sec-fetch-site': 'same-origin' })
  const foreign = await sendForm(svc, undefined, form(), { cookie, 'sec-fetch-site': 'cross-site' })
  const picture = await svc.send('GET', `/proxy/storage/${own.one.attributes['identifier']}`, { headers: { cookie } })

  expect([own.status, foreign.status, picture.status]).toEqual([201, 403, 200])
  expect(Buffer.from(await picture.arrayBuffer()).equals(PNG)).toBe(true)
  expect((await browser.send('GET', '/proxy/storage/nonsense')).status).toBe(422)
})

test('an upload repeated with its Idempotency-Key is one attachment', async () => {
  const send = (text: string, { by = token, name = 'a.txt', key = 'k-1' } = {}) => {
    const form = new FormData()
    form.append('file', new Blob([text]), name)
    return sendForm(svc, by, form, { 'idempotency-key': key })
  }
  const { answers } = svc.services.stores
  const marking = vi.spyOn(answers, 'setIfAbsent')
  const [text, { bob }] = ['x'.repeat(100_000), svc.people]
  const both = await Promise.all([send(text), send(text)])
  const first = both.find(({ status }) => status === 201)
  expect(both.map(({ status }) => status).filter((status) => status !== 409)).toContain(201)

  expect(await send(text)).toMatchObject({ status: 201, text: first?.text, location: first?.location })
  // An open upload renews its lease; that of a killed process expires soon.
  expect(marking.mock.calls[0]?.[2]).toBe(10_000)
  marking.mockRestore()
  for (const [other, name] of [[`${text}x`], ['y'], [text, 'b.txt'], ['x'.repeat(MAX)]] as const) {
    const { status, errors } = await send(other, { name })
    expect([status, errors[0]?.code]).toEqual([409, 'idempotency_conflict'])
  }
  expect((await send('x'.repeat(MAX * 20))).status).toBe(413)
  expect([(await listStoredFiles(svc)).length, (await svc.rows('select from attachments')).length]).toEqual([1, 1])

  expect((await send('another file', { by: bob.token })).status).toBe(201)
  expect((await send('another key', { key: 'k-2' })).status).toBe(201)
  expect(await listStoredFiles(svc)).toHaveLength(3)
  expect((await send('\0\0', { key: 'k-3' })).status).toBe(415)
  expect((await send('text', { key: 'k-3' })).status).toBe(201)
})
