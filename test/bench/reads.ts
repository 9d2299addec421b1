import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assertSame } from './same.ts'
import type { SubjectInput } from './subject.ts'
import { type BenchRequest, memory, type Suite, throughput } from './suite.ts'

const base = '/api/svc/v1/ai-models'

/** Reads that many callers make at once are shared; the last suite measures pages that nobody else requests. */
function requests(tokens: readonly string[]): BenchRequest[] {
  const get = { method: 'GET', headers: { authorization: `Bearer ${tokens[0]}` }, tokens } as const
  const isWhole = (end: string) => end.endsWith('}')
  const ids = Array.from({ length: 80 }, (_, index) => index + 1)
  const sizes = Array.from({ length: 21 }, (_, index) => 40 + index)
  return [
    { ...get, name: 'one', path: `${base}/7`, paths: ids.map((id) => `${base}/${id}`), isWhole },
    { ...get, name: 'page of 50', path: `${base}?page[size]=50`, isWhole },
    { ...get, name: 'page of 50, included', path: `${base}?page[size]=50&include=provider,descriptions`, isWhole },
    {
      ...get,
      name: 'pages of 40 to 60',
      path: `${base}?page[size]=50`,
      paths: sizes.map((size) => `${base}?page[size]=${size}`),
      isWhole,
    },
  ]
}

/** The service and the floor on a catalogue, which send the same. */
const openWith =
  (catalogue: object, requests: (tokens: readonly string[]) => BenchRequest[]): Suite['open'] =>
  async ({ databaseUrl, folder, start }) => {
    const config = join(folder, 'ai.json')
    await writeFile(config, JSON.stringify(catalogue))
    const settings = { DATABASE_URL: databaseUrl, DATA_DIR: join(folder, 'data'), AI_CONFIG: config, PORT: '0' }
    const subject = await start<SubjectInput>('subject.ts', { settings, temporaryDir: folder })
    const floor = await start('reads-floor.ts', { databaseUrl })
    const contest = { subject, floor, requests: requests((subject.details['tokens'] ?? '').split(' ')) }
    await assertSame(contest)
    return contest
  }

const catalogueOf = (models: number) => ({
  providers: Array.from({ length: 5 }, (_, provider) => ({
    id: `provider-${provider}`,
    adapter: 'openai-compatible',
    apiUrl: 'http://127.0.0.1:9/v1',
    models: Array.from({ length: models / 5 }, (_, model) => ({
      id: `model-${provider}-${model}`,
      label: `Model ${model} of provider ${provider}`,
      external: true,
      input: ['text', 'image'],
      flags: ['open-weights', 'self-hosted'],
      limits: { maxInputTokens: 128_000, maxOutputTokens: 16_384 },
      pricing: { currency: 'EUR', inputPerMillion: 0.4, outputPerMillion: 1.6 },
      parameters: { temperature: 0.7, topP: 0.9 },
      descriptions: {
        en_US: `What model ${model} of provider ${provider} is good for, in a sentence or two of usual length.`,
      },
    })),
  })),
  systemModels: { default: 'model-0-0' },
})

/** Pages of 20 to 22 of 200 models in five orders, so that concurrent requests hardly ever share a page. */
function pageRequests(tokens: readonly string[]): BenchRequest[] {
  const sizes = [20, 21, 22]
  const numbers = Array.from({ length: 9 }, (_, at) => at + 1)
  const paths = ['', '&sort=label', '&sort=-label', '&sort=modelId', '&sort=-modelId'].flatMap((sort) =>
    numbers.flatMap((number) => sizes.map((size) => `${base}?page[size]=${size}&page[number]=${number}${sort}`)),
  )
  const headers = { authorization: `Bearer ${tokens[0]}` }
  const isWhole = (end: string) => end.endsWith('}')
  const path = `${base}?page[size]=20&page[number]=4&sort=-label`
  return [{ name: 'page of 20 of 200', method: 'GET', path, paths, headers, tokens, isWhole }]
}

export const reads: Suite = {
  name: 'reads',
  about: 'Reading ai-models through JSON:API, beside the least program that sends the same bytes',
  open: openWith(catalogueOf(80), requests),
  wanted: [
    throughput(0.65, ({ concurrency }) => concurrency === 10),
    {
      what: 'p99 under 2 times the floor',
      met: ({ concurrency, subject, floor }) => (concurrency === 10 ? subject.p99 < 2 * floor.p99 : undefined),
    },
    { what: 'a heap that stays as it was, give or take 5 MB', met: ({ heap }) => heap.after < heap.before + 5 },
    memory,
  ],
}

export const pages: Suite = {
  name: 'page',
  about: 'Pages of ai-models that nobody shares, beside the least program that sends the same bytes',
  open: openWith(catalogueOf(200), pageRequests),
  wanted: [throughput(0.5, ({ concurrency }) => concurrency === 50), memory],
}
