import { isDeepStrictEqual } from 'node:util'
import type { Contest } from './suite.ts'

/** Whoever sends less is not faster. */
export async function assertSame({ subject, floor, requests }: Contest): Promise<void> {
  for (const { name, path, headers } of requests) {
    const [ours, theirs] = await Promise.all(
      [subject, floor].map(async ({ url }) => inOrder(await (await fetch(url + path, { headers })).json())),
    )
    if (!isDeepStrictEqual(ours, theirs)) throw new Error(`the floor sends something else for: ${name}`)
  }
}

interface Answer {
  included?: { type: string; id: string }[]
}

/** Included resources have no order of their own. */
function inOrder(answer: unknown): unknown {
  const { included } = answer as Answer
  const key = ({ type, id }: { type: string; id: string }) => `${type} ${id}`
  return { ...(answer as Answer), included: included?.sort((a, b) => key(a).localeCompare(key(b))) }
}
