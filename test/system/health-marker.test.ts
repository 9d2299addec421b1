import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createHealthTimer } from '../../server/ops/health-checks.ts'
import { startApp } from '../kit/app.ts'
import { checkNames, createTemporaryFolder, deepChecks, failedMarker, getHealth, markerPath } from '../kit/health.ts'
import { shareResource } from '../kit/share-resource.ts'

/** Starts a service that runs the full check every third time. */
const svc = shareResource(() => startApp({ HEALTH_DEEP_EVERY: '3' }))

test.for(['', '{', 'null', '{"failed":"perhaps","quickChecks":1}', '{"failed":false,"quickChecks":-4}', '\u0000'])(
  'the marker of the health timer counts as absent when it says %j',
  async (content) => {
    await writeFile(markerPath(svc.folder), content)

    expect(checkNames(await getHealth(svc))).toEqual(['quick_database'])
    expect(JSON.parse(await readFile(markerPath(svc.folder), 'utf8'))).toEqual({ failed: false, quickChecks: 1 })
  },
)

test('the marker of the health timer resets the timer when it is deleted', async () => {
  await writeFile(markerPath(svc.folder), failedMarker)
  await rm(markerPath(svc.folder))

  expect(checkNames(await getHealth(svc))).toEqual(['quick_database'])
})

test('the marker of the health timer outlives the process', async () => {
  await using folder = await createTemporaryFolder()
  const before = createHealthTimer(3, folder.path)
  await before.isDeepCheckDue()
  await before.isDeepCheckDue()

  expect(await createHealthTimer(3, folder.path).isDeepCheckDue()).toBe(true)
})

test('the health marker counts fifty concurrent requests and is never read half-written', async () => {
  await using svc = await startApp()
  await getHealth(svc)
  const reading = new AbortController()
  const broken = readUntil(reading.signal, markerPath(svc.folder))

  const reports = await Promise.all(Array.from({ length: 49 }, () => getHealth(svc)))
  reading.abort()

  expect(reports.every(({ code }) => code === 200)).toBe(true)
  const deepOnes = reports.filter(({ checks }) => checks.length === deepChecks.length).length
  expect(deepOnes).toBeGreaterThanOrEqual(1)
  expect(deepOnes).toBeLessThanOrEqual(5)
  expect(await broken).toBe(0)
  expect((await readdir(svc.folder)).filter((name) => name.startsWith('svc_health'))).toEqual([
    'svc_health_timer_marker.json',
  ])
})

test('the health marker is incremented once by each of two processes', async () => {
  await using folder = await createTemporaryFolder()
  const timers = [createHealthTimer(1000, folder.path), createHealthTimer(1000, folder.path)]

  await Promise.all(Array.from({ length: 40 }, (_, turn) => timers[turn % 2]?.isDeepCheckDue()))

  expect(JSON.parse(await readFile(markerPath(folder.path), 'utf8')).quickChecks).toBeGreaterThanOrEqual(38)
})

test('the health marker keeps a failure that another process found meanwhile', async () => {
  await using folder = await createTemporaryFolder()
  const [one, other] = [createHealthTimer(1000, folder.path), createHealthTimer(1000, folder.path)]

  for (let round = 0; round < 10; round++) {
    await other.recordDeepCheck(false)
    await Promise.all([one.isDeepCheckDue(), other.recordDeepCheck(true), one.isDeepCheckDue()])
    expect(await one.isDeepCheckDue()).toBe(true)
  }
})

test('the health marker stays in memory where the folder is not writable', async () => {
  await using folder = await createTemporaryFolder()
  await mkdir(markerPath(folder.path))
  const timer = createHealthTimer(3, folder.path)

  expect([await timer.isDeepCheckDue(), await timer.isDeepCheckDue(), await timer.isDeepCheckDue()]).toEqual([
    false,
    false,
    true,
  ])
  await timer.recordDeepCheck(true)
  expect(await timer.isDeepCheckDue()).toBe(true)
})

/** Returns how often the marker could not be parsed. */
async function readUntil(signal: AbortSignal, file: string): Promise<number> {
  let broken = 0
  while (!signal.aborted) {
    const text = await readFile(file, 'utf8')
    if (!/^\{.*\}$/.test(text)) broken += 1
    await pause(1)
  }
  return broken
}
