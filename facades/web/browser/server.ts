import { Refused, Wrong } from './errors.ts'
import { signInAgain } from './go.ts'

/** As the page says: the word of this service, and where its JSON:API begins. */
export const { brand = '', api = '' } = document.documentElement.dataset

interface Body {
  code?: string
  errors?: { code?: string; source?: { pointer?: string } }[] | Record<string, string[]>
}

/** Sends JSON and reads JSON; throws what the server refuses. Where the session has ended, the page gives way to signing in. */
export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await send(method, path, body)
  const answer = (await response.json().catch(() => ({}))) as Body
  if (response.ok) return answer as T
  const { code, field } = refusalOf(answer)
  if (response.status === 401 && path !== '/req/login' && code !== 'login_failed') return signInAgain()
  throw new Refused(response.status, code, field)
}

async function send(method: string, path: string, body: unknown): Promise<Response> {
  const type = path.startsWith('/api/') ? 'application/vnd.api+json' : 'application/json'
  const headers = {
    accept: 'application/vnd.api+json, application/json',
    // The page may be in a language that its address names.
    'x-app-locale': document.documentElement.lang,
    ...(body !== undefined && { 'content-type': type }),
  }
  return fetch(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }).catch(() => {
    throw new Wrong('page.error.offline')
  })
}

function refusalOf({ code, errors = [] }: Body): { code?: string | undefined; field?: string | undefined } {
  if (!Array.isArray(errors)) return { code, field: Object.keys(errors)[0] }
  const [first] = errors
  return { code: first?.code ?? code, field: first?.source?.pointer?.split('/').at(-1) }
}

interface Resource<A> {
  data: { id: string; attributes: A }
}

/** The attributes of one resource. */
export async function resource<A>(path: string): Promise<A> {
  return (await ask<Resource<A>>('GET', `${api}/${path}`)).data.attributes
}
