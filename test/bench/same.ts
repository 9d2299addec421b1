import { deepStrictEqual } from 'node:assert'
import type { Contest } from './suite.ts'

/** Checks that both parts send the same, as less data would be faster. */
export async function assertSame({ subject, floor, requests }: Contest): Promise<void> {
  for (const { name, path, headers } of requests) {
    const [ours, theirs] = await Promise.all(
      [subject, floor].map(async ({ url }) => inOrder(await (await fetch(url + path, { headers })).json())),
    )
    try {
      deepStrictEqual(ours, theirs)
    } catch (difference) {
      throw new Error(`the floor sends something else for: ${name}\n${(difference as Error).message}`)
    }
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
