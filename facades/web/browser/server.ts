/** What the server refused, with its sentence and its word for programs. */
export class Refused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

interface Body {
  message?: string
  error?: string
  code?: string
  errors?: { detail?: string; title?: string; code?: string }[] | Record<string, string[]>
}

/** Sends JSON and reads JSON; throws what the server refuses. */
export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const type = path.startsWith('/api/') ? 'application/vnd.api+json' : 'application/json'
  const response = await fetch(path, {
    method,
    headers: {
      accept: 'application/vnd.api+json, application/json',
      ...(body !== undefined && { 'content-type': type }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const answer = (await response.json().catch(() => ({}))) as Body
  if (response.ok) return answer as T
  const [first] = Array.isArray(answer.errors) ? answer.errors : []
  const sentence = first?.detail ?? first?.title ?? answer.error ?? answer.message ?? ''
  throw new Refused(response.status, first?.code ?? answer.code ?? '', sentence)
}

interface Resource<A> {
  data: { id: string; attributes: A }
}

/** The attributes of one resource. */
export async function resource<A>(path: string): Promise<A> {
  return (await ask<Resource<A>>('GET', `/api/svc/v1/${path}`)).data.attributes
}

export const api = '/api/svc/v1'
