import type { TestApp, TestUser } from '../app.ts'
import type { CallResult } from '../assistants/people.ts'

type Sender = Pick<TestApp, 'send' | 'url'>

const sealed = ['iv', 'tag', 'the key of the link'].map((part) => Buffer.from(part).toString('base64')).join('|')

const queries = ['rules', 'list', 'visit', 'copy', 'overview']

/** Calls a procedure of shared links over HTTP; without a token as a guest. */
export async function callLinks(svc: Sender, name: string, input: object = {}, token?: string): Promise<CallResult> {
  const isQuery = queries.includes(name)
  const path = `/trpc/sharedLinks.${name}${isQuery ? `?input=${encodeURIComponent(JSON.stringify(input))}` : ''}`
  return readResult(await svc.send(isQuery ? 'GET' : 'POST', path, isQuery ? { token } : { token, body: input }))
}

/** Uploads the copy of a link, whose bytes are ciphertext for the service. */
export async function uploadCopy(
  { url }: Sender,
  id: string,
  bytes: Uint8Array | string,
  token?: string,
): Promise<CallResult> {
  const response = await fetch(`${url}/trpc/sharedLinks.upload?input=${encodeURIComponent(JSON.stringify({ id }))}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream', ...(token && { authorization: `Bearer ${token}` }) },
    body: bytes as Uint8Array<ArrayBuffer>,
  })
  return readResult(response)
}

async function readResult(response: Response): Promise<CallResult> {
  const body = (await response.json()) as { result?: { data: unknown }; error?: { data: CallResult } }
  const { problem, issues } = body.error?.data ?? {}
  return { status: response.status, data: body.result?.data, problem, issues }
}

/** Reads what a link leads to, as its page does. */
export async function readCopy(svc: Pick<TestApp, 'send'>, id: string, token?: string) {
  const response = await svc.send('GET', `/s/${id}/copy`, { token })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

/** A person with a private conversation that they share, a new one unless one is given. */
export async function addSharer(svc: TestApp, known?: Pick<TestUser, 'id' | 'token' | 'username'>) {
  const person = known ?? (await svc.user({ abilities: ['read', 'write'] }))
  const { token } = person
  const created = await svc.send('POST', '/trpc/conversations.create', { token, body: { name: 'A chat' } })
  const { slug } = ((await created.json()) as { result: { data: { slug: string } } }).result.data
  const call = (name: string, input: object = {}) => callLinks(svc, name, input, token)
  const create = (input: object = {}) => call('create', { slug, sealedKey: sealed, days: 7, ...input })
  return {
    ...person,
    slug,
    call,
    create,
    /** Creates a link with a copy; returns its id. */
    async share(input: object = {}, bytes: Uint8Array | string = 'sealed bytes'): Promise<string> {
      const { data } = await create(input)
      await uploadCopy(svc, data.id, bytes, token)
      return data.id
    },
    upload: (id: string, bytes: Uint8Array | string) => uploadCopy(svc, id, bytes, token),
  }
}
