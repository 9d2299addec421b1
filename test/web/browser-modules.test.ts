import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { loadBrowserModules } from '../../facades/web/browser-modules.ts'

const modules = await loadBrowserModules()
const run = promisify(execFile)

/** Lists everything that a module imports, in any syntax. */
const importsOf = (body: string) =>
  [...body.matchAll(/\b(?:from|import)\s*\(?\s*(["'`])(.+?)\1/g)].map(([, , specifier]) => specifier!)

describe.for([...modules])('the browser module %s', ([path, body]) => {
  test('is JavaScript', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-module-'))
    try {
      const file = join(folder, 'module.mjs')
      await writeFile(file, body)
      await run(process.execPath, ['--check', file])
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('imports only what is served beside it', () => {
    const missing = importsOf(body).filter((name) => !modules.has(posix.resolve(posix.dirname(path), name)))

    expect(missing).toEqual([])
  })
})

test('the browser modules are one folder without declarations or settings', () => {
  expect([...modules.keys()]).toEqual(expect.arrayContaining(['/assets/crypto.js', '/assets/keystore.js']))
  for (const path of modules.keys()) expect(path).toMatch(/^\/assets\/[\w/-]+\.js$/)
})
