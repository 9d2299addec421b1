import { refuseRequest } from '../../routers/core/oauth-refusal.ts'

/** The parameters of a request by their names. */
export interface Parameters {
  get(name: string): string | undefined
  getAll(name: string): string[]
}

/** The only parameter that may stand in a request several times (RFC 8707). */
const REPEATABLE = 'resource'

/** Reads a form. RFC 6749 refuses a parameter that is given twice, and takes an empty one as absent. */
export function readParameters(body: unknown): Parameters {
  if (!(body instanceof URLSearchParams))
    throw refuseRequest('The body must be a form: application/x-www-form-urlencoded.')
  const repeated = [...new Set(body.keys())].find((name) => name !== REPEATABLE && body.getAll(name).length > 1)
  if (repeated !== undefined) throw refuseRequest(`A parameter is given twice: ${toAscii(repeated)}.`)
  return {
    get: (name) => body.get(name) || undefined,
    getAll: (name) => body.getAll(name).filter(Boolean),
  }
}

/** Descriptions of errors have the characters that RFC 6749 allows. */
export const toAscii = (text: string): string => text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?').slice(0, 200)

interface ClientCredentials {
  clientId: string
  clientSecret?: string
}

/** Reads the client's id, and its secret if it sent one, from the header or from the form. */
export function readClient(authorization: string | undefined, parameters: Parameters): ClientCredentials {
  const [clientId, clientSecret] = [parameters.get('client_id'), parameters.get('client_secret')]
  const basic = authorization === undefined ? undefined : readBasic(authorization)
  if (basic && clientSecret !== undefined) throw refuseRequest('The client sent its secret in two ways.')
  if (basic && clientId !== undefined && clientId !== basic.clientId)
    throw refuseRequest('The client_id differs from that of the Authorization header.')
  if (basic) return basic
  if (clientId === undefined) throw refuseRequest('The client_id is missing.')
  return { clientId, ...(clientSecret !== undefined && { clientSecret }) }
}

function readBasic(authorization: string): ClientCredentials {
  const [, encoded = ''] = /^basic +([\w+/=-]+) *$/i.exec(authorization) ?? []
  const [, id = '', secret = ''] = /^([^:]+):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  const [clientId, clientSecret] = [decodeForm(id), decodeForm(secret)]
  if (clientId === '') throw refuseRequest('The Authorization header must be of the scheme Basic.')
  return { clientId, ...(clientSecret !== '' && { clientSecret }) }
}

/** Both parts are encoded like the values of a form. */
function decodeForm(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
