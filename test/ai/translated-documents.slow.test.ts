import { beforeEach, expect, test } from 'vitest'
import { plainAnswer as plain, startDialects, upstreamIds } from '../kit/ai/dialect-service.ts'
import { answerInDialect } from '../kit/ai/task-model.ts'
import { makeDocx, makeXlsx } from '../kit/sample-files/documents.ts'
import { makePdf } from '../kit/sample-files/pdf.ts'
import { shareResource } from '../kit/share-resource.ts'

const service = shareResource(startDialects)
beforeEach(() => {
  service.upstream.behave = answerInDialect(() => plain)
  service.upstream.requests.length = 0
})

/** Sends a request that must be accepted; returns the body that the provider got. */
async function sendDocument(path: string, body: object): Promise<string> {
  const response = await service.send(path, body)
  expect(response.status, await response.text()).toBe(200)
  return service.upstream.requests.at(-1)?.sent ?? ''
}

const user = (content: unknown) => ({ role: 'user', content })

test('an inline document for a model that reads none is read as text', async () => {
  const data = makePdf({ lines: ['The cat sat.'] }).toString('base64')
  const source = { type: 'base64', media_type: 'application/pdf', data }
  const document = user([{ type: 'document', source, title: 'cats.pdf' }])
  const sent = await sendDocument('/v1/messages', {
    model: 'openai-compatible',
    max_tokens: 50,
    messages: [document],
  })

  expect(sent).toContain('The cat sat.')
  expect(sent).not.toContain(data)
})

const word = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const sheet = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

/** Builds a request with a document for each surface. */
const carriers: Record<string, (mime: string, data: string, name: string) => object> = {
  '/v1/chat/completions': (mime, data, filename) => ({
    messages: [user([{ type: 'file', file: { file_data: `data:${mime};base64,${data}`, filename } }])],
  }),
  '/v1/responses': (mime, data, filename) => ({
    input: [user([{ type: 'input_file', file_data: `data:${mime};base64,${data}`, filename }])],
  }),
  '/v1/messages': (media_type, data, title) => ({
    max_tokens: 50,
    messages: [user([{ type: 'document', title, source: { type: 'base64', media_type, data } }])],
  }),
}
const faces = Object.keys(carriers)

test.for(faces)('office documents in a request of %s become text for every model', async (path) => {
  const carry = carriers[path] as (typeof carriers)[string]
  const letter = makeDocx(['The cat sat.']).toString('base64')
  for (const model of path === '/v1/messages' ? Object.keys(upstreamIds) : ['openai-compatible', 'openai']) {
    const sent = await sendDocument(path, { model, ...carry(word, letter, 'cats.docx') })
    expect(sent, model).toContain('The cat sat.')
    expect(sent, model).not.toContain(letter)
  }
  const costs = makeXlsx([['Rent', '500']]).toString('base64')
  expect(await sendDocument(path, { model: 'anthropic', ...carry(sheet, costs, 'costs.xlsx') })).toContain('500')
  const named = carry('application/octet-stream', letter, 'cats.docx')
  expect(await sendDocument(path, { model: 'google', ...named })).toContain('The cat sat.')
})

test.for(faces)('an unreadable file in a request of %s is refused with its reason', async (path) => {
  const carry = carriers[path] as (typeof carriers)[string]
  const refuse = async (mime: string, data: string) => {
    const response = await service.send(path, { model: 'anthropic', ...carry(mime, data, 'a') })
    expect(response.status).toBe(400)
    return await response.text()
  }
  const nothing = Buffer.from('nothing').toString('base64')
  expect(await refuse(word, nothing)).toContain('is damaged, or not what it says')
  expect(await refuse('audio/mpeg', nothing)).toContain('is no type of file that can be read')
  expect(await refuse('image/tiff', nothing)).toContain('must be one of image/png')
  expect(service.upstream.requests).toEqual([])
})

test('a document of an office counts with its text', async () => {
  const count = async (words: string[]) => {
    const carried = carriers['/v1/messages']?.(word, makeDocx(words).toString('base64'), 'cats.docx')
    const response = await service.send('/v1/messages/count_tokens', { model: 'openai-compatible', ...carried })
    return ((await response.json()) as { input_tokens: number }).input_tokens
  }
  expect(await count(Array<string>(500).fill('The cat sat.'))).toBeGreaterThan((await count(['The cat.'])) + 1000)
})
