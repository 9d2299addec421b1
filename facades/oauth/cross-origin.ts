import type { FastifyInstance, FastifyReply } from 'fastify'

const PREFLIGHT_SECONDS = 600

/** Lets programs on pages of any origin call an address. Nothing here reads a cookie, so none is of use to them. */
export function allowCrossOrigin(app: FastifyInstance, url: string, method: 'GET' | 'POST'): void {
  app.options(url, async (_, reply) =>
    reply
      .headers({
        'access-control-allow-methods': method,
        'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
        'access-control-max-age': PREFLIGHT_SECONDS,
      })
      .code(204)
      .send(),
  )
}

/** Sets the headers of every response, those of errors included. */
export const setCrossOriginHeaders = (reply: FastifyReply): FastifyReply =>
  reply.headers({
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'www-authenticate, retry-after, x-request-id',
    'cross-origin-resource-policy': 'cross-origin',
  })
