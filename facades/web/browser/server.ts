import { PageError, ServerError } from './errors.ts'
import { goToSignIn } from './go.ts'

/** Read from the page: the brand of this service, and the base path of its JSON:API. */
export const { brand = '', api = '' } = document.documentElement.dataset

interface Body {
  code?: string
  errors?: { code?: string }[] | Record<string, string[]>
}

/** Sends and reads JSON; throws a ServerError on an error status, but goes to the sign-in page if the session has ended. */
export async function sendRequest<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await send(method, path, body)
  const answer = (await response.json().catch(() => ({}))) as Body
  if (response.ok) return answer as T
  const code = getErrorCode(answer)
  if (response.status === 401 && path !== '/req/login' && code !== 'login_failed') return goToSignIn()
  throw new ServerError(response.status, code)
}

async function send(method: string, path: string, body: unknown): Promise<Response> {
  const type = path.startsWith(`${api}/`) ? 'application/vnd.api+json' : 'application/json'
  const headers = {
    accept: 'application/vnd.api+json, application/json',
    // The page's language may come from its address, which this request does not have.
    'x-app-locale': document.documentElement.lang,
    ...(body !== undefined && { 'content-type': type }),
  }
  return fetch(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }).catch(() => {
    throw new PageError('page.error.offline')
  })
}

const getErrorCode = ({ code, errors }: Body) => (Array.isArray(errors) ? errors[0]?.code : undefined) ?? code

interface Resource<A> {
  data: { id: string; attributes: A }
}

/** The attributes of one resource. */
export async function readResource<A>(path: string): Promise<A> {
  return (await sendRequest<Resource<A>>('GET', `${api}/${path}`)).data.attributes
}
