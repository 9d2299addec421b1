import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { ViteDevServer } from 'vite'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { APP_BASE, createAppConfig, type EntryName, entries } from './app-build.ts'
import type { AppEntry, AppSource } from './app-files.ts'

const toScript = (name: EntryName) => `/assets/app-dev-${name}.js`

/** Scripts load the sheets; pages without a script need these. */
const frameSheets = [`${APP_BASE}app.css`, `${APP_BASE}sign-in/frame.css`]

/** Serves the front end from its sources for development, with hot reload. */
export class AppDevServer implements AppSource {
  /** Vite inserts inline styles and opens a web socket. */
  readonly relaxations = { 'style-src': "'self' 'unsafe-inline'", 'connect-src': "'self' ws:" }
  readonly #start = lazyPromise(startVite)
  #vite: Promise<ViteDevServer> | undefined

  async entry(name: EntryName): Promise<AppEntry> {
    return { script: toScript(name), styles: name === 'signIn' ? frameSheets : [], imports: [] }
  }

  serve(app: FastifyInstance): void {
    for (const name of ['app', 'signIn', 'share'] as const)
      app.get(toScript(name), async (_, reply) => reply.type('text/javascript').send(await buildEntryScript(name)))
    app.get(`${APP_BASE}*`, async (request, reply) => {
      this.#vite = this.#start()
      const { middlewares } = await this.#vite
      reply.hijack()
      middlewares(request.raw, reply.raw, () => reply.raw.writeHead(404).end())
    })
    app.addHook('onClose', async () => (await this.#vite?.catch(() => undefined))?.close())
  }
}

async function startVite(): Promise<ViteDevServer> {
  const [{ createServer }, config] = await Promise.all([import('vite'), createAppConfig()])
  return createServer({
    ...config,
    cacheDir: join(config.root ?? '', '../../../node_modules/.cache/svc/vite'),
    appType: 'custom',
    // Dependencies are prepared at the start instead of one by one.
    optimizeDeps: { entries: Object.values(entries) },
    logLevel: 'warn',
    server: { middlewareMode: true, fs: { allow: [join(config.root ?? '', '../../..')] }, hmr: { overlay: false } },
  })
}

/** Returns the script that vite would add to a page. */
async function buildEntryScript(name: EntryName): Promise<string> {
  const { default: react } = await import('@vitejs/plugin-react')
  return `${react.preambleCode.replaceAll('__BASE__', APP_BASE)}
await import('${APP_BASE}@vite/client')
await import('${APP_BASE}${entries[name]}')
`
}
