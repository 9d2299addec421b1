import { freePort } from '../../free-port.ts'
import { key, type Protocol, protocols } from '../protocols.ts'
import {
  type Asked,
  answers,
  type Behaviour,
  beginStream,
  callsTool,
  canary,
  configFor,
  json,
  neverEnds,
  stalls,
  startProvider,
} from '../provider.ts'
import { type Fault, faults } from './faults.ts'

type Address = NonNullable<Fault['address']> | 'usual'

/** Which model commits a fault, in a dialect. */
export const modelOf = ({ adapter }: Protocol, address: Address = 'usual') => `${adapter} ${address}`

/** A question that has the provider commit a fault, and by whose number its requests are found. */
export const questionFor = (number: number, name: string) => `Case ${number}: ${name}!`

const wanted = /Case (\d+): ([^!]+)!/

/** What a question has an openai-compatible provider do that is no fault. */
const obeyed: Record<string, Behaviour> = {
  echo: (asked, response) => {
    const [number] = wanted.exec(JSON.stringify(asked.body))?.slice(1) ?? []
    return answers(`${`I answer ${number}. `.repeat(8)}Done.`)(asked, response)
  },
  'no end': (asked, response) => (asked.body.stream ? neverEnds : stalls)(asked, response),
  'a tool': callsTool('listening', '{}'),
}

/** A provider that speaks all dialects, and commits the fault that it is asked for. */
export async function startFaultyProvider() {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider())
  upstream.behave = (asked, response) => {
    const protocol = protocols.find(({ adapter }) => asked.path.startsWith(`/v1/${adapter}/`))
    const [, , name = ''] = wanted.exec(JSON.stringify(asked.body)) ?? []
    const fault = faults.find((one) => one.name === name)
    if (obeyed[name]) return obeyed[name](asked, response)
    if (!protocol) return json(response, { error: canary }, 404)
    const isStream = Boolean(asked.body.stream) || asked.path.includes('stream')
    if (fault?.behave) return fault.behave(response, { protocol, isStream })
    if (!isStream) return json(response, protocol.answer)
    beginStream(response)
    response.end(protocol.events.join(''))
  }
  const { host } = new URL(upstream.url)
  const addresses = {
    usual: `http://${host}`,
    impatient: `http://${host}`,
    closed: `http://127.0.0.1:${await freePort()}`,
    nameless: 'http://models.invalid',
    'not TLS': `https://${host}`,
  }
  const config = resources.use(await configFor(upstream.url))
  await config.write({ providers: protocols.flatMap((protocol) => providersOf(protocol, addresses)) })
  const kept = resources.move()
  return {
    file: config.file,
    /** What must be in no answer: the key, its own words, and where it is. */
    secrets: [key, canary, host, 'models.invalid', new URL(addresses.closed).host],
    /** The requests for a question, by its number. */
    asked: (number: number): Asked[] =>
      upstream.asked.filter(({ body }) => wanted.exec(JSON.stringify(body))?.[1] === `${number}`),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

function providersOf(protocol: Protocol, addresses: Record<Address, string>) {
  return Object.entries(addresses).map(([address, url]) => {
    const id = modelOf(protocol, address as Address)
    return {
      id,
      adapter: protocol.adapter,
      apiUrl: `${url}/v1/${protocol.adapter}`,
      apiKey: key,
      // No fault is to be seen by the others, which commit theirs at the same time.
      circuit: { failures: 1_000_000 },
      timeouts: { connect: '5s', firstByte: address === 'impatient' ? '1500ms' : '50s', total: '50s' },
      models: [{ id, upstreamId: 'up-1', external: true, tools: ['listening'] }],
    }
  })
}
