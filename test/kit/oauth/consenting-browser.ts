import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestBrowser } from '../browser.ts'

interface ShownRequest {
  request: string
  client: { kind: string; name: string; host: string | null }
  servers: { id: number; label: string; account?: string }[]
  lastServers?: number[] | null
}

/** Visits the page of consent, and reads what its script would show. The address may name the service. */
export async function visitConsent(browser: TestBrowser, address: string) {
  const path = address.replace(/^https?:\/\/[^/]+/, '')
  const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', accept: 'text/html' }
  const page = await browser.send('GET', path, { headers })
  const [, data = ''] = /data-page="([^"]*)"/.exec(page.text) ?? []
  const json = data.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
  const { authorization } = JSON.parse(json || '{}') as { authorization?: ShownRequest }
  return { status: page.status, location: page.headers.get('location'), shown: authorization }
}

/** Answers as the script of the page does. */
export const answerConsent = (browser: TestBrowser, answer: 'agree' | 'decline', input: object) =>
  browser.send('POST', `/trpc/oauth.${answer}`, { body: input })

/** Allows a program what it asks for, and returns the address to which the browser goes. */
async function consentOnPage(browser: TestBrowser, address: string): Promise<string> {
  const { status, shown } = await visitConsent(browser, address)
  if (!shown) throw new Error(`The page of consent answered with ${status}.`)
  const { body } = await answerConsent(browser, 'agree', { request: shown.request, servers: null })
  const { result, error } = body as { result?: { data: { redirectTo: string } }; error?: { message: string } }
  if (!result) throw new Error(error?.message)
  return result.data.redirectTo
}

/**
 * A command for the variable BROWSER of foreign programs: it opens the address that they give it in the browser of a
 * person who consents to everything, and goes on to the program.
 */
export async function startBrowserCommand(browser: TestBrowser) {
  const visited: string[] = []
  const server = createServer(async (request, response) => {
    const address = await text(request)
    visited.push(address)
    const status = await consentOnPage(browser, address)
      .then(fetch)
      .then(
        (answered) => answered.status,
        () => 500,
      )
    response.writeHead(status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const folder = await mkdtemp(join(tmpdir(), 'svc-browser-'))
  const command = join(folder, 'browser.mjs')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const source = `const { ok } = await fetch('${url}', { method: 'POST', body: process.argv[2] })\nprocess.exit(ok ? 0 : 1)`
  await writeFile(command, `#!${process.execPath}\n${source}\n`)
  await chmod(command, 0o700)
  return {
    command,
    /** The addresses that programs have opened. */
    visited,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await rm(folder, { recursive: true })
    },
  }
}
