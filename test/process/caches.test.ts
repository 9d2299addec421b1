import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../kit/service-process.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')

test('the table of caches names every file that has one', () => {
  const sources = globSync('{server,routers,facades,entities}/**/*.ts', { cwd: root })
  const withCache = sources
    .filter((path) => /\bnew LRUCache\b/.test(read(path)))
    .map((path) => path.replaceAll('\\', '/'))
  const [, table = ''] = /^\| Cache \|.*\n((?:\|.*\n)+)/m.exec(read('server/README.md')) ?? []
  const named = [...table.matchAll(/`([^`]+\.ts)` \|$/gm)].map(([, path]) => path)

  expect(named.toSorted()).toEqual(withCache.toSorted())
})

test('every cache has a bound', () => {
  const sources = globSync('{server,routers,facades,entities}/**/*.ts', { cwd: root })
  const caches = sources.flatMap((path) => read(path).match(/\bnew LRUCache\b[^(]*\((?:[^()]|\([^()]*\))*/g) ?? [])

  expect(caches.length).toBeGreaterThan(10)
  expect(caches.filter((cache) => !/maxEntries\(|\bmax(?:Size)?:/.test(cache))).toEqual([])
})
