import type { ServerResponse } from 'node:http'
import { untilRead } from '../../until-read.ts'
import type { Protocol } from '../protocols.ts'
import { beginStream, canary, sendJson } from '../provider.ts'
import type { FailureKind } from './surfaces.ts'

/** A fault of a provider: the address of the request and the behaviour there. */
export interface Fault {
  name: string
  /** Number of requests that reach the provider; undefined if it is unreachable. */
  calls?: number
  /** True if the fault follows the first text of a stream. */
  afterText?: true
  /** The kind of failure, unless the provider sends no answer or breaks off after its first text. */
  kind?: FailureKind
  /** The address of the provider; the usual one by default. */
  address?: 'closed' | 'nameless' | 'not TLS' | 'impatient'
  behave?: FaultBehaviour
}

type FaultBehaviour = (response: ServerResponse, speaking: FaultContext) => void

interface FaultContext {
  protocol: Protocol
  isStream: boolean
}

const refuses =
  (status: number, headers: Record<string, string> = {}): FaultBehaviour =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message: canary, type: canary, code: canary } }))
  }

const buildStatusFault = (code: number, calls = 1, headers?: Record<string, string>): Fault => ({
  name: `${code}${headers ? ` with ${Object.keys(headers)[0]}` : ''}`,
  calls,
  behave: refuses(code, headers),
})

const markUnreadable = (fault: Fault): Fault => ({ ...fault, kind: 'broken off' })
const markFinal = (fault: Fault): Fault => ({ ...fault, kind: 'refused' })

const sendsPage =
  (code: number): FaultBehaviour =>
  (response) =>
    void response.writeHead(code, { 'content-type': 'text/html' }).end(`<html><body>${canary}</body></html>`)

/** Starts an answer that `end` then interrupts. */
const startsThen =
  (end: (response: ServerResponse) => void): FaultBehaviour =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    void untilRead(response).then(() => end(response))
  }

const streamsThen =
  (end: (response: ServerResponse, protocol: Protocol) => void): FaultBehaviour =>
  (response, { protocol }) => {
    beginStream(response)
    response.write(protocol.events[0], () => end(response, protocol))
  }

/** An answer of 200 whose body is this, as a document or as the events of a stream. */
const sendsBody =
  (text: string): FaultBehaviour =>
  (response, { isStream }) => {
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    response.end(isStream && text ? `data: ${text}\n\n` : text)
  }

/** All faults of a provider. A transient one is retried twice, unless part of an answer has arrived. */
export const faults: Fault[] = [
  { name: 'refused connection', address: 'closed' },
  { name: 'unknown host', address: 'nameless' },
  { name: 'no TLS', address: 'not TLS' },
  ...[400, 422].map((code) => markFinal(buildStatusFault(code))),
  ...[408, 500, 503, 504, 529].map((code) => buildStatusFault(code, 3)),
  buildStatusFault(529, 1, { 'retry-after': '120' }),
  markFinal(buildStatusFault(302, 1, { location: 'http://127.0.0.1:1/' })),
  { name: '502 with a page', calls: 3, behave: sendsPage(502) },
  markUnreadable({ name: '200 with a page', calls: 1, behave: sendsPage(200) }),
  { name: 'reset before headers', calls: 3, behave: (response) => void response.destroy() },
  markUnreadable({ name: 'reset after headers', calls: 1, behave: startsThen((response) => response.destroy()) }),
  {
    name: 'reset within a document',
    kind: 'broken off',
    calls: 1,
    behave: startsThen((response) => response.write('{"choices": [{"mess', () => response.destroy())),
  },
  { name: 'silence', calls: 1, address: 'impatient', behave: () => {} },
  markUnreadable({ name: 'silence after headers', calls: 1, address: 'impatient', behave: startsThen(() => {}) }),
  markUnreadable({ name: 'no JSON', calls: 1, behave: sendsBody(`{"choices": [${canary}`) }),
  markUnreadable({ name: 'other JSON', calls: 1, behave: sendsBody(`{"${canary}": "${canary}"}`) }),
  markUnreadable({ name: 'null', calls: 1, behave: sendsBody('null') }),
  markUnreadable({ name: 'nothing', calls: 1, behave: sendsBody('') }),
  {
    name: 'an error with 200',
    calls: 1,
    behave: (response, { protocol, isStream }) =>
      isStream
        ? void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(protocol.error)
        : sendJson(response, { type: 'error', error: { type: canary, message: canary, code: canary } }),
  },
  {
    name: 'an error with 200 in one piece',
    calls: 1,
    behave: (response) => sendJson(response, { error: { type: canary, message: canary, code: canary } }),
  },
  { name: 'reset within a stream', afterText: true, calls: 1, behave: streamsThen((response) => response.destroy()) },
  { name: 'a stream without its end', afterText: true, calls: 1, behave: streamsThen((response) => response.end()) },
  {
    name: 'an error within a stream',
    afterText: true,
    calls: 1,
    behave: streamsThen((response, { error }) => response.end(error)),
  },
  {
    name: 'no JSON within a stream',
    afterText: true,
    calls: 1,
    behave: streamsThen((response) => response.end(`data: {"${canary}\n\n`)),
  },
  { name: 'silence within a stream', afterText: true, calls: 1, address: 'impatient', behave: streamsThen(() => {}) },
]
