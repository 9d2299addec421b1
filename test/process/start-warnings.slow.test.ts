import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { productionSettings } from '../kit/production.ts'

const config = await writeConfig('http://127.0.0.1:9/v1')
afterAll(() => config[Symbol.asyncDispose]())

const says = (settings: Record<string, string>) =>
  startSaying({ ...productionSettings, AI_CONFIG: config.file, ...settings })

async function startSaying(settings: Record<string, string>): Promise<boolean> {
  await using svc = await startApp(settings)
  expect((await svc.send('GET', '/health/live')).status).toBe(200)
  return svc.log.some((line) => line.includes('BASE_URL begins with http://'))
}

test.for([
  ['http://svc.example.org', true],
  ['http://localhost.example.org:3000', true],
  ['https://svc.example.org', false],
  ['http://localhost:3000', false],
  ['http://svc.localhost', false],
  ['http://127.0.0.1:3000', false],
  ['http://[::1]:3000', false],
] as const)(
  'production starts under the address %s, and warns that it is not encrypted: %s',
  async ([address, warns]) => {
    expect(await says({ BASE_URL: address })).toBe(warns)
  },
)

test('a service without BASE_URL or at a localhost name logs no encryption warning', async () => {
  expect(await says({})).toBe(false)
  expect(await startSaying({ BASE_URL: 'http://svc.localhost' })).toBe(false)
})

test('a service starts where texts of announcements are missing, and names those in force', async () => {
  await using database = await cloneDatabase()
  const settings = { DATABASE_URL: database.url }
  const warnings = (svc: { log: string[] }) => svc.log.filter((line) => line.includes('announcements in force'))
  await using svc = await startApp(settings)
  expect(warnings(svc)).toEqual([])
  await svc.rows(
    `insert into announcements (title, view, type, is_forced, is_global, expires_at)
     values ('Rules', 'rules', 'policy', true, true, null), ('News', 'news', 'info', false, true, null),
            ('There', 'there', 'info', false, true, null), ('Over', 'over', 'info', true, true, now())`,
  )
  await mkdir(join(svc.folder, 'texts', 'there'), { recursive: true })
  await writeFile(join(svc.folder, 'texts', 'there', 'de_DE.md'), 'Da.')
  await using again = await startApp({ ...settings, ANNOUNCEMENTS: join(svc.folder, 'texts') })
  const [line = '', ...others] = warnings(again)

  expect(others).toEqual([])
  expect(JSON.parse(line).missing).toEqual([
    { announcement: expect.any(Number), folder: 'rules', isForced: true },
    { announcement: expect.any(Number), folder: 'news', isForced: false },
  ])
  expect(JSON.stringify(line)).not.toContain('Rules')
})
