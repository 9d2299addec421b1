import { describe, expect, test } from 'vitest'
import { createContext } from '../../routers/core/context.ts'
import { createCaller } from '../../routers/index.ts'
import { writeConfig } from '../kit/ai/provider.ts'
import { type JsonApiApp, pointersOf, startJsonApi } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)

type Row = [promptType: string, usageType: string, locale: string]

/** Replaces the prompts of a fresh service by the given ones. */
async function writePrompts({ admin, rows }: JsonApiApp, wanted: Row[]) {
  await rows('delete from system_prompts')
  for (const [promptType, usageType, locale] of wanted) {
    const prompt = `${promptType} ${usageType} ${locale}`
    const { status } = await admin.create('system-prompts', { promptType, usageType, locale, prompt })
    expect(status).toBe(201)
  }
}

const mixed: Row[] = [
  ['both', 'main', 'en_US'],
  ['both', 'main', 'de_DE'],
  ['english', 'main', 'en_US'],
  ['german', 'main', 'de_DE'],
  ['overlaid', 'main', 'en_US'],
  ['overlaid', 'main', 'de_DE'],
  ['overlaid', 'external', 'en_US'],
  ['programs', 'external', 'en_US'],
  ['programs', 'external', 'de_DE'],
  ['french', 'main', 'fr_FR'],
]

const german = { 'x-app-locale': 'de_DE' }

describe('system prompts', () => {
  test('system prompts are one per task: own, then language, then default', async () => {
    await writePrompts(svc, mixed)
    const prompts = async (headers: Record<string, string> = {}) => {
      const { list, total } = await svc.ada.get('/system-prompts?sort=promptType', headers)
      expect(list).toHaveLength(total)
      return list.map(({ attributes }) => attributes['prompt'])
    }
    const english = ['both main en_US', 'english main en_US', 'overlaid external en_US', 'programs external en_US']
    expect(await prompts()).toEqual(english)
    expect(await prompts({ 'x-app-locale': 'fr_FR' })).toEqual(english)
    expect(await prompts(german)).toEqual([
      'both main de_DE',
      'english main en_US',
      'german main de_DE',
      'overlaid external en_US',
      'programs external de_DE',
    ])
    const { id, username, name, email } = svc.people.ada
    const person = { id, username, name, email, role: 'user' as const, groups: [] }
    const call = { caller: { type: 'user' as const, person }, locale: 'de_DE', requestId: 'test' }
    const { items } = await createCaller(() => createContext(svc.services, call)).systemPrompts.list()
    expect(items.map(({ prompt }) => prompt).sort()).toEqual(
      ['both main de_DE', 'english main en_US', 'german main de_DE', 'overlaid main de_DE'].sort(),
    )
  })

  test('the language comes from header, query, cookie and browser, in this order', async () => {
    await writePrompts(svc, [
      ['both', 'main', 'en_US'],
      ['both', 'main', 'de_DE'],
    ])
    const localeOf = async (query: string, headers: Record<string, string>) =>
      (await svc.ada.get(`/system-prompts${query}`, headers)).list[0]?.attributes['locale']
    expect(await localeOf('', {})).toBe('en_US')
    expect(await localeOf('', { 'x-app-locale': 'de_DE' })).toBe('de_DE')
    expect(await localeOf('?locale=en_US', { 'x-app-locale': 'de-de' })).toBe('de_DE')
    expect(await localeOf('?locale=de', { cookie: 'locale=en_US' })).toBe('de_DE')
    expect(await localeOf('?lang=de', {})).toBe('de_DE')
    expect(await localeOf('', { cookie: 'a=b; locale=de_DE; c=d', 'accept-language': 'en' })).toBe('de_DE')
    expect(await localeOf('', { 'accept-language': 'fr, de;q=0.8, en;q=0.5' })).toBe('de_DE')
    expect(await localeOf('', { 'accept-language': 'de;q=0.1, en;q=0.5' })).toBe('en_US')
    expect(await localeOf('', { 'accept-language': 'de;q=0, fr' })).toBe('en_US')
    expect(await localeOf('', { 'accept-language': 'de-AT' })).toBe('de_DE')
    // An unsupported language is ignored, and the next source decides.
    expect(await localeOf('?locale=xx', { 'x-app-locale': 'fr_FR', cookie: 'locale=de_DE' })).toBe('de_DE')
    expect(await localeOf('', { 'x-app-locale': "de_DE' or true --", 'accept-language': ';;;q=' })).toBe('en_US')
  })

  test('the default language is the one of the settings', async () => {
    await using svc = await startJsonApi({ APP_LOCALE: 'de_DE' })
    await writePrompts(svc, mixed)
    const { list } = await svc.ada.get('/system-prompts', { 'x-app-locale': 'en_US' })
    expect(list.map(({ attributes }) => attributes['prompt']).sort()).toEqual(
      [
        'both main en_US',
        'english main en_US',
        'german main de_DE',
        'overlaid external en_US',
        'programs external en_US',
      ].sort(),
    )
  })

  test('a fresh service has those of its own tasks in both languages', async () => {
    await using svc = await startJsonApi()
    for (const headers of [{}, german]) {
      const { list } = await svc.ada.get('/system-prompts', headers)
      expect(list.map(({ attributes }) => attributes['promptType']).sort()).toEqual([
        'default',
        'prompt_improvement',
        'summary',
        'title_generation',
      ])
    }
    expect((await svc.admin.get('/system-prompts')).total).toBe(8)
    expect((await svc.guest.get('/system-prompts')).status).toBe(401)
  })

  test('of an earlier default are replaced by the present one, and no others', async () => {
    await using config = await writeConfig('http://127.0.0.1:9')
    await using fresh = await startJsonApi({ AI_CONFIG: config.file })
    const read = () =>
      fresh.rows("select locale, prompt from system_prompts where prompt_type = 'summary' order by locale")
    const present = await read()
    await fresh.rows(
      `update system_prompts set prompt = 'Summarise this whole conversation in at most one hundred words. Answer with the summary only.'
       where prompt_type = 'summary' and locale = 'en_US'`,
    )
    await fresh.rows("update system_prompts set prompt = 'Ours.' where prompt_type = 'summary' and locale = 'de_DE'")

    await fresh.host.models.sync()

    expect(await read()).toEqual([{ locale: 'de_DE', prompt: 'Ours.' }, present[1]])
  })

  test('hidden ones are not there; administrators see and change all', async () => {
    await writePrompts(svc, mixed)
    const { list, total } = await svc.admin.get('/system-prompts')
    expect(total).toBe(mixed.length)
    const idOf = (prompt: string) => list.find(({ attributes }) => attributes['prompt'] === prompt)?.id ?? ''
    for (const hidden of ['overlaid main en_US', 'both main de_DE', 'french main fr_FR'])
      expect((await svc.ada.get(`/system-prompts/${idOf(hidden)}`)).status).toBe(404)
    expect((await svc.ada.get(`/system-prompts/${idOf('both main de_DE')}`, german)).status).toBe(200)
    const id = idOf('both main en_US')
    const changed = await svc.admin.update('system-prompts', id, { prompt: 'New.' })
    expect([changed.status, changed.one.attributes['prompt'], changed.meta]).toEqual([
      200,
      'New.',
      { _svc_sync_log: [] },
    ])
    expect((await svc.admin.update('system-prompts', id, { locale: 'de_DE' })).status).toBe(409)
    const wrong = await svc.admin.create('system-prompts', {
      promptType: 'x',
      locale: 'german',
      usageType: 'x',
      prompt: '',
    })
    expect([wrong.status, pointersOf(wrong)]).toEqual([
      422,
      ['usageType', 'locale', 'prompt'].map((name) => `/data/attributes/${name}`),
    ])
    expect((await svc.admin.delete(`/system-prompts/${id}`)).status).toBe(200)
    expect((await svc.admin.delete(`/system-prompts/${id}`)).status).toBe(404)
    for (const [who, status] of [
      [svc.guest, 401],
      [svc.ada, 403],
      [svc.adminReading, 403],
    ] as const) {
      expect((await who.create('system-prompts', {})).status).toBe(status)
      expect((await who.update('system-prompts', idOf('french main fr_FR'), { prompt: 'x' })).status).toBe(status)
      expect((await who.delete(`/system-prompts/${idOf('french main fr_FR')}`)).status).toBe(status)
    }
  })
})
