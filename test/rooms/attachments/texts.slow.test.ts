import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { buildQuestion } from '../../kit/ai/provider.ts'
import { base, type Resource, startJsonApi } from '../../kit/json-api/client.ts'
import { PNG, sendAttachments, UNTIL_READ, upload } from '../../kit/rooms/attachments.ts'
import { createPerson, createRoom } from '../../kit/rooms/messages.ts'
import { makeDocx } from '../../kit/sample-files/documents.ts'
import { makePdf } from '../../kit/sample-files/pdf.ts'
import { deflateZeros } from '../../kit/sample-files/zip.ts'
import { shareResource } from '../../kit/share-resource.ts'

const svc = shareResource(() => startJsonApi({ AI_CONFIG: '', FILE_TEXT_TIMEOUT: '40s', FILE_TEXT_WORKERS: '2' }))

type By = Awaited<ReturnType<typeof createPerson>>

const facts = async (by: Pick<By, 'get'>, id: string) => (await by.get(`/attachments/${id}`)).one.attributes
const state = async (by: Pick<By, 'get'>, id: string) => (await facts(by, id))['textState']
/** Concurrent tests cannot use `expect.poll`, which needs the current test. */
const settled = (by: Pick<By, 'get'>, id: string) =>
  vi.waitUntil(async () => (await state(by, id)) !== 'pending', UNTIL_READ)

async function textOf(token: string | undefined, id: string, headers: Record<string, string> = {}) {
  const response = await svc.send('GET', `${base}/attachments/${id}/actions/text`, { token, headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

test("a file's text is readable some time after its upload by its readers", async () => {
  const room = await createRoom(svc, ['editor', 'viewer'])
  const { one } = await upload(svc, room.editor.token, makePdf({ lines: ['Grand plan'] }), { name: 'plan.pdf' })
  expect(one.attributes).toMatchObject({ textState: 'pending', textFailure: null, textTruncated: false })
  await settled(room.editor, one.id)
  expect(await facts(room.editor, one.id)).toMatchObject({ textState: 'ready', textFailure: null })

  const got = await textOf(room.editor.token, one.id)
  expect(got).toMatchObject({ status: 200, text: 'Grand plan' })
  expect(got.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(got.headers.get('content-disposition')).toContain('plan.pdf.txt')
  expect((await textOf(room.editor.token, one.id, { range: 'bytes=6-9' })).text).toBe('plan')

  expect((await textOf(room.viewer.token, one.id)).status).toBe(404)
  await sendAttachments(room.editor, room.id, [one.id])
  expect((await textOf(room.viewer.token, one.id)).text).toBe('Grand plan')
  expect((await textOf(svc.people.bob.token, one.id)).status).toBe(404)
  expect((await textOf(svc.people.admin.token, one.id)).status).toBe(404)
  expect((await textOf(undefined, one.id)).status).toBe(401)
})

test("members of a room are notified when a file's text is ready", async () => {
  const room = await createRoom(svc, ['editor'])
  const { one } = await upload(svc, room.editor.token, makePdf({ lines: ['News'] }), { name: 'news.pdf' })
  await settled(room.editor, one.id)
  await sendAttachments(room.editor, room.id, [one.id])
  const { position } = await room.changes(room.admin)
  await svc.rows('delete from attachment_texts where attachment_id = $1', [one.id])
  await svc.rows(`update attachments set text_state = 'pending' where id = $1`, [one.id])
  await svc.host.attachments.readText({ attachmentId: Number(one.id) })
  const { changes } = await room.changes(room.admin, position)
  expect(changes).toContainEqual(expect.objectContaining({ kind: 'attachments.updated', subject: one.id }))
})

test('a text is kept encrypted and goes with its file', async () => {
  const ada = await createPerson(svc)
  const { one } = await upload(svc, ada.token, 'a secret recipe', { name: 'recipe.txt' })
  await settled(ada, one.id)
  const kept = () =>
    svc.rows<{ sealed: Buffer }>('select sealed from attachment_texts where attachment_id = $1', [one.id])
  const [row] = await kept()
  expect(row?.sealed.includes('recipe')).toBe(false)

  await svc.rows(
    'update attachment_texts set sealed = set_byte(sealed, 20, 255 - get_byte(sealed, 20)) where attachment_id = $1',
    [one.id],
  )
  expect((await textOf(ada.token, one.id)).status).toBe(500)
  await ada.delete(`/attachments/${one.id}`)
  expect(await kept()).toEqual([])
})

test('ciphertext of a browser is never read', async () => {
  const ada = await createPerson(svc)
  const fields = { clientEncrypted: 'true' }
  const { one } = await upload(svc, ada.token, makePdf({ lines: ['Hidden'] }), { name: 'a.pdf', fields })
  expect(one.attributes['textState']).toBe('none')
  await svc.host.attachments.readText({ attachmentId: Number(one.id) })
  expect(await state(ada, one.id)).toBe('none')
  expect((await textOf(ada.token, one.id)).status).toBe(404)
})

test('a text that failed its maximum of attempts is reported as failed', async () => {
  const ada = await createPerson(svc)
  const { one } = await upload(svc, ada.token, makePdf({ lines: ['x'] }), { name: 'a.pdf' })
  await settled(ada, one.id)
  await svc.rows(`update attachments set text_state = 'pending' where id = $1`, [one.id])
  await svc.services.files.attachments.remove([String(one.attributes['uuid'])])
  await expect(svc.host.attachments.readText({ attachmentId: Number(one.id) })).rejects.toThrow()
  expect(await state(ada, one.id)).toBe('pending')
  await svc.host.attachments.giveUpText({ attachmentId: Number(one.id) })
  expect(await facts(ada, one.id)).toMatchObject({ textState: 'failed', textFailure: 'not-read' })
})

const script = '<script>alert(1)</script>'
const entities = '<!DOCTYPE svg [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
const svg = `<svg xmlns="http://www.w3.org/2000/svg">${script}<text>&e;</text></svg>`
const program = 'GIF89a=1;alert(1)//'.padEnd(64, ' ')
const hugePng = Buffer.from(PNG)
hugePng.writeUInt32BE(60_000, 16)
hugePng.writeUInt32BE(60_000, 20)
const bomb = makeDocx(
  ['x'],
  [{ name: 'word/media/a', content: '', deflated: deflateZeros(2048), claimedSize: 2 ** 31 }],
)
const locked = makePdf({ lines: ['x'], isEncrypted: true })

describe.concurrent('what comes of a hostile file is a clear state:', () => {
  test.each<[string, string, Buffer | string, object]>([
    ['2 GiB of zeros in 2 MB', 'a.docx', bomb, { textState: 'failed', textFailure: 'too-large' }],
    ['a PDF with a password', 'a.pdf', locked, { textState: 'failed', textFailure: 'encrypted' }],
    ['a picture of 60,000 by 60,000 points', 'a.png', hugePng, { mime: 'image/png', textState: 'none' }],
    ['a picture with a script', 'a.svg', svg, { mime: 'image/svg+xml', textState: 'none' }],
    ['a picture with an entity', 'a.svg', entities + svg, { mime: 'image/svg+xml', textState: 'none' }],
    ['a program that begins like a picture', 'a.gif', program, { mime: 'text/plain', textState: 'ready' }],
    ['text that is called a PDF', 'a.pdf', 'plain words', { mime: 'text/plain', textState: 'ready' }],
  ])('%s', async (_, name, bytes, expected) => {
    const person = await createPerson(svc)
    const { one } = await upload(svc, person.token, bytes, { name })
    await settled(person, one.id)
    expect(await facts(person, one.id)).toMatchObject(expected)
    expect((await textOf(person.token, one.id)).text).not.toContain('root:')
  })
})

const sentence = 'Nothing of this report keeps anybody waiting. '.repeat(10)
const report = makePdf({ lines: Array.from({ length: 200 }, (_, index) => `Page ${index + 1}. ${sentence}`) })
const endless = makePdf({ lines: ['x'], repeated: 5000, drawing: 'q Q '.repeat(500_000) })

/** Returns the status and the bytes of curl's response. */
async function curl(token: string, ...args: string[]) {
  const { stdout } = await promisify(execFile)(
    'curl',
    ['-s', '-w', '\n%{http_code}', '-H', `Authorization: Bearer ${token}`, ...args],
    { encoding: 'latin1', maxBuffer: 64 * 1024 * 1024 },
  )
  const end = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(end + 1)), bytes: Buffer.from(stdout.slice(0, end), 'latin1') }
}

test('a report of 200 pages is uploaded, sent and read while models answer', async () => {
  const room = await createRoom(svc, ['editor'])
  const [stranger, sender] = [await createPerson(svc), await svc.user({ abilities: ['ai'] })]
  const file = join(svc.folder, 'report.pdf')
  await writeFile(file, report)
  const uploaded = await curl(room.admin.token, '-F', `file=@${file}`, `${svc.url}${base}/attachments/actions/upload`)
  const { data } = JSON.parse(uploaded.bytes.toString()) as { data: Resource }
  expect([uploaded.status, data.attributes]).toMatchObject([201, { name: 'report.pdf', textState: 'pending' }])
  expect((await sendAttachments(room.admin, room.id, [data.id])).status).toBe(201)

  const answers = new Set<string>()
  const sendQuestion = async () => {
    const ai = await svc.send('POST', '/api/ai-req', { token: sender.token, body: buildQuestion('Hello', 'demo') })
    answers.add(`${ai.status} ${await ai.text()}`)
  }
  await sendQuestion()
  while ((await state(room.editor, data.id)) === 'pending') {
    await sendQuestion()
    await pause(50)
  }
  expect([...answers]).toEqual([expect.stringMatching(/^200 /)])
  const { text } = await textOf(room.editor.token, data.id)
  for (const page of ['Page 1. ', 'Page 100. ', 'Page 200. ']) expect(text).toContain(page)

  for (const path of [`/attachments/${data.id}/actions/download`, `/proxy/storage/${data.attributes['identifier']}`]) {
    const address = `${svc.url}${base}${path}`
    const [whole, part, strange] = await Promise.all([
      curl(room.editor.token, address),
      curl(room.editor.token, '-r', '1000-1999', address),
      curl(stranger.token, address),
    ])
    expect([whole.status, whole.bytes.equals(report)]).toEqual([200, true])
    expect([part.status, part.bytes.equals(report.subarray(1000, 2000))]).toEqual([206, true])
    expect(strange.status).toBe(404)
  }
})

test('while an endless file is read, models answer and the service is healthy', async () => {
  await using hasty = await startJsonApi({ AI_CONFIG: '', FILE_TEXT_TIMEOUT: '3s' })
  const person = await createPerson(hasty)
  const sender = await hasty.user({ abilities: ['ai'] })
  const held = process.memoryUsage.rss()
  const { id: never } = (await upload(hasty, person.token, endless, { name: 'report.pdf' })).one
  const statuses = new Set<number>()
  let count = 0
  while ((await state(person, never)) === 'pending') {
    const ai = await hasty.send('POST', '/api/ai-req', { token: sender.token, body: buildQuestion('Hello', 'demo') })
    statuses.add(ai.status).add((await hasty.send('GET', '/health/ready')).status)
    count += 1
    // The pace of a person, since the leftovers of thousands of calls are not measured here.
    await pause(50)
  }
  expect([...statuses]).toEqual([200])
  expect(count).toBeGreaterThan(1)
  expect(process.memoryUsage.rss() - held).toBeLessThan(200 * 1024 * 1024)

  expect(await facts(person, never)).toMatchObject({ textState: 'failed', textFailure: 'too-slow' })
})
