import { glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { appRouter } from '../../routers/index.ts'
import { builtInLabels } from '../../routers/system/labels/index.ts'
import { startJsonApi } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)

async function folderWith(files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-labels-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

test('labels are a flat map of texts by dotted key, for everybody', async () => {
  for (const [locale, tag] of [
    ['en_US', 'en-US'],
    ['de_DE', 'de-DE'],
  ] as const) {
    const { status, one } = await svc.guest.get(`/translation-labels/${locale}`)
    expect([status, one.type, one.id, one.attributes['locale']]).toEqual([200, 'translation-labels', locale, tag])
    expect(one.links['self']).toBe(`/api/svc/v1/translation-labels/${locale}`)
    expect(one.attributes['labels']).toEqual(builtInLabels[locale])
  }
})

test('labels are there in both languages, none of them empty', () => {
  const { en_US: english, de_DE: german } = builtInLabels
  expect(Object.keys(english).sort()).toEqual(Object.keys(german).sort())
  for (const [key, text] of [...Object.entries(english), ...Object.entries(german)]) {
    expect(key).toMatch(/^\w+(\.\w+)*$/)
    expect(text.trim()).not.toBe('')
  }
  // The placeholders and tags are the same in both languages.
  const places = (text: string | undefined) => [...(text?.match(/:[a-z]\w*|<\/?\w+>/gi) ?? [])].sort()
  for (const key of Object.keys(english)) expect([key, places(german[key])]).toEqual([key, places(english[key])])
})

/** The words that the glossary in `routers/system/README.md` replaces. */
const replacedWords = {
  en_US: /\bpasskeys?\b|\bconversations?\b|\bnotices?\b|\banew\b|\bput aside\b|\btold first\b|[«»]|\.{3}/i,
  de_DE:
    /[Pp]asskey|[Uu]nterhaltung|[Gg]espräch|(?<!des |dieses |eines )\bTokens\b|Grenze|[Vv]erbundene Apps?|[Bb]eiseite|\bHinweise?n?\b|\bNutzern?\b|Administrator|[«»]|\.{3}/,
}

test.for(['en_US', 'de_DE'] as const)('labels in %s use the words of the glossary', (locale) => {
  const texts = Object.entries(builtInLabels[locale]).map(([key, text]) => [key, text.replace(/:[a-z]+\b/g, '')])

  expect(texts.filter(([, text = '']) => replacedWords[locale].test(text))).toEqual([])
})

test('labels are there for every key that the pages and the routers name', async () => {
  const files = glob(['facades/web/**/*.ts', 'routers/**/*.ts'])
  const named = new Set<string>()
  for await (const file of files)
    for (const [, key = ''] of (await readFile(file, 'utf8')).matchAll(/['"`]((?:page|ai|chat)(?:\.\w+)+)['"`]/g))
      named.add(key)
  expect(named.size).toBeGreaterThan(20)
  // Some of them are names of procedures.
  const isLabel = (key: string) => key in builtInLabels.en_US || key in appRouter._def.procedures
  expect([...named].filter((key) => !isLabel(key))).toEqual([])
})

test('labels are found by any way of writing a locale, and by its language', async () => {
  for (const wish of ['de_DE', 'de-DE', 'de-de', 'DE_de', 'de', 'DE', 'de_AT'])
    expect((await svc.guest.get(`/translation-labels/${wish}`)).one.id).toBe('de_DE')
  for (const wish of [
    'fr',
    'fr_FR',
    'xx',
    'd',
    'deu',
    'de_DEU',
    '..%2Fen_US',
    '%00',
    '__proto__',
    'constructor',
    'a'.repeat(50),
  ])
    expect([wish, (await svc.guest.get(`/translation-labels/${wish}`)).status]).toEqual([wish, 404])
  expect((await svc.guest.get('/translation-labels')).status).toBe(404)
  expect((await svc.guest.get('/translation-labels/de?include=x')).errors[0]?.source).toEqual({
    parameter: 'include',
  })
  // The address decides the language here, not the caller's language.
  expect((await svc.guest.get('/translation-labels/en_US?locale=de', { 'x-app-locale': 'de_DE' })).one.id).toBe('en_US')
  expect((await svc.admin.send('PATCH', '/translation-labels/de_DE', { data: {} })).status).toBe(403)
})

test('labels of an operator stand over the built-in ones', async () => {
  const key = 'ai.model.detail.flag.openWeights'
  await using labels = await folderWith({
    'de_DE.json': JSON.stringify({ [key]: 'Eigenes Wort', 'campus.made': 'Vom Campus' }),
  })
  await using svc = await startJsonApi({ LABELS_DIR: labels.folder })
  const labelsOf = async (locale: string) =>
    (await svc.guest.get(`/translation-labels/${locale}`)).one.attributes['labels']
  expect(await labelsOf('de_DE')).toEqual({
    ...builtInLabels.de_DE,
    [key]: 'Eigenes Wort',
    'campus.made': 'Vom Campus',
  })
  expect(await labelsOf('en_US')).toEqual(builtInLabels.en_US)
})

test('nested language files of an earlier front end work, custom texts last', async () => {
  await using labels = await folderWith({
    'en_US.json': JSON.stringify({ Upload: 'Upload', chat: { title: 'Chats' } }),
    'chat_en_US.json': JSON.stringify({ chat: { nameMenu: { deleteAction: 'Delete', rename: 'Rename' } } }),
    'custom_en_US.json': JSON.stringify({ chat: { nameMenu: { rename: 'Give a name' } } }),
    'DataProtection_en_US.html': '<p>We keep <b>little</b>.</p>',
    'readme.txt': 'no labels',
    'de_DE.json': JSON.stringify({ Upload: 'Hochladen' }),
  })
  await using svc = await startJsonApi({ LABELS_DIR: labels.folder, JSONAPI_MEMBER_CASE: 'snake' })

  const { one } = await svc.guest.get('/translation-labels/en_US')

  expect(one.attributes['labels']).toMatchObject({
    Upload: 'Upload',
    chat: { title: 'Chats', nameMenu: { deleteAction: 'Delete', rename: 'Give a name' } },
    _DataProtection: '<p>We keep <b>little</b>.</p>',
  })
  const german = (await svc.guest.get('/translation-labels/de_DE')).one.attributes['labels'] as object
  expect(german).toMatchObject({ Upload: 'Hochladen' })
  expect(Object.keys(german)).not.toContain('_DataProtection')
  const page = await svc.send('GET', '/dataprotection', { headers: { accept: 'text/html', 'x-app-locale': 'en_US' } })
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<p>We keep <b>little</b>.</p>')])
  const missing = await svc.send('GET', '/dataprotection', {
    headers: { accept: 'text/html', 'x-app-locale': 'de_DE' },
  })
  expect(missing.status).toBe(404)
})

test.for([['{"a": {"b": 1}}'], ['["a"]'], ['{"a": 1}'], ['not json']])(
  'labels of an operator that are no map of texts stop the start: %s',
  async ([text = '']) => {
    await using labels = await folderWith({ 'en_US.json': text })
    await expect(startJsonApi({ LABELS_DIR: labels.folder })).rejects.toThrow(/en_US\.json is not a map of texts/)
  },
)
