import { rm, truncate } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { FILE_KEY } from '../../routers/ports/vault.ts'
import { createVault } from '../../server/stores/vault.ts'
import { KEY, MAX_FILES, NEWER, startMaintenance, UNKNOWN } from '../kit/files/maintenance.ts'
import { startJsonApi } from '../kit/json-api/client.ts'
import { download, listStoredFiles, sendAttachments, UNTIL_READ, upload } from '../kit/rooms/attachments.ts'
import { createPerson, createRoom } from '../kit/rooms/messages.ts'
import { shareResource } from '../kit/share-resource.ts'

const upkeep = shareResource(startMaintenance)

test('svc files verify reports attachments without file, orphaned files and unreadable ones', async () => {
  const { svc, clear, command, pathOf, uploadFor, putOrphan } = upkeep
  await clear()
  const person = await createPerson(svc)
  const [whole, gone, cut, foreign] = await Promise.all([1, 2, 3, 4].map(() => uploadFor(person)))
  const fine = await command(['verify'])
  expect(fine).toMatchObject({ exitCode: 0, record: { attachments: 4, files: 4, read: 4, listed: [] } })

  await rm(pathOf(gone?.name ?? ''))
  await truncate(pathOf(cut?.name ?? ''), 5)
  const strange = createVault(`${UNKNOWN}`).seal('a key', FILE_KEY)
  await svc.rows('update attachments set sealed_key = $2 where id = $1', [foreign?.id, strange])
  const orphan = await putOrphan(2 * 60 * 60_000)
  await putOrphan(0)
  const { exitCode, record } = await command(['verify'])

  expect(exitCode).toBe(1)
  expect(record).toMatchObject({ attachments: 4, files: 5, read: 1 })
  expect(record).toMatchObject({ 'no-file': 1, 'no-owner': 1, 'unknown-key': 1, damaged: 1 })
  const expectedFinding = (finding: string, file = '', id = '') => ({
    finding,
    file,
    owner: id ? `attachments/${id}` : null,
  })
  expect(record.listed).toHaveLength(4)
  expect(record.listed).toEqual(
    expect.arrayContaining([
      expectedFinding('no-file', gone?.name, gone?.id),
      expectedFinding('damaged', cut?.name, cut?.id),
      expectedFinding('unknown-key', foreign?.name, foreign?.id),
      expectedFinding('no-owner', orphan),
    ]),
  )
  const unread = await command(['verify', '--sample', '0'])
  expect(unread.record).toMatchObject({ read: 0, 'no-file': 1, 'no-owner': 1, damaged: 0 })
  expect((await command(['verify', '--sample', 'many'])).exitCode).toBe(2)
  expect((await command(['verify', '--sample', '101'])).exitCode).toBe(2)
  expect((await download(svc, person.token, whole?.id ?? '')).bytes.toString()).toBe('some words')
})

test('svc files rotate seals the keys of files with the new application key', async () => {
  const { svc, clear, command, uploadFor } = upkeep
  await clear()
  const person = await createPerson(svc)
  const [one, other] = [await uploadFor(person), await uploadFor(person)]
  await expect
    .poll(async () => (await svc.rows(`select from attachments where text_state = 'pending'`)).length, UNTIL_READ)
    .toBe(0)
  const keys = () => svc.rows<{ sealed_key: string }>('select sealed_key from attachments order by id')
  const before = await keys()

  expect(await command(['rotate'], { APP_KEY: `${UNKNOWN}` })).toMatchObject({
    exitCode: 1,
    record: { attachments: 2, pictures: 0, renewed: 0, unknown: 2 },
  })
  expect(await keys()).toEqual(before)
  const both = { APP_KEY: `${NEWER}`, APP_PREVIOUS_KEYS: `${KEY}` }
  expect(await command(['rotate'], both)).toMatchObject({
    exitCode: 0,
    record: { attachments: 2, renewed: 2, unknown: 0 },
  })
  expect(await command(['rotate'], both)).toMatchObject({ exitCode: 0, record: { renewed: 0, unknown: 0 } })

  const settings = { DATABASE_URL: svc.env.DATABASE_URL ?? '', DATA_DIR: svc.folder, APP_KEY: `${NEWER}` }
  expect(await command(['verify'], settings)).toMatchObject({ exitCode: 0, record: { read: 2 } })
  for (const { id } of [one, other]) expect((await download(svc, person.token, id)).status).toBe(500)
  await command(['rotate'], { APP_KEY: `${KEY}`, APP_PREVIOUS_KEYS: `${NEWER}` })
  for (const { id } of [one, other]) {
    expect((await download(svc, person.token, id)).bytes.toString()).toBe('some words')
    const text = await svc.send('GET', `/api/svc/v1/attachments/${id}/actions/text`, { token: person.token })
    expect(await text.text()).toBe('some words')
  }
})

test('svc files stats counts files and bytes by kind, state and owner', async () => {
  const { svc, clear, command, uploadFor } = upkeep
  await clear()
  const [few, many] = [await createPerson(svc), await createPerson(svc)]
  for (const person of [few, many, many]) await uploadFor(person)
  await expect
    .poll(async () => (await svc.rows(`select from attachments where text_state = 'pending'`)).length, UNTIL_READ)
    .toBe(0)

  const count = (files: number) => ({ files, bytes: files * 'some words'.length })
  expect((await command(['stats'])).record).toEqual({
    ...count(3),
    kinds: [{ kind: 'document', ...count(3) }],
    textStates: [{ textState: 'ready', ...count(3) }],
    linked: [{ linked: false, ...count(3) }],
    owners: [
      { user: many.id, ...count(2) },
      { user: few.id, ...count(1) },
    ],
    pictures: { people: 0, rooms: 0, assistantVersions: 0, files: 0, bytes: 0 },
  })
})

test('files older than RETENTION_FILES_MONTHS are deleted, and newer ones of other rooms stay', async () => {
  const { svc, clear, command, uploadFor } = upkeep
  await clear()
  const [old, recent] = [await createRoom(svc, ['editor']), await createRoom(svc, ['editor'])]
  const [first, second] = [await uploadFor(old.editor), await uploadFor(recent.editor)]
  const message = await sendAttachments(old.editor, old.id, [first.id])
  await sendAttachments(recent.editor, recent.id, [second.id])
  await expect
    .poll(async () => (await svc.rows(`select from attachments where text_state = 'pending'`)).length, UNTIL_READ)
    .toBe(0)
  await svc.rows(`update attachments set created_at = now() - interval '7 months' where id = $1`, [first.id])
  await svc.rows(`update attachments set created_at = now() - interval '5 months' where id = $1`, [second.id])
  const { position } = await old.changes(old.admin)

  const byRoom = { room: Number(old.id), files: 1, bytes: 'some words'.length, oldest: expect.any(String) }
  expect((await command(['expired'])).record).toEqual([byRoom])
  expect((await command(['expired', '--months', '4'])).record).toHaveLength(2)
  expect((await command(['expired'], { RETENTION_FILES_MONTHS: '' })).record).toEqual([])
  expect(await listStoredFiles(svc)).toHaveLength(2)
  await using without = await startJsonApi()
  expect(await without.host.files.deleteExpired()).toEqual({ deleted: 0 })

  const both = await Promise.all([svc.host.files.deleteExpired(), svc.host.files.deleteExpired()])
  expect(both.map(({ deleted }) => deleted).toSorted()).toEqual([0, 1])
  expect(await listStoredFiles(svc)).toEqual([second.name])
  expect((await download(svc, old.editor.token, first.id)).status).toBe(404)
  expect((await download(svc, recent.admin.token, second.id)).bytes.toString()).toBe('some words')
  const { changes } = await old.changes(old.admin, position)
  expect(changes.map(({ kind, subject }) => [kind, subject])).toEqual([
    ['attachments.deleted', first.id],
    ['room-messages.updated', message.one.id],
  ])
})

test('a person keeps no more files than allowed despite concurrent uploads', async () => {
  const { svc, uploadFor } = upkeep
  const person = await createPerson(svc)
  for (let count = 1; count < MAX_FILES; count++) await uploadFor(person, 'x')
  const last = await Promise.all([1, 2, 3].map(() => upload(svc, person.token, 'x')))

  expect(last.map(({ status }) => status).toSorted()).toEqual([201, 422, 422])
  const refusal = await upload(svc, person.token, 'x')
  expect([refusal.status, refusal.text.includes(`A person keeps at most ${MAX_FILES} files.`)]).toEqual([422, true])
  expect((await svc.rows('select from attachments where uploader_id = $1', [person.id])).length).toBe(MAX_FILES)
  expect((await upload(svc, (await createPerson(svc)).token, 'x')).status).toBe(201)
})

test('many tiny files count for the blocks that they take', async () => {
  await using small = await startJsonApi({ ATTACHMENT_QUOTA: '10000' })
  const { token } = small.people.ada
  const statuses: number[] = []
  for (let count = 0; count < 3; count++) statuses.push((await upload(small, token, 'x')).status)

  expect(statuses).toEqual([201, 201, 422])
})

test('a text whose job was lost is read, and no job is duplicated', async () => {
  const { svc, clear, uploadFor } = upkeep
  await clear()
  const person = await createPerson(svc)
  const { id } = await uploadFor(person)
  const state = async () => (await person.get(`/attachments/${id}`)).one.attributes['textState']
  await expect.poll(state, UNTIL_READ).toBe('ready')
  await svc.rows('delete from attachment_texts')
  await svc.rows(`update attachments set text_state = 'pending'`)
  await svc.rows('delete from svc_jobs.job')

  expect(await svc.host.files.planLostTexts()).toEqual({ planned: 1 })
  await expect.poll(state, UNTIL_READ).toBe('ready')
  expect(await svc.host.files.planLostTexts()).toEqual({ planned: 0 })
})
