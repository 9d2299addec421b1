import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { Problem } from '../../routers/core/problems.ts'
import { Asset } from '../http/asset.ts'

/** Serves the style and the scripts of the pages. */
export async function assets(app: FastifyInstance) {
  // Loaded with the first page, because the TypeScript parser takes memory.
  const loadOnce = lazyPromise(loadAssets)
  app.get('/assets/*', async (request, reply) => {
    const asset = (await loadOnce()).get(request.url.split('?', 1)[0] ?? '')
    if (!asset) throw new Problem('not_found')
    return asset.send(request, reply)
  })
}

async function loadAssets() {
  const { loadBrowserModules } = await import('./browser-modules.ts')
  const sheets = ['tokens.css', 'style.css'].map((name) => readFile(join(import.meta.dirname, name), 'utf8'))
  const body = (await Promise.all(sheets)).join('')
  const modules = [...(await loadBrowserModules())].map(
    ([path, code]) => [path, new Asset('text/javascript; charset=utf-8', code)] as const,
  )
  return new Map([['/assets/style.css', new Asset('text/css; charset=utf-8', body)], ...modules])
}
