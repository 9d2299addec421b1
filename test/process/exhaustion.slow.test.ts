import { execFile } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { hashPassword, verifyPassword } from '../../server/login/accounts.ts'
import { startApp } from '../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)

/** A picture of one colour, small as a file; interlaced, it is decoded as a whole. */
const interlaced = (side: number) =>
  sharp({ create: { width: side, height: side, channels: 3, background: '#336699' } })
    .png({ progressive: true })
    .toBuffer()

const upload = (browser: TestBrowser, id: number, picture: Buffer) => {
  const attributes = { avatar: picture.toString('base64') }
  return browser.send('PATCH', `/api/svc/v1/users/${id}`, {
    body: { data: { type: 'users', id: String(id), attributes } },
    headers: { 'content-type': 'application/vnd.api+json', 'sec-fetch-site': 'same-origin' },
  })
}

test('pictures of more than 16 megapixels are refused by their header', async () => {
  const { browser, id } = await signIn(svc, 'bea')

  const { status, body } = await upload(browser, id, await interlaced(6300))

  expect(status).toBe(422)
  expect(body).toMatchObject({
    errors: [{ detail: 'avatar must have at most 16 megapixels.', source: { pointer: '/data/attributes/avatar' } }],
  })
})

test('pictures beyond the decoding capacity are refused, and the health check stays fast', async () => {
  const { browser, id } = await signIn(svc, 'cyd')
  const picture = await interlaced(4000)
  const order: string[] = []

  const uploads = Array.from({ length: 12 }, async () => {
    const answer = await upload(browser, id, picture)
    order.push(String(answer.status))
    return answer
  })
  await expect.poll(() => order, { timeout: 60_000, interval: 5 }).toContain('503')
  const { status } = await svc.send('GET', '/health')
  order.push('health')
  const answers = await Promise.all(uploads)

  expect(status).toBe(200)
  expect(order.lastIndexOf('200')).toBeGreaterThan(order.indexOf('health'))
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200, 503]))
  for (const { headers, body } of answers.filter((answer) => answer.status === 503)) {
    expect(headers.get('retry-after')).toMatch(/^\d+$/)
    expect(body).toMatchObject({ errors: [{ status: '503', code: 'busy' }] })
  }
  expect((await upload(browser, id, picture)).status).toBe(200)
})

test('of two hundred concurrent sign-ins some are refused, and the next succeeds', async () => {
  await signIn(svc, 'ada')

  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => openBrowser(svc.url).login(`stranger${index}`)),
  )

  const busy = answers.filter(({ status }) => status === 503)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 503]))
  for (const { headers, body } of busy) {
    expect(headers.get('retry-after')).toMatch(/^\d+$/)
    expect(body).toMatchObject({ success: false, error: 'The service is busy. Try again in a moment.' })
  }
  expect((await openBrowser(svc.url).login('ada')).status).toBe(200)
})

test('of two hundred concurrent passwords two are hashed and fifty wait', async () => {
  const known = await hashPassword('right')
  const refused: unknown[] = []
  let checks: Promise<unknown>[]
  {
    await using _ = await blockThreads()
    checks = Array.from({ length: 200 }, () =>
      verifyPassword(known, 'right').catch((error: unknown) => void refused.push(error)),
    )
    await expect.poll(() => refused).toHaveLength(148)
  }

  const outcomes = await Promise.all(checks)

  expect(outcomes.filter((outcome) => outcome === true)).toHaveLength(52)
  expect(refused).toHaveLength(148)
  for (const error of refused) expect(error).toMatchObject({ problem: 'busy' })
})

test('the quick health check answers while every thread of the pool is busy', async () => {
  await svc.send('GET', '/health')
  await using threads = await blockThreads()

  const { status } = await svc.send('GET', '/health', { signal: AbortSignal.timeout(60_000) })

  expect(status).toBe(200)
  expect(threads.isFree()).toBe(false)
})

/** Blocks threads by opening a pipe without a writer. */
async function blockThreads() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-pipe-'))
  const pipe = join(folder, 'pipe')
  await promisify(execFile)('mkfifo', [pipe])
  let opened = 0
  const waiting = Array.from({ length: 64 }, async () => {
    const handle = await open(pipe, 'r')
    opened += 1
    return handle.close()
  })
  return {
    isFree: () => opened > 0,
    async [Symbol.asyncDispose]() {
      const writer = openSync(pipe, constants.O_RDWR)
      await Promise.all(waiting)
      closeSync(writer)
      await rm(folder, { recursive: true })
    },
  }
}
