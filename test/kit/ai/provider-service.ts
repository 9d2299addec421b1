import { startApp, type TestApp } from '../app.ts'
import {
  type Behaviour,
  buildQuestion,
  canary,
  refuses,
  replies,
  stalls,
  startProvider,
  writeConfig,
} from './provider.ts'

export const streamHeaders = { accept: 'text/event-stream' }

/** Starts a service with one provider that behaves so. */
export async function startWithProvider(
  behave: Behaviour,
  provider: object = {},
  settings: Record<string, string> = {},
) {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(behave))
  const config = resources.use(await writeConfig(upstream.url, { provider }))
  const svc = resources.use(await startApp({ AI_CONFIG: config.file, ...settings }))
  const { token } = await svc.user()
  const disposables = resources.move()
  const takeRecords = async () => {
    const records = await readUsageRecords(svc)
    await svc.rows('delete from usage_records')
    return records
  }
  return {
    svc,
    token,
    upstream,
    /** Has the provider answer the next questions so, as if nothing had been asked before. */
    async answerBy(next: Behaviour) {
      await takeRecords()
      upstream.behave = next
      upstream.requests.length = 0
    },
    /** Returns the usage records since the last call. */
    takeRecords,
    sendQuestion: (headers: Record<string, string> = {}, signal?: AbortSignal) =>
      svc.send('POST', '/api/ai-req', { token, headers, body: buildQuestion(), ...(signal && { signal }) }),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

interface UsageRecord {
  outcome: string
  input: number
  output: number
}

export async function readUsageRecords(svc: TestApp): Promise<UsageRecord[]> {
  await svc.services.ai.usageLedger.flush()
  return svc.rows<UsageRecord>(
    'select outcome, input_tokens as input, output_tokens as output from usage_records order by id',
  )
}

/** Every failure of a provider before its first text. */
export const providerFailures: [string, Behaviour][] = [
  ['refuses with 400', refuses(400)],
  ['refuses with 401', refuses(401)],
  ['refuses with 404', refuses(404)],
  ['refuses with 429', refuses(429)],
  ['refuses with 500', refuses(500)],
  ['stalls', stalls],
  ['answers with a page', replies(`<html>${canary}</html>`, { type: 'text/html' })],
  ['answers with a page and 502', replies(`<html>${canary}</html>`, { type: 'text/html', status: 502 })],
  ['answers with half a document', replies(`{"choices": [{"message": {"content": "${canary}`)],
  ['answers with another document', replies(JSON.stringify({ [canary]: canary }))],
  ['answers with an empty list', replies(JSON.stringify({ choices: [] }))],
  ['answers with a list', replies(JSON.stringify([canary]))],
  ['answers with null', replies('null')],
  ['answers with nothing', replies('')],
  ['redirects', (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ['closes the connection', (_, response) => void response.destroy()],
]
