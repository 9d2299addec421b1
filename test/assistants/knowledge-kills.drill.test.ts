import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { embedsMeaning, readTexts, writeEmbedderConfig } from '../kit/ai/embedder.ts'
import { startProvider } from '../kit/ai/provider.ts'
import { callKnowledge, uploadKnowledge } from '../kit/assistants/knowledge.ts'
import { createDataFolder, root, startProcess } from '../kit/service-process.ts'

vi.setConfig({ testTimeout: 15 * 60_000 })

const run = promisify(execFile)
const LATE = { timeout: 5 * 60_000 }

/** Calls procedures of a running service. */
const toClient = (url: string) => ({
  url,
  send: (method: string, path: string, { token, body }: { token?: string; body?: object } = {}) =>
    fetch(new URL(path, url), {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      ...(body && { body: JSON.stringify(body) }),
    }),
})

test('indexing goes on after kills, and embeds only passages under way twice', async () => {
  await using folder = await createDataFolder()
  await using upstream = await startProvider(embedsMeaning)
  await using config = await writeEmbedderConfig(upstream.url)
  const settings = {
    DATA_DIR: folder.path,
    PORT: '0',
    AI_CONFIG: config.file,
    KNOWLEDGE_EMBEDDING_MODEL: 'old',
    LIMITS_MAX_OUTPUT_TOKENS: '1000',
  }
  const chapters = Array.from(
    { length: 100 },
    (_, at) => `# Chapter ${at}\n\n${`The word${at} is told here at length. `.repeat(40)}`,
  )
  let token = ''
  let knowledge = 0
  // The first three processes are killed while the provider holds their second request.
  for (let round = 0; round < 3; round++) {
    const held = Promise.withResolvers<void>()
    let requests = 0
    upstream.behave = async (received, response) => {
      requests += 1
      if (requests === 2) held.resolve()
      if (requests < 2) await embedsMeaning(received, response)
    }
    await using service = startProcess(settings)
    const client = toClient(await service.ready())
    if (round === 0) {
      const argv = ['token', '--username', 'demo', '--name', 'kills', '--abilities', 'read,write,ai', '--json']
      const { stdout } = await run(process.execPath, [join(root, 'cli/svc.ts'), ...argv], {
        cwd: root,
        env: { HOME: tmpdir(), ...settings },
      })
      token = (JSON.parse(stdout) as { token: string }).token
      knowledge = (await callKnowledge(client as never, 'create', { name: 'Book' }, token)).data.id
      await uploadKnowledge(client, { id: knowledge, path: 'book.md' }, chapters.join('\n\n'), token)
    }
    await held.promise
    service.kill('SIGKILL')
    await service.ended
  }
  upstream.behave = embedsMeaning
  await using last = startProcess(settings)
  const client = toClient(await last.ready())
  const readState = async () => {
    const { data } = await callKnowledge(client as never, 'files', { id: knowledge }, token)
    return data.files[0]?.embedding.state
  }
  await expect.poll(readState, LATE).toBe('whole')

  const answered = new Map<string, number>()
  for (const text of upstream.requests.flatMap(readTexts)) answered.set(text, (answered.get(text) ?? 0) + 1)
  // Each kill repeats the one request that had no answer.
  expect(Math.max(...answered.values())).toBeLessThanOrEqual(4)
  expect([...answered.values()].filter((times) => times > 1).length).toBeLessThanOrEqual(3 * 32)
  const found = await callKnowledge(client as never, 'search', { id: knowledge, query: 'word77' }, token)
  expect(found.data[0]?.text).toContain('word77')
})

test('a rebuild goes on after a kill, and the old model answers until then', async () => {
  await using folder = await createDataFolder()
  await using upstream = await startProvider(embedsMeaning)
  await using config = await writeEmbedderConfig(upstream.url)
  const settings = { DATA_DIR: folder.path, PORT: '0', AI_CONFIG: config.file, KNOWLEDGE_EMBEDDING_MODEL: 'old' }
  const svc = async (argv: readonly string[], more: Record<string, string> = {}) =>
    (
      await run(process.execPath, [join(root, 'cli/svc.ts'), ...argv], {
        cwd: root,
        env: { HOME: tmpdir(), ...settings, ...more },
      })
    ).stdout
  let token = ''
  let knowledge = 0
  const call = async (url: string, name: string, input: object) =>
    (await callKnowledge(toClient(url) as never, name, input, token)).data
  const search = (url: string) => call(url, 'search', { id: knowledge, query: 'automobile' })
  {
    await using service = startProcess(settings)
    const url = await service.ready()
    token = JSON.parse(
      await svc(['token', '--username', 'demo', '--name', 'kills', '--abilities', 'read,write,ai', '--json']),
    ).token
    knowledge = (await call(url, 'create', { name: 'Cars' })).id
    for (let at = 0; at < 6; at++)
      await uploadKnowledge(
        toClient(url),
        { id: knowledge, path: `${at}.md` },
        `The car ${at} is in garage ${at}.`,
        token,
      )
    const countWhole = async () =>
      (await call(url, 'files', { id: knowledge })).files.filter(
        ({ embedding }: { embedding: { state: string } | null }) => embedding?.state === 'whole',
      ).length
    await expect.poll(countWhole, LATE).toBe(6)
  }

  const exchanged = { ...settings, KNOWLEDGE_EMBEDDING_MODEL: 'new' }
  const countNew = () => upstream.requests.filter(({ body }) => body.model === 'new').length
  upstream.behave = async (received, response) => {
    // The killed process has some answers of the new model, and waits for others.
    if (received.body.model === 'old' || countNew() <= 2) await embedsMeaning(received, response)
  }
  {
    await using service = startProcess(exchanged)
    const url = await service.ready()
    await svc(['knowledge', 'rebuild', '--yes'], { KNOWLEDGE_EMBEDDING_MODEL: 'new' })
    await expect.poll(countNew, LATE).toBeGreaterThan(3)
    expect(await search(url)).toHaveLength(6)
    service.kill('SIGKILL')
    await service.ended
  }
  upstream.behave = embedsMeaning
  await using last = startProcess(exchanged)
  const url = await last.ready()
  const readActive = async () => JSON.parse(await svc(['knowledge', 'index', '--json'], exchanged)).active?.model
  // Each look starts a command, which takes more of the processor than what it waits for.
  await expect.poll(readActive, { ...LATE, interval: 3000 }).toBe('new')
  expect(await search(url)).toHaveLength(6)
  // Beside the texts that were on their way, none is embedded twice.
  const texts = upstream.requests.filter(({ body }) => body.model === 'new').flatMap(readTexts)
  const passages = texts.filter((text) => text.includes('garage'))
  expect(new Set(passages).size).toBe(6)
  expect(passages.length).toBeLessThanOrEqual(6 + 2)
})
