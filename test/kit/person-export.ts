import { unzipSync } from 'fflate'
import { expect } from 'vitest'
import type { TestApp } from './app.ts'
import type { TestBrowser } from './browser.ts'

interface OwnExport {
  id: number
  state: 'waiting' | 'ready' | 'failed'
  bytes: number | null
  expiresAt: string
}

const readResult = ({ body }: { body: Record<string, unknown> }) => (body['result'] as { data: OwnExport | null }).data

export const requestExport = (browser: TestBrowser) => browser.send('POST', '/trpc/personExports.request', { body: {} })

/** Reads what the person is told of their last export. */
export const readCurrentExport = async (browser: TestBrowser) =>
  readResult(await browser.send('GET', '/trpc/personExports.current'))

/** Asks for an export, and waits until it is there. */
export async function makeExport(browser: TestBrowser): Promise<OwnExport> {
  const { status, text } = await requestExport(browser)
  if (status !== 200) throw new Error(text)
  await expect.poll(async () => (await readCurrentExport(browser))?.state, { timeout: 60_000 }).toBe('ready')
  return (await readCurrentExport(browser)) as OwnExport
}

/** Fetches an archive as a browser does. */
export async function fetchExport({ url }: Pick<TestApp, 'url'>, browser: Pick<TestBrowser, 'cookies'>, id: number) {
  const cookie = [...browser.cookies].map((parts) => parts.join('=')).join('; ')
  const answer = await fetch(`${url}/req/profile/export/${id}`, { headers: { cookie } })
  return { status: answer.status, headers: answer.headers, bytes: new Uint8Array(await answer.arrayBuffer()) }
}

interface Row {
  type: string
  id: string
  attributes: Record<string, unknown>
  relationships?: Record<string, { data?: { id: string } | null }>
}

interface Manifest {
  types: Record<string, { files: string[]; rows: number }>
  files: Record<string, string>
  damagedFiles: string[]
}

/** Unpacks an archive. */
export function unpackExport(archive: Uint8Array) {
  const files = unzipSync(archive)
  const text = (path: string) => Buffer.from(files[path] ?? []).toString()
  const manifest = JSON.parse(text('manifest.json')) as Manifest
  return {
    text,
    manifest,
    paths: Object.keys(files),
    rows: (type: string): Row[] =>
      (manifest.types[type]?.files ?? []).flatMap((path) => (JSON.parse(text(path)) as { data: Row[] }).data),
    /** The whole content as text. */
    whole: Object.values(files)
      .map((file) => Buffer.from(file).toString('latin1'))
      .join('\n'),
  }
}
