import { buildFetchedPage, buildMessage } from './anthropic.ts'
import { type Behaviour, beginStream, type ProviderRequest, sendJson } from './provider.ts'

export const url = 'https://example.org/chess'
export const title = 'Chess'

const formatData = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const formatEvents = (...events: { type: string; [member: string]: unknown }[]) =>
  events.map((event) => `event: ${event.type}\n${formatData(event)}`).join('')

/** A provider's tools for web search, and its answer in one piece and as events. */
interface Dialect {
  tools: object[]
  whole: object
  events: string
}

const annotation = { type: 'url_citation', start_index: 0, end_index: 5, url, title }
const searchItem = {
  type: 'web_search_call',
  id: 'ws',
  status: 'completed',
  action: { type: 'search', query: 'chess' },
}
/** Reading a search result has the same type of item and is not billed. */
const openPageItem = { ...searchItem, id: 'read', action: { type: 'open_page', url } }
const message = { type: 'message', id: 'msg', role: 'assistant', status: 'completed' }
const messageItem = { ...message, content: [{ type: 'output_text', text: 'It is e4.', annotations: [annotation] }] }
const response = { id: 'resp', object: 'response', created_at: 1, model: 'up' }
const responseUsage = { input_tokens: 70, output_tokens: 9 }

const openai: Dialect = {
  tools: [{ type: 'web_search' }],
  whole: { ...response, status: 'completed', output: [searchItem, openPageItem, messageItem], usage: responseUsage },
  events: formatEvents(
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...searchItem, status: 'in_progress' } },
    { type: 'response.output_item.done', output_index: 0, item: searchItem },
    { type: 'response.output_item.added', output_index: 1, item: { ...openPageItem, status: 'in_progress' } },
    { type: 'response.output_item.done', output_index: 1, item: openPageItem },
    { type: 'response.output_item.added', output_index: 2, item: message },
    { type: 'response.output_text.delta', item_id: 'msg', output_index: 2, delta: 'It is e4.' },
    {
      type: 'response.output_text.annotation.added',
      item_id: 'msg',
      output_index: 2,
      content_index: 0,
      annotation_index: 0,
      annotation,
    },
    { type: 'response.output_item.done', output_index: 2, item: messageItem },
    { type: 'response.completed', response: { ...response, usage: responseUsage } },
  ),
}

export const searchCall = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'chess' } }
export const searchHits = [{ type: 'web_search_result', url, title, encrypted_content: 'sealed', page_age: null }]
export const searchResult = { type: 'web_search_tool_result', tool_use_id: searchCall.id, content: searchHits }
export const anthropicUsage = { input_tokens: 70, output_tokens: 9, server_tool_use: { web_search_requests: 1 } }
export const answer = { type: 'text', text: 'It is e4.' }
export const ending = { stop_reason: 'end_turn', usage: anthropicUsage }

export const anthropic: Dialect = {
  tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }],
  ...buildMessage([searchCall, searchResult, answer], ending),
}

const candidate = {
  index: 0,
  content: { role: 'model', parts: [{ text: 'It is e4.' }] },
  finishReason: 'STOP',
  groundingMetadata: {
    groundingChunks: [{ web: { uri: url, title } }],
    webSearchQueries: ['chess', '', 'openings', 'chess'],
  },
}
const grounded = { candidates: [candidate], usageMetadata: { promptTokenCount: 70, candidatesTokenCount: 9 } }

const google: Dialect = { tools: [{ googleSearch: {} }], whole: grounded, events: formatData(grounded) }

export const dialects = { openai, anthropic, google }

export const fetchCall = { type: 'server_tool_use', id: 'srvtoolu_2', name: 'web_fetch', input: { url } }
export const fetchedPage = buildFetchedPage(fetchCall.id, url, 'e4 is best.')
export const fetchUsage = { input_tokens: 70, output_tokens: 9, server_tool_use: { web_fetch_requests: 1 } }

/** The same providers with a tool that fetches a page. */
export const fetchers: Record<string, Dialect> = {
  anthropic: {
    tools: [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 5, max_content_tokens: 25_000 }],
    ...buildMessage([fetchCall, fetchedPage, answer], { ...ending, usage: fetchUsage }),
  },
  google: (() => {
    const { groundingMetadata: _, ...plainCandidate } = candidate
    const status = (retrievedUrl: string, urlRetrievalStatus: string) => ({ retrievedUrl, urlRetrievalStatus })
    const urlMetadata = [
      status(url, 'URL_RETRIEVAL_STATUS_SUCCESS'),
      status('https://example.org/gone', 'URL_RETRIEVAL_STATUS_ERROR'),
    ]
    const whole = { ...grounded, candidates: [{ ...plainCandidate, urlContextMetadata: { urlMetadata } }] }
    return { tools: [{ urlContext: {} }], whole, events: formatData(whole) }
  })(),
}

export const answersWithSources: Behaviour = ({ path, body }, response) => {
  const { whole, events } = selectDialect(path, body)
  if (!body.stream && !path.includes('stream')) return sendJson(response, whole)
  beginStream(response)
  response.end(events)
}

function selectDialect(path: string, { tools }: ProviderRequest['body']): Dialect {
  const adapter = path.split('/')[2] as keyof typeof dialects
  const isFetching = /web_fetch|urlContext/.test(JSON.stringify(tools))
  return (isFetching && fetchers[adapter]) || dialects[adapter]
}
