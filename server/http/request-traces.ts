import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { runWithin, type Span, type Traces } from '../../routers/ports/traces.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span: Span | undefined
  }
}

/** Starts a trace for each request except probes. It has the name of the route, because the actual path may contain a secret. */
export function traceRequests(app: FastifyInstance, traces: Traces): void {
  app.decorateRequest('span', undefined)
  app.addHook('onRequest', (request, reply, done) => {
    if (!isProbe(request)) request.span = beginTrace(traces, request, reply)
    runWithin(request.span, done)
  })
  // Bodies arrive in the asynchronous context of the connection, so each later hook enters the span of its request again.
  app.addHook('preValidation', ({ span }, _, done) => runWithin(span, done))
  app.addHook('onError', ({ span }, _reply, _error, done) => runWithin(span, done))
  app.addHook('onResponse', ({ span }, _, done) => runWithin(span, done))
}

const isProbe = ({ routeOptions: { url = '' } }: FastifyRequest) => /^\/(health|metrics)\b/.test(url)

function beginTrace(traces: Traces, request: FastifyRequest, { raw }: FastifyReply): Span | undefined {
  const { method, routeOptions, headers, id } = request
  const { url: route } = routeOptions
  const { traceparent } = headers
  const span = traces.begin(route === undefined ? method : `${method} ${route}`, {
    kind: 'server',
    requestId: id,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    attributes: { 'http.request.method': method, 'http.route': route, 'svc.request.id': id },
  })
  if (span) raw.once('close', () => endTrace(span, raw))
  return span
}

/** Ends the trace when the response has ended or the client has disconnected. */
function endTrace(span: Span, { statusCode, writableFinished }: ServerResponse): void {
  span.set({ 'http.response.status_code': statusCode })
  if (!writableFinished) span.fail({ problem: 'client_gone' })
  else if (statusCode >= 500) span.fail({ code: String(statusCode) })
  span.end()
}
