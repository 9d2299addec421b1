import { beforeAll, beforeEach, expect, test } from 'vitest'
import { answersWithBlocks } from '../../kit/ai/anthropic.ts'
import { searchTool, startNativeTools } from '../../kit/ai/native-tools.ts'
import { type Behaviour, beginStream, sendJson } from '../../kit/ai/provider.ts'
import { signIn, type TestBrowser } from '../../kit/browser.ts'
import { shareResource } from '../../kit/share-resource.ts'

let browser: TestBrowser
const native = shareResource(startNativeTools)
beforeAll(async () => {
  ;({ browser } = await signIn(native.svc, 'ada'))
})
beforeEach(() => native.reset())

const text = '♟️ é: e4 is best, 😀 and so is d4.'
const pages = { e4: 'https://example.org/e4', d4: 'https://example.org/d4', none: 'https://example.org/none' }
const at = (piece: string) => {
  const start = [...text.slice(0, text.indexOf(piece))].length
  return { start, end: start + [...piece].length }
}
const [e4, best, d4] = [at('e4'), at('is best'), at('😀 and so is d4.')]

const usage = { input_tokens: 70, output_tokens: 9 }
const annotationOf = (url: string, { start, end }: { start: number; end: number }) => ({
  type: 'url_citation',
  start_index: start,
  end_index: end,
  url,
  title: 'Chess',
})
const annotations = [
  annotationOf(pages.e4, e4),
  annotationOf(pages.d4, d4),
  annotationOf(`${pages.e4}?utm_source=openai`, best),
  annotationOf(pages.none, { start: 5, end: 5000 }),
]
const message = { type: 'message', id: 'msg', role: 'assistant', status: 'completed' }
const outputMessage = { ...message, content: [{ type: 'output_text', text, annotations }] }
const response = { id: 'resp', object: 'response', created_at: 1, model: 'up' }
const openai: Behaviour = ({ body }, reply) => {
  if (!body.stream) return sendJson(reply, { ...response, status: 'completed', output: [outputMessage], usage })
  const events: { type: string; [member: string]: unknown }[] = [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: message },
    { type: 'response.output_text.delta', item_id: 'msg', output_index: 0, delta: text },
    ...annotations.map((annotation, annotation_index) => ({
      type: 'response.output_text.annotation.added',
      item_id: 'msg',
      output_index: 0,
      content_index: 0,
      annotation_index,
      annotation,
    })),
    { type: 'response.output_item.done', output_index: 0, item: outputMessage },
    { type: 'response.completed', response: { ...response, usage } },
  ]
  beginStream(reply)
  reply.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
}

/** Text before a tool call, which the usual answer follows. */
const before = 'I look: '
const afterTool: Behaviour = (request, reply) => {
  if (JSON.stringify(request.body).includes('function_call_output')) return openai(request, reply)
  const call = { type: 'function_call', id: 'fc', call_id: 'call', name: 'weather', arguments: '{"city":"Jena"}' }
  const first = { ...message, content: [{ type: 'output_text', text: before, annotations: [] }] }
  sendJson(reply, { ...response, status: 'completed', output: [first, { ...call, status: 'completed' }], usage })
}

const supportOf = (piece: string, index: number, more: object = {}) => {
  const startIndex = Buffer.byteLength(text.slice(0, text.indexOf(piece)))
  const segment = { startIndex, endIndex: startIndex + Buffer.byteLength(piece), text: piece, ...more }
  return { segment, groundingChunkIndices: [index] }
}
const google: Behaviour = ({ path }, reply) => {
  const groundingMetadata = {
    groundingChunks: [pages.e4, pages.d4, pages.none].map((uri) => ({ web: { uri, title: 'Chess' } })),
    groundingSupports: [
      supportOf('e4', 0),
      supportOf('😀 and so is d4.', 1),
      supportOf('is best', 0),
      supportOf('e4', 2, { text: 'What the answer does not say.' }),
    ],
    webSearchQueries: ['chess'],
  }
  const candidate = { index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP', groundingMetadata }
  const whole = { candidates: [candidate], usageMetadata: { promptTokenCount: 70, candidatesTokenCount: 9 } }
  if (!path.includes('stream')) return sendJson(reply, whole)
  beginStream(reply)
  reply.end(`data: ${JSON.stringify(whole)}\n\n`)
}

const searchHits = Object.values(pages).map((url) => ({
  type: 'web_search_result',
  url,
  title: 'Chess',
  encrypted_content: 'sealed',
  page_age: null,
}))
const searchBlocks = [
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'chess' } },
  { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: searchHits },
]
const citingBlock = (piece: string, url: string) => {
  const citation = { type: 'web_search_result_location', url, title: 'Chess', cited_text: 'So.', encrypted_index: 'x' }
  return { type: 'text', text: piece, citations: [citation] }
}
/** Blocks of text; a block with a citation cites its page as a whole. */
const texts = [
  { type: 'text', text: '♟️ é: ' },
  citingBlock('e4', pages.e4),
  { type: 'text', text: ' ' },
  citingBlock('is best', pages.e4),
  { type: 'text', text: ', ' },
  citingBlock('😀 and so is d4.', pages.d4),
]
const anthropic = answersWithBlocks([...searchBlocks, ...texts], { stop_reason: 'end_turn', usage })

const dialects = [
  ['openai', openai],
  ['google', google],
  ['anthropic', anthropic],
] as const
const none = { start: 0, end: 0 }
/** Citations by page, in the order in which the pages are reported. */
const expectedAnnotations = [
  ...[e4, best].map((place) => annotationOf(pages.e4, place)),
  annotationOf(pages.d4, d4),
  annotationOf(pages.none, none),
]

test.for(dialects)('older front ends learn where an answer of the kind %s cites pages', async ([model, behave]) => {
  native.upstream.behave = behave
  const payload = { model, stream: true, messages: [{ role: 'user', content: { text: 'Well?' } }], tools: [searchTool] }
  const { text } = await browser.send('POST', '/req/streamAI', { body: { payload, broadcast: false } })

  const lines = text.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : []))
  const ranges = (...places: (typeof e4)[]) => places.map(({ start, end }) => [start, end])
  const toIndexes = ({ start, end }: typeof e4) => ({ start_index: start, end_index: end })
  expect(lines.flatMap(({ type, content }) => (type === 'citation' ? [content] : []))).toEqual([
    { url: pages.e4, title: 'Chess', ...toIndexes(e4), ranges: ranges(e4, best), byteOffset: false },
    { url: pages.d4, title: 'Chess', ...toIndexes(d4), ranges: ranges(d4), byteOffset: false },
    { url: pages.none, title: 'Chess', ranges: [], byteOffset: false },
  ])
})

test.for(dialects)("OpenAI's clients learn where an answer of the kind %s cites a page", async ([model, behave]) => {
  native.upstream.behave = behave
  const whole = await (await native.chat(model, [searchTool])).json()
  const streamed = await (await native.chat(model, [searchTool], { stream: true })).text()
  const response = { model, input: 'Well?', tools: [searchTool] }
  const item = await (await native.send('/v1/responses', response)).json()
  const events = await (await native.send('/v1/responses', { ...response, stream: true })).text()

  const inChat = expectedAnnotations.map(({ type, ...citation }) => ({
    type,
    url_citation: expect.objectContaining(citation),
  }))
  expect(whole).toMatchObject({ choices: [{ message: { content: text, annotations: inChat } }] })
  expect(dataIn(streamed).flatMap(({ choices }) => choices?.[0]?.delta.annotations ?? [])).toEqual(inChat)
  const inItem = { content: [{ text, annotations: expectedAnnotations }] }
  expect(item).toMatchObject({ output: [inItem] })
  const data = dataIn(events)
  expect(data.flatMap(({ annotation }) => annotation ?? [])).toEqual(expectedAnnotations)
  expect(data.at(-1)?.response).toMatchObject({ output: [inItem] })
})

test("Anthropic's clients learn where an answer cites a page by text block", async () => {
  native.upstream.behave = openai
  const body = { model: 'openai', max_tokens: 100, messages: [{ role: 'user', content: 'Well?' }] }
  const { content } = JSON.parse(await (await native.send('/v1/messages', body)).text())
  const events = await (await native.send('/v1/messages', { ...body, stream: true })).text()

  const citations = (...urls: string[]) => urls.map((url) => expect.objectContaining({ url, title: 'Chess' }))
  const last = { text: '😀 and so is d4.', citations: citations(pages.d4, pages.none) }
  expect(content).toMatchObject([
    { text: '♟️ é: ' },
    { text: 'e4', citations: citations(pages.e4) },
    { text: ' ' },
    { text: 'is best', citations: citations(pages.e4) },
    { text: ', ' },
    last,
  ])
  // The citations come after the text, which is already sent as one block.
  const deltas = dataIn(events).flatMap(({ delta }) => delta ?? [])
  expect(deltas.flatMap(({ citation }) => citation ?? [])).toEqual(citations(...Object.values(pages)))

  await native.send('/v1/messages', {
    ...body,
    messages: [...body.messages, { role: 'assistant', content }, ...body.messages],
  })
  expect(native.upstream.requests.at(-1)?.body['input']).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: text },
    { role: 'user' },
  ])
})

test('a page cited after a tool run has its place in the text', async () => {
  native.upstream.behave = afterTool
  const tools = ['weather', searchTool]
  const chat = await (await native.chat('openai', tools)).json()
  const item = await (await native.send('/v1/responses', { model: 'openai', input: 'Well?', tools })).json()

  const { length } = before
  const [first] = expectedAnnotations
  const shifted = { url: pages.e4, start_index: e4.start + length, end_index: e4.end + length }
  expect(chat).toMatchObject({ choices: [{ message: { content: before + text } }] })
  expect(chat).toHaveProperty('choices.0.message.annotations.0.url_citation', expect.objectContaining(shifted))
  expect(item).toMatchObject({ output: [{ content: [{ text: before }] }, { content: [{ text }] }] })
  expect(item).toHaveProperty('output.1.content.0.annotations.0', first)
})

interface Data {
  choices?: { delta: { annotations?: object[] } }[]
  annotation?: object
  delta?: { citation?: object }
  response?: object
}

const dataIn = (events: string): Data[] =>
  [...events.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))
