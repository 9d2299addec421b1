import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readBody } from '../ai/provider.ts'

type Value = { stringValue?: string; intValue?: number; doubleValue?: number; boolValue?: boolean }
type Attributes = { key: string; value: Value }[]

interface SentSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: Attributes
  events: { name: string }[]
  links: { traceId: string; spanId: string }[]
  status: { code: number }
}

interface SentLine {
  traceId?: string
  spanId?: string
  severityText: string
  body: { stringValue: string }
  attributes: Attributes
}

export const readAttributes = (attributes: Attributes) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

/** A collector of OpenTelemetry that takes OTLP as JSON over real HTTP, and keeps every request as it came. */
export async function startCollector() {
  const collector = {
    /** Bodies with the paths that they were sent to. */
    sent: [] as { path: string; authorization: string | undefined; text: string }[],
    answer: (response: ServerResponse, _path?: string): void => void response.writeHead(200).end('{}'),
  }
  const http = createServer(async (request, response) => {
    const text = await readBody(request)
    collector.sent.push({ path: request.url ?? '', authorization: request.headers.authorization, text })
    collector.answer(response, request.url)
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const readAll = <Sent>(path: string) =>
    collector.sent.filter((sent) => sent.path === path).map(({ text }) => JSON.parse(text) as Sent)
  return Object.assign(collector, {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    spans: (): SentSpan[] =>
      readAll<{ resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] }>('/v1/traces')
        .flatMap(({ resourceSpans }) => resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    lines: (): SentLine[] =>
      readAll<{ resourceLogs: { scopeLogs: { logRecords: SentLine[] }[] }[] }>('/v1/logs')
        .flatMap(({ resourceLogs }) => resourceLogs)
        .flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords)),
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((done) => http.close(done))
    },
  })
}
