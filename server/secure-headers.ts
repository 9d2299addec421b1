import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import helmet from 'helmet'

/** What keeps a browser from harm, asked of helmet once: it is the same for every answer. */
export function secureHeaders(): OutgoingHttpHeaders {
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  helmet({ contentSecurityPolicy: { directives: { defaultSrc: ["'none'"] } } })(request, response, () => {})
  return response.getHeaders()
}
