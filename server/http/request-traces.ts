import type { FastifyInstance } from 'fastify'
import { type Span, type Traces, within } from '../../routers/ports/traces.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span: Span | undefined
  }
}

/** Begins a trace for each request, by its route and never its address, which may contain a secret. */
export function traceRequests(app: FastifyInstance, traces: Traces): void {
  app.decorateRequest('span', undefined)
  app.addHook('onRequest', (request, _, done) => {
    const { method, routeOptions, headers, id } = request
    const { url: route } = routeOptions
    request.span = traces.begin(route === undefined ? method : `${method} ${route}`, {
      kind: 'server',
      requestId: id,
      traceparent: readHeader(headers['traceparent']),
      attributes: { 'http.request.method': method, 'http.route': route, 'svc.request.id': id },
    })
    within(request.span, done)
  })
  // A body arrives in the name of its connection, which belongs to no request.
  app.addHook('preValidation', (request, _, done) => within(request.span, done))
  app.addHook('onError', (request, _reply, _error, done) => within(request.span, done))
  app.addHook('onResponse', ({ span }, { raw: { statusCode } }, done) => {
    span?.set({ 'http.response.status_code': statusCode })
    if (statusCode >= 500) span?.fail({ code: String(statusCode) })
    within(span, done)
    span?.end()
  })
}

const readHeader = (header: string | string[] | undefined) => (typeof header === 'string' ? header : undefined)
