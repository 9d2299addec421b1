import { type Dispatcher, Pool } from 'undici'
import type { BenchRequest } from './suite.ts'

export interface Load {
  requests: number
  seconds: number
  /** Milliseconds of each answer, in rising order. */
  times: number[]
  /** The same of first bytes, where they are timed. */
  firsts: number[]
}

/** Sends the request again and again over `concurrency` connections, each as soon as its last answer is complete. */
export async function load(pool: Pool, request: BenchRequest, concurrency: number, ms: number): Promise<Load> {
  const times: number[] = []
  const firsts: number[] = []
  const started = performance.now()
  const end = started + ms
  const callers = inTurn(request)
  let turn = 0
  const worker = async () => {
    for (let now = started; now < end; ) {
      const began = await send(pool, callers[turn++ % callers.length] ?? request)
      if (request.timesFirstByte) firsts.push(began - now)
      const done = performance.now()
      times.push(done - now)
      now = done
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  const seconds = (performance.now() - started) / 1000
  const sorted = (values: number[]) => values.sort((a, b) => a - b)
  return { requests: times.length, seconds, times: sorted(times), firsts: sorted(firsts) }
}

/** The same request by all of its callers, for all of its addresses. */
function inTurn(request: BenchRequest): BenchRequest[] {
  const { path, paths = [path], tokens = [], cookies = [], headers } = request
  const callers = [
    ...tokens.map((token) => ({ authorization: `Bearer ${token}` })),
    ...cookies.map((cookie) => ({ cookie })),
  ]
  return Array.from({ length: Math.max(paths.length, callers.length) }, (_, turn) => ({
    ...request,
    path: paths[turn % paths.length] ?? path,
    headers: { ...headers, ...callers[turn % callers.length] },
  }))
}

export const openPool = (url: string, connections: number) => new Pool(url, { connections, pipelining: 1 })

/** Returns when the first byte came. Straight on the dispatcher: what the generator saves is there for those who are measured. */
function send(pool: Pool, { method, path, headers, body, isWhole }: BenchRequest): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let began = 0
  let status = 0
  let last = ''
  pool.dispatch({ method, path, headers, body: body ?? null }, {
    onRequestStart() {},
    onResponseStart(_, code) {
      status = code
    },
    onResponseData(_, chunk) {
      began ||= performance.now()
      last = (last + chunk.toString('latin1')).slice(-200)
    },
    onResponseEnd() {
      if ((status === 200 || status === 201) && isWhole(last)) resolve(began)
      else reject(new Error(`${path} was answered with ${status}: ${last}`))
    },
    onResponseError: (_, error) => reject(error),
  } satisfies Dispatcher.DispatchHandler)
  return promise
}
