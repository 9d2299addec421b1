import { expect } from 'vitest'
import type { TestApp, TestUser } from '../app.ts'
import { UNTIL_READ } from '../rooms/attachments.ts'
import type { CallResult } from './people.ts'

const queries = ['list', 'files', 'openCitation']

/** Calls a procedure of knowledge over HTTP; without a token as a guest. */
export async function callKnowledge(
  svc: Pick<TestApp, 'send'>,
  name: string,
  input: object = {},
  token?: string,
): Promise<CallResult> {
  const isQuery = queries.includes(name)
  const path = `/trpc/knowledge.${name}${isQuery ? `?input=${encodeURIComponent(JSON.stringify(input))}` : ''}`
  const response = await svc.send(isQuery ? 'GET' : 'POST', path, isQuery ? { token } : { token, body: input })
  return readResult(response)
}

async function readResult(response: Response): Promise<CallResult> {
  const body = (await response.json()) as { result?: { data: unknown }; error?: { data: CallResult } }
  const { problem, issues } = body.error?.data ?? {}
  return { status: response.status, data: body.result?.data, problem, issues }
}

/** Uploads a file as programs do. */
export async function uploadKnowledge(
  { url }: Pick<TestApp, 'url'>,
  input: { id: number; path: string },
  bytes: Uint8Array | string,
  token?: string,
): Promise<CallResult> {
  const response = await fetch(`${url}/trpc/knowledge.upload?input=${encodeURIComponent(JSON.stringify(input))}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream', ...(token && { authorization: `Bearer ${token}` }) },
    body: bytes as Uint8Array<ArrayBuffer>,
  })
  return readResult(response)
}

interface FoundPassage {
  file: { id: number; path: string }
  from: number
  to: number
  page: number | null
  headings: string[]
  text: string
  score: number
}

/** A person with knowledge, a new one unless one is given, and calls in their name. */
export async function addKnowledge(svc: TestApp, name = 'Handbook', known?: Pick<TestUser, 'id' | 'token'>) {
  const person = known ?? (await svc.user({ abilities: ['read', 'write', 'ai'] }))
  const call = (procedure: string, input: object = {}) => callKnowledge(svc, procedure, input, person.token)
  const { data } = await call('create', { name })
  const { id } = data as { id: number }
  const upload = (path: string, bytes: Uint8Array | string) => uploadKnowledge(svc, { id, path }, bytes, person.token)
  const files = async () => (await call('files', { id })).data.files
  return {
    ...person,
    knowledge: id,
    call,
    upload,
    files,
    /** Waits until no file is to be read any more. */
    async untilRead() {
      const listUnread = async () =>
        (await files()).filter(({ state }: { state: string }) => state === 'waiting' || state === 'reading')
      await expect.poll(listUnread, UNTIL_READ).toEqual([])
    },
    /** Waits until all files are read and embedded. */
    async untilEmbedded() {
      const listPending = async () =>
        (await files()).filter(
          ({ state, embedding }: { state: string; embedding: { state: string } | null }) =>
            state !== 'ready' || embedding?.state === 'pending',
        )
      await expect.poll(listPending, UNTIL_READ).toEqual([])
    },
    async search(query: string, limit = 8): Promise<FoundPassage[]> {
      return (await call('search', { id, query, limit })).data
    },
  }
}
