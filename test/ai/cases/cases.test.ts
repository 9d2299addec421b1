import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { completionAdapters, startCompletionAdapters } from '../../kit/ai/completion-adapters.ts'
import { buildExpectedAnswer, completionCases } from '../../kit/ai/completion-cases.ts'
import { shareResource } from '../../kit/share-resource.ts'

const app = shareResource(startCompletionAdapters)

const ends = {
  stop: { messages: 'end_turn', responses: 'completed', aiReq: 'whole', lines: 'answer' },
  length: { messages: 'max_tokens', responses: 'incomplete', aiReq: 'length', lines: 'answer' },
  content_filter: { messages: 'refusal', responses: 'incomplete', aiReq: 'refusal', lines: 'answer' },
  error: { messages: 'error', responses: 'error', aiReq: 'error', lines: 'error' },
  tool_calls: undefined,
}

test('every case in the folders has its right answer in the table', async () => {
  const folders = await Promise.all(
    ['streams', 'answers'].map(async (folder) =>
      (await readdir(join(import.meta.dirname, folder))).map((file) => `${folder}/${file}`),
    ),
  )

  expect(folders.flat().sort()).toEqual(Object.keys(completionCases).sort())
})

test.for(Object.entries(completionCases))(
  'the answer of %s is read right by every adapter and surface',
  async ([file, right]) => {
    const bytes = await readFile(join(import.meta.dirname, file))
    app.answerWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      // The bytes are cut at an odd offset, which may be within a character.
      response.write(bytes.subarray(0, 57))
      await pause(2)
      response.write(bytes.subarray(57))
      if (!file.includes('hang')) response.end()
    })

    for (const stream of [true, false]) {
      for (const adapter of completionAdapters) {
        const { ids, status, ...answer } = await app.chat(adapter, stream)
        expect({ adapter, stream, ...answer }).toEqual({ adapter, stream, ...buildExpectedAnswer(right, stream) })
        expect(status).toBe(right.end === 'error' && !stream ? 500 : 200)
        expect(new Set(ids).size).toBe(ids.length)
      }
      const words = ends[right.end]
      if (words) expect(await app.ends(completionAdapters[0], stream)).toEqual(words)
    }
  },
)

test('thoughts that the provider counts beside the answer are billed', async () => {
  const bytes = await readFile(join(import.meta.dirname, 'streams/usgreasonout.sse'))
  app.answerWith((response) => response.end(bytes))

  for (const stream of [true, false]) {
    await app.chat('openai-compatible', stream)
    expect(await app.bill()).toEqual({ input: 10, output: 107, cached: 0, estimated: false, cost: 224 })
  }
})
