import { startApp } from '../../app.ts'
import { signIn } from '../../browser.ts'
import type { Protocol } from '../protocols.ts'
import type { Face, FaceAnswer } from './faces.ts'
import type { Fault } from './faults.ts'
import { modelOf, questionFor, startFaultyProvider } from './upstream.ts'

/** One question by one face, to a provider of one dialect that commits one fault; or none. */
export interface Case {
  face: Face
  protocol: Protocol
  fault?: Fault
  /** What the provider is to do where it is to commit no fault. */
  wish?: string
}

interface Sending {
  signal?: AbortSignal
  /** Of somebody else. */
  token?: string
}

interface Kept {
  requestId: string
  outcome: string
  output: number
}

/** A service with a faulty provider, and somebody who asks it by every face. */
export async function startAsking() {
  await using resources = new AsyncDisposableStack()
  const provider = resources.use(await startFaultyProvider())
  const svc = resources.use(
    await startApp({
      AI_CONFIG: provider.file,
      EXTENSIONS: 'test/fixtures/listening-extension.ts',
    }),
  )
  const { token } = await svc.user()
  const { browser } = await signIn(svc, 'ada')
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  let asked = 0
  const kept = resources.move()

  async function send({ face, protocol, fault, wish = '' }: Case, { signal, token: by = token }: Sending = {}) {
    const number = ++asked
    const question = { model: modelOf(protocol, fault?.address), text: questionFor(number, fault?.name ?? wish) }
    const caller = face.inSession
      ? { headers: { ...face.headers, cookie, 'sec-fetch-site': 'same-origin' } }
      : { token: by }
    const options = { headers: face.headers ?? {}, ...caller, body: face.body(question), ...(signal && { signal }) }
    return { number, response: svc.send('POST', face.path, options) }
  }

  return {
    svc,
    provider,
    send,
    async ask(asking: Case, sending?: Sending): Promise<FaceAnswer & { number: number; calls: number }> {
      const { number, response } = await send(asking, sending)
      const answer = await response
      const requestId = answer.headers.get('x-request-id') ?? ''
      const text = await answer.text()
      return { status: answer.status, requestId, text, number, calls: provider.asked(number).length }
    },
    /** The record that was written last. */
    async newest(): Promise<{ outcome: string } | undefined> {
      await svc.services.usageLedger.flush()
      const [row] = await svc.rows<Kept>('select outcome from usage_records order by id desc limit 1')
      return row
    },
    async records(): Promise<Map<string, Kept[]>> {
      await svc.services.usageLedger.flush()
      const rows = await svc.rows<Kept>(
        'select request_id as "requestId", outcome, output_tokens as output from usage_records',
      )
      return Map.groupBy(rows, ({ requestId }) => requestId)
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}
