import type { SendOptions, TestApp, TestUser } from '../app.ts'

/** The content of an assistant for the model `mock-1`, with some members replaced. */
export const buildContent = (more: object = {}) => ({
  name: 'Thesis helper',
  description: 'Helps with a thesis.',
  systemPrompt: 'Answer as a librarian.',
  greeting: 'Hello, what do you write about?',
  starters: ['How do I cite?'],
  model: 'mock-1',
  ...more,
})

/** The data of a call of a procedure, or its refusal. */
export interface CallResult {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test states the shape that it expects.
  data: any
  problem: string | undefined
  issues: { path: (string | number)[]; message: string }[] | undefined
}

const queries = ['list', 'get', 'versions', 'version', 'overview', 'waiting', 'review']

/** Calls a procedure of assistants over HTTP; without a token as a guest. */
export async function callAssistants(
  svc: Pick<TestApp, 'send'>,
  name: string,
  input: object = {},
  token?: string,
): Promise<CallResult> {
  const isQuery = queries.includes(name)
  const path = `/trpc/assistants.${name}${isQuery ? `?input=${encodeURIComponent(JSON.stringify(input))}` : ''}`
  const options: SendOptions = isQuery ? { token } : { token, body: input }
  const response = await svc.send(isQuery ? 'GET' : 'POST', path, options)
  const body = (await response.json()) as { result?: { data: unknown }; error?: { data: CallResult } }
  const { problem, issues } = body.error?.data ?? {}
  return { status: response.status, data: body.result?.data, problem, issues }
}

/** An administrator, with calls in their name. */
export async function addAdministrator(svc: TestApp) {
  const { token } = await svc.user({ role: 'admin', abilities: ['ai', 'read', 'write'] })
  return { token, call: (name: string, input: object = {}) => callAssistants(svc, name, input, token) }
}

/** A person who uses assistants, with calls in their name. */
export async function addPerson(svc: TestApp, groups: string[] = []) {
  const person: TestUser = await svc.user({ abilities: ['ai', 'read', 'write'] })
  if (groups.length > 0) await svc.host.admin.setGroups({ user: { id: person.id }, groups })
  const call = (name: string, input: object = {}) => callAssistants(svc, name, input, person.token)
  return {
    ...person,
    call,
    /** Creates an assistant and publishes it. */
    create: (handle: string, content: object = {}) =>
      call('create', { handle, content: buildContent(content), publish: true }),
    /** Shares an assistant of theirs with everybody. */
    shareWithAll: (handle: string) => call('share', { handle, audience: 'all' }),
  }
}
