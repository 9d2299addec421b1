import { setTimeout as pause } from 'node:timers/promises'
import { buildQuestion } from './ai/provider.ts'
import { send as sendTo, type TestApp } from './app.ts'
import { createApiClient } from './json-api/client.ts'
import { download, upload } from './rooms/attachments.ts'
import { sendRoomMessage } from './rooms/messages.ts'

/** The balancer of the load: the address that takes the next request. */
export interface Target {
  url: string
}

/** Asks a model, writes messages and uploads files without a pause, until it is stopped, and remembers what was accepted. */
export function startUpgradeLoad(target: Target, token: string, room: string) {
  const svc: Pick<TestApp, 'url' | 'send'> = {
    get url() {
      return target.url
    },
    send: (...to) => sendTo(target.url, ...to),
  }
  const person = createApiClient(svc, token)
  const accepted = { calls: 0, messages: [] as string[], files: [] as string[] }
  const failures: string[] = []
  let going = true
  const repeat = async (step: () => Promise<string | undefined>) => {
    while (going) {
      const failure = await step().catch((error: Error) => String(error.cause ?? error))
      if (failure) failures.push(failure)
      // One person has few connections to the database at the same time.
      await pause(5)
    }
  }
  const sendQuestion = async () => {
    const response = await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })
    if (response.status !== 200) return `call ${response.status} ${await response.text()}`
    await response.text()
    accepted.calls++
    return undefined
  }
  const write = async () => {
    const { status, text, one } = await sendRoomMessage(person, room)
    if (status !== 201) return `message ${status} ${text}`
    accepted.messages.push(one.id)
    return undefined
  }
  const send = async () => {
    const { status, text, one } = await upload(svc, token, `File ${accepted.files.length}`)
    if (status !== 201) return `upload ${status} ${text}`
    accepted.files.push(one.id)
    return undefined
  }
  const clients = [sendQuestion, sendQuestion, sendQuestion, sendQuestion, write, write, send].map(repeat)
  const stop = async () => {
    going = false
    await Promise.all(clients)
  }
  return { accepted, failures, stop, [Symbol.asyncDispose]: stop }
}

/** Counts which of the messages and files a service has. */
export async function findAccepted(
  { url }: Target,
  token: string,
  { messages, files }: { messages: readonly string[]; files: readonly string[] },
) {
  const svc: Pick<TestApp, 'url' | 'send'> = { url, send: (...to) => sendTo(url, ...to) }
  const person = createApiClient(svc, token)
  const found = { messages: [] as string[], files: [] as string[] }
  for (const id of messages) if ((await person.get(`/room-messages/${id}`)).status === 200) found.messages.push(id)
  for (const id of files) if ((await download(svc, token, id)).status === 200) found.files.push(id)
  return found
}
