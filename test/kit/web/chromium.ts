import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { chromiumPath } from '../parts/installed.ts'

const quiet = [
  // Names for the same service at an address that browsers do not trust as they trust 127.0.0.1.
  '--host-resolver-rules=MAP *.test 127.0.0.1',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-features=PaintHolding,MediaRouter,OptimizationHints,ThirdPartyStoragePartitioning,HttpsUpgrades,SpareRendererForSitePerProcess',
]

// The worker handles signals itself.
const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false }

let browser: Browser | undefined

/** The browser of this worker, which ends with it. What is opened in it shares nothing: each has a context of its own. */
export async function openContext(options: BrowserContextOptions = {}) {
  if (!browser?.isConnected())
    browser = await chromium.launch({ executablePath: chromiumPath, args: quiet, ...signals })
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  // Also for further pages, which a busy machine makes wait as long as the first.
  context.setDefaultTimeout(60_000)
  return context
}

/** A page of a real browser, every request it made, and the referrers in these. */
export async function openPage(url: string, options: BrowserContextOptions = {}) {
  const context = await openContext({ baseURL: url, ...options })
  const page = await context.newPage()
  const requests: { method: string; url: string; body: string }[] = []
  const referrers: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => {
    requests.push({ method: request.method(), url: request.url(), body: request.postData() ?? '' })
    const { referer } = request.headers()
    if (referer) referrers.push(referer)
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  return { page, requests, referrers, complaints, [Symbol.asyncDispose]: () => context.close() }
}

interface Axe {
  axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
}

/** The minified form of axe is half as long as the other one, and each page reads it anew. */
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Waits for the end of all finite animations. */
const WAIT_FOR_ANIMATIONS = `Promise.race([
  Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished)),
  new Promise((done) => setTimeout(done, 2000)),
])`

/** Checks the accessibility of the current page by axe, after its animations. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(WAIT_FOR_ANIMATIONS)
  // The debugger is not bound by the page's policy.
  const debug = await page.context().newCDPSession(page)
  const { result } = await debug.send('Runtime.evaluate', { expression: 'typeof axe' })
  if (result.value === 'undefined') await debug.send('Runtime.evaluate', { expression: axe })
  const violations = await page.evaluate(async () => (await (globalThis as unknown as Axe).axe.run()).violations)
  expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([])
}
