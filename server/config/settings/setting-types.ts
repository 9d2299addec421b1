import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'

/** A key that the operator generates. */
export const secret = z.string().min(32, 'must have at least 32 characters; `openssl rand -base64 48` makes a good one')

/** An HTTP URL; a slash at its end is removed. */
export const httpAddress = z
  .url({ protocol: /^https?$/, error: 'must begin with https:// or http://' })
  .transform((url) => url.replace(/\/+$/, ''))

/** Returns whether a URL is a loopback address. */
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

/** A duration that may be 0. */
export const durationOrNone = z.union([z.literal('0').transform(Number), timerDuration])

const isOrigin = (text: string) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text

/** Origins as a browser sends them: scheme, host and port, without a path. */
export const origins = list.refine((values) => values.every(isOrigin), {
  error: ({ input }) =>
    `must be origins such as https://app.example.org, without a path, and ${(input as string[]).find((it) => !isOrigin(it))} is none`,
})

export const isWebHost = (text: string) =>
  URL.parse(`https://${text}`)?.host === text || URL.parse(`http://${text}`)?.host === text

/** Hosts as in URLs, with a port unless it is the default one. */
export const webHosts = list.refine((values) => values.every(isWebHost), {
  error: ({ input }) =>
    `must be hosts such as models.example.org or 10.0.0.5:8000, and ${(input as string[]).find((it) => !isWebHost(it))} is none`,
})

export const count = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z.coerce.number().int().min(min).max(max).default(fallback)

/** A number of months; without one, nothing is deleted by age. */
export const optionalMonths = z.coerce.number().int().min(1).max(1200).optional()

/** Turns a check that throws into one that returns whether the value passes. */
const isAcceptedBy = (check: (value: string) => unknown) => (value: string) => {
  try {
    check(value)
    return true
  } catch {
    return false
  }
}

/** Parses a header; throws if it is invalid. */
function parseHeader(text: string): [name: string, value: string] {
  const [, name = '', encoded = ''] = /^([\w-]+)=(.+)$/.exec(text) ?? []
  const value = decodeURIComponent(encoded).trim()
  if (!name || !/^[\x20-\x7e]+$/.test(value)) throw new Error('no header')
  return [name.toLowerCase(), value]
}

/** Headers in the format of OpenTelemetry's settings. */
export const headers = list
  .refine((values) => values.every(isAcceptedBy(parseHeader)), 'must be headers such as authorization=Bearer%20secret')
  .transform((values) => Object.fromEntries(values.map(parseHeader)))

export const networks = list.refine(
  (all) => all.every(isAcceptedBy(parseNetwork)),
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

/** Parses an address or a network such as `10.0.0.0/8`; throws if it is neither. */
export function parseNetwork(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}
