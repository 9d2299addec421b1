import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { parseNetwork } from './addresses.ts'

/** A key of our own making. */
export const secret = z.string().min(32, 'must have at least 32 characters; `openssl rand -base64 48` makes a good one')

/** An address of HTTP, without a slash at its end. */
export const httpAddress = z
  .url({ protocol: /^https?$/, error: 'must begin with https:// or http://' })
  .transform((url) => url.replace(/\/+$/, ''))

/** Whether an address leads to this machine alone. */
export const isLoopback = (url: string): boolean =>
  /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(URL.parse(url)?.hostname ?? '')

export const flag = (fallback: boolean) => z.stringbool({ error: 'must be true or false' }).prefault(String(fallback))

export const list = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .prefault('')

/** A length of time that may be 0. */
export const durationOrNone = z.union([z.literal('0').transform(Number), timerDuration])

const isOrigin = (text: string) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text

/** Origins as a browser sends them: scheme, host and port, without a path. */
export const origins = list.refine((given) => given.every(isOrigin), {
  error: ({ input }) =>
    `must be origins such as https://app.example.org, without a path, and ${(input as string[]).find((it) => !isOrigin(it))} is none`,
})

const isWebHost = (text: string) =>
  URL.parse(`https://${text}`)?.host === text || URL.parse(`http://${text}`)?.host === text

/** Hosts as addresses name them, with a port that is not the usual one. */
export const webHosts = list.refine((given) => given.every(isWebHost), {
  error: ({ input }) =>
    `must be hosts such as models.example.org or 10.0.0.5:8000, and ${(input as string[]).find((it) => !isWebHost(it))} is none`,
})

export const count = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z.coerce.number().int().min(min).max(max).default(fallback)

/** Turns a check that throws into one that returns whether the value passes. */
const passes = (check: (value: string) => unknown) => (value: string) => {
  try {
    check(value)
    return true
  } catch {
    return false
  }
}

/** Throws where it is none. */
function parseHeader(text: string): [name: string, value: string] {
  const [, name = '', sent = ''] = /^([\w-]+)=(.+)$/.exec(text) ?? []
  const value = decodeURIComponent(sent).trim()
  if (!name || !/^[\x20-\x7e]+$/.test(value)) throw new Error('no header')
  return [name.toLowerCase(), value]
}

/** Headers as settings of OpenTelemetry write them. */
export const headers = list
  .refine((given) => given.every(passes(parseHeader)), 'must be headers such as authorization=Bearer%20secret')
  .transform((given) => Object.fromEntries(given.map(parseHeader)))

export const networks = list.refine(
  (all) => all.every(passes(parseNetwork)),
  'must be addresses or networks such as 10.0.0.5 or 10.0.0.0/24',
)

const isHost = (text: string) =>
  /^[a-z0-9.-]+(:\d{1,5})?$|^\[[0-9a-f:]+\](:\d{1,5})?$/i.test(text) && URL.canParse(`redis://${text}`)

export const hosts = list.refine((all) => all.every(isHost), 'must be hosts with ports, such as sentinel-1:26379')

const isPort = (text: string) => /^\d{1,5}$/.test(text) && Number(text) > 0 && Number(text) < 65_536

export const ports = z
  .string()
  .default('80,443')
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine((all) => all.every(isPort), 'must be ports such as 80,443')
  .transform((all) => all.map(Number))
