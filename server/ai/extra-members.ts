import type { HttpClient } from '../net/http-client.ts'

type Members = Readonly<Record<string, unknown>>

/** Adds members to a request body; where both have a member, objects are merged and other values stay as they are. */
export function addMembers(written: object, extra: Members): Members {
  const body = Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined))
  const merged = Object.entries(extra).map(([name, value]): [string, unknown] => {
    const own = body[name]
    return [name, isObject(own) && isObject(value) ? addMembers(own, value) : (own ?? value)]
  })
  return { ...body, ...Object.fromEntries(merged) }
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Adds members to each body that goes out; an SDK drops what it does not know. */
export function fetchWithMembers(fetch: HttpClient['fetch'], extra: Members): HttpClient['fetch'] {
  if (Object.keys(extra).length === 0) return fetch
  return (url, init) => fetch(url, { ...init, body: JSON.stringify(addMembers(JSON.parse(String(init?.body)), extra)) })
}
