import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'
import { openPage } from '../web/chromium.ts'

const folder = fileURLToPath(new URL('../../../facades/client/live/', import.meta.url))
const pusherFile = fileURLToPath(import.meta.resolve('pusher-js/dist/web/pusher.js'))

const main = `import * as live from '/front-end/index.js'; globalThis.live = live`

/** A window of Chromium at a page of the service, with an unmodified pusher-js, and the module of the package as `live`. */
export async function openFrontEndPage(url: string) {
  const chromium = await openPage(url, { bypassCSP: true })
  const { page } = chromium
  await page.route('**/front-end/*', async (route) => {
    const pathname = new URL(route.request().url()).pathname.replace('/front-end', '')
    if (pathname === '/pusher.js') return route.fulfill({ path: pusherFile, contentType: 'text/javascript' })
    const source = await readFile(folder + pathname.slice(1).replace(/\.js$/, '.ts'), 'utf8')
    const body = stripTypeScriptTypes(source).replace(/from '(\.[^']*)\.ts'/g, "from '$1.js'")
    return route.fulfill({ contentType: 'text/javascript', body })
  })
  await page.goto('/health/live')
  await page.addScriptTag({ url: '/front-end/pusher.js' })
  await page.addScriptTag({ type: 'module', content: main })
  await page.waitForFunction(() => 'live' in globalThis)
  return chromium
}
