import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import mime from 'mime'
import type { CDPSession, Locator, Page } from 'playwright-core'
import { bundle, entries, MANIFEST } from '../../facades/web/app-build.ts'
import { readEnv } from '../../server/config/env.ts'
import { beginStream, buildChunk, endStream, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { putAccount } from '../kit/browser.ts'
import { openClient } from '../kit/postgres-client.ts'
import { openPage } from '../kit/web/chromium.ts'
import { makeKeys, signIn } from '../kit/web/pages.ts'
import type { Figure } from './realtime.ts'
import type { SubjectInput } from './subject.ts'
import type { World } from './suite.ts'
import { bounded, measureRoom } from './web-room.ts'

/** A question with an answer of typical length. */
const BRIEF = 'Briefly'

const TOKENS_A_SECOND = 200
/** Milliseconds until an answer is stored and its end is drawn. */
const SETTLE_MS = 1000

const prose = `Some words with **emphasis**, \`code\` and a [link](https://example.org/), as people get them from a model that
explains what they have asked, in a few sentences, and comes to the point only then, which takes it a while.`

const list = '- one thing\n- another one, a little longer than the first\n  1. and one below it'

const code = `\`\`\`python
def mean(values: list[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)
\`\`\``

const table = '| Name | Value |\n| --- | --- |\n| part | 1 |\n| square | 4 |'

const formula = (n: number) => `The formula $x_{${n}} = \\frac{1}{n} \\sum_i x_i$ stands in a line.`

/** An answer of about five hundred tokens with two code blocks, a table and five formulas. */
const part = (n: number) =>
  [
    `## Part ${n}`,
    prose,
    list,
    formula(1),
    prose,
    code,
    formula(2),
    `### More of part ${n}`,
    prose,
    prose,
    table,
    formula(3),
    prose,
    prose,
    `### The end of part ${n}`,
    prose,
    code,
    formula(4),
    prose,
    list,
    formula(5),
    prose,
  ].join('\n\n')

/** Streams a model's text as long as the client reads. */
const tokensOf = (count: number): string[] => {
  const parts = Array.from({ length: Math.ceil(count / 400) }, (_, n) => part(n + 1))
  return [...parts.join('\n\n').matchAll(/\s*\S+/g)].map(([token]) => token).slice(0, count)
}

export const webHeading =
  '\nweb: chat and rooms in Chromium, beside themselves with plain text in place of Markdown, or with little to show\n\n'

/** The costs of the chat in a browser. */
export async function* measureWeb(world: World, rounds: number): AsyncGenerator<Figure> {
  await using upstream = await startProvider(async ({ body }, response) => {
    const tokens = tokensOf(JSON.stringify(body.messages.at(-1)).includes(BRIEF) ? 150 : 400 * rounds)
    beginStream(response)
    const begun = performance.now()
    for (let sent = 0; sent < tokens.length; ) {
      const due = ((performance.now() - begun) * TOKENS_A_SECOND) / 1000
      for (; sent < due && sent < tokens.length; sent++)
        response.write(buildChunk({ delta: { content: tokens[sent] } }))
      await new Promise((done) => setTimeout(done, 5))
    }
    endStream(response)
  })
  await using config = await writeConfig(upstream.url)
  const data = join(world.folder, 'data')
  const settings = { DATABASE_URL: world.databaseUrl, DATA_DIR: data, PORT: '0', AI_CONFIG: config.file }
  await putAccount(readEnv(settings), 'ada')
  const input: SubjectInput = { settings, temporaryDir: world.folder, abilities: ['read', 'write'] }
  const { url, details } = await world.start('subject.ts', input)
  await using browser = await openPage(url)
  const { page } = browser
  await signIn(page)
  await makeKeys(page, { isGiven: false })
  await page.click('#kept a')
  await composer(page).waitFor()
  yield* measureFirstView(page, browser.requests)
  yield await measureStreaming(page, world, rounds)
  yield* measureSizes(page, world, rounds)
  const tokens = (details['tokens'] ?? '').split(' ')
  yield* measureRoom({ page, databaseUrl: world.databaseUrl, tokens, seconds: 5 * rounds })
}

const composer = (page: Page) => page.getByRole('textbox', { name: 'Message' })

/** Requests and script size until the page accepts input. */
async function* measureFirstView(page: Page, requests: { url: string }[]): AsyncGenerator<Figure> {
  const debug = await page.context().newCDPSession(page)
  const sizes = new Map<string, number>()
  page.on('requestfinished', async (request) => sizes.set(request.url(), (await request.sizes()).responseBodySize))
  await debug.send('Network.clearBrowserCache')
  // Changes meanwhile are read again when the page already accepts input.
  await page.route('**/trpc/users.changes**', (route) => route.abort())
  await page.goto('about:blank')
  requests.length = 0
  await page.goto('/chat')
  await page.getByRole('combobox', { name: 'Model: Mock 1' }).waitFor()
  const counted = requests.filter(({ url }) => !url.includes('users.changes'))
  await page.unroute('**/trpc/users.changes**')
  const kilobytes = (ending: string) =>
    [...sizes].reduce((sum, [url, size]) => sum + (url.endsWith(ending) ? size : 0), 0) / 1024
  yield bounded('script of the first view', 'KiB', kilobytes('.js'), 170)
  yield bounded('style of the first view', 'KiB', kilobytes('.css'), 15)
  yield bounded('requests before one can type', 'requests', counted.length, 10)
}

const compared = (what: string, unit: string, [subject, floor]: [number, number], most: number): Figure => {
  const ratio = subject / floor
  return { what, unit, subject, floor, ratio, wanted: `at most ${most}`, isMet: ratio <= most }
}

/** Processor time of the scripts of one streamed answer, with Markdown and with plain text. */
async function measureStreaming(page: Page, world: World, rounds: number): Promise<Figure> {
  const plain = await openPlain(page, world)
  const sides = { subject: [] as number[], floor: [] as number[] }
  for (let round = 0; round <= rounds; round++)
    for (const [side, shown] of [
      ['floor', plain],
      ['subject', page],
    ] as const) {
      const seconds = await streamOnce(shown)
      // The first one also loads code that later ones share.
      if (round > 0) sides[side].push(seconds * 1000)
    }
  await plain.close()
  return compared('script of a streamed answer', 'ms of processor', [median(sides.subject), median(sides.floor)], 1.3)
}

async function streamOnce(page: Page, question = 'At length'): Promise<number> {
  await page.goto('/chat')
  await page.getByRole('combobox', { name: 'Model: Mock 1' }).waitFor()
  const debug = await page.context().newCDPSession(page)
  // Passed time would count what else the machine does.
  await debug.send('Performance.enable', { timeDomain: 'threadTicks' })
  await composer(page).fill(question)
  const before = await scriptSeconds(debug)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  // Repeated look-ups by role would cost more than the measured work.
  while (!(await page.evaluate(isAnswered))) await pause(500)
  await pause(SETTLE_MS)
  const seconds = (await scriptSeconds(debug)) - before
  await debug.detach()
  return seconds
}

const isAnswered = "document.querySelectorAll('article').length > 1 && !document.querySelector('[aria-busy=true]')"

async function scriptSeconds(debug: CDPSession): Promise<number> {
  const { metrics } = await debug.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? Number.NaN
}

/** The same front end, which shows all texts as they are. */
async function openPlain(page: Page, { folder }: World): Promise<Page> {
  const built = join(folder, 'plain')
  await mkdir(built)
  await bundle(built, [
    {
      name: 'plain-text',
      enforce: 'pre',
      resolveId: (source) => (source.endsWith('/markdown.tsx') ? '\0plain-text' : null),
      load: (id) => (id === '\0plain-text' ? plainText : null),
    },
  ])
  const chunks = JSON.parse(await readFile(join(built, MANIFEST), 'utf8')) as Record<string, Chunk>
  const entry = chunks[entries.app]
  const styles = Object.values(chunks).flatMap(({ css = [] }) => css)
  const plain = await page.context().newPage()
  await plain.route('**/assets/app/*', async (route) => {
    const name = new URL(route.request().url()).pathname.split('/').at(-1) ?? ''
    const contentType = mime.getType(name) ?? 'application/octet-stream'
    await route.fulfill({ body: await readFile(join(built, name)), contentType })
  })
  await plain.route('**/chat', async (route) => {
    const response = await route.fetch()
    const body = (await response.text())
      .replace(/<link rel="(?:modulepreload|stylesheet)"[^>]*>/g, '')
      .replace(/src="[^"]*"/, `src="/assets/app/${entry?.file}"`)
      .replace(
        '</head>',
        `${styles.map((name) => `<link rel="stylesheet" href="/assets/app/${name}">`).join('')}</head>`,
      )
    await route.fulfill({ response, body })
  })
  return plain
}

interface Chunk {
  file: string
  css?: string[]
}

const plainText = `
  import { createElement, memo } from 'react'
  export const Markdown = memo(({ text }) => createElement('div', { style: { whiteSpace: 'pre-wrap' } }, text))
`

/** Milliseconds until a large view appears, beside a small one. */
async function* measureSizes(page: Page, { databaseUrl }: World, rounds: number): AsyncGenerator<Figure> {
  await streamOnce(page, BRIEF)
  const slug = page.url().split('/').at(-1) ?? ''
  await using client = await openClient(databaseUrl)
  await client.query(`delete from conversations where slug <> '${slug}'`)
  await fill(client, slug, { from: 2, conversations: 10, messages: 10 })
  const list = () => timeUntil(page, '/chat', page.getByRole('navigation', { name: 'Chats' }).getByRole('link'))
  const thread = () => timeUntil(page, `/chat/${slug}`, page.getByRole('article'))
  const few = [await medianOf(rounds, list), await medianOf(rounds, thread)] as const
  await fill(client, slug, { from: 11, conversations: 1000, messages: 10_000 })
  const many = [await medianOf(rounds, list), await medianOf(rounds, thread)] as const
  yield compared('1,000 conversations, beside 10', 'ms', [many[0], few[0]], 2)
  yield compared('10,000 messages, beside 10', 'ms', [many[1], few[1]], 2)
}

/** Adds conversations, and messages in one of them, up to so many. */
async function fill(
  client: Client,
  slug: string,
  { from, conversations, messages }: Record<'from' | 'conversations' | 'messages', number>,
) {
  await client.query(
    `insert into conversations (user_id, slug, name, created_at, updated_at)
      select user_id, lpad(n::text, 16, 'x'), 'Chat ' || n, now(), now() - n * interval '1 hour'
        from conversations, generate_series(${from}, ${conversations}) n where slug = '${slug}'`,
  )
  await client.query(
    `insert into conversation_messages (conversation_id, seq, role, model, content, is_complete, bytes, created_at, updated_at)
      select conversation_id, n, role, model, content, true, bytes, now(), now()
        from conversation_messages m, generate_series(${from + 1}, ${messages}) n
       where seq = 2 - n % 2 and conversation_id = (select id from conversations where slug = '${slug}')`,
  )
}

type Client = Awaited<ReturnType<typeof openClient>>

async function timeUntil(page: Page, path: string, shown: Locator): Promise<number> {
  await page.goto('about:blank')
  const begun = performance.now()
  await page.goto(path, { waitUntil: 'commit' })
  await shown.first().waitFor()
  return performance.now() - begun
}

async function medianOf(rounds: number, measure: () => Promise<number>): Promise<number> {
  const values: number[] = []
  for (let round = 0; round <= rounds; round++) values.push(await measure())
  return median(values.slice(1))
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
