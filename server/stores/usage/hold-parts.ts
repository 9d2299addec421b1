import type { Hold, HoldRefusal, HoldRequest } from '../../../routers/ports/ai/usage-ledger.ts'

export type Held = Hold | HoldRefusal

type Judge = (requests: readonly HoldRequest[]) => Promise<Promise<Held>[]>

/**
 * Calls are judged together whose models were seen in one version of the catalogue; those whose callers were just looked up
 * apart from others, as they are not tried again where one of these has changed.
 */
export async function byCatalogue(requests: readonly HoldRequest[], judge: Judge): Promise<Promise<Held>[]> {
  const versions = Map.groupBy(requests, ({ catalogue, callerVersion }) => `${catalogue} ${callerVersion !== null}`)
  if (versions.size === 1) return judge(requests)
  const parts = [...versions.values()].map((some) => [some, judge(some)] as const)
  return inOrder(requests, parts)
}

/** Of calls that are judged in parts, each by itself: where one part fails or takes long, the others are held all the same. */
export function inOrder(
  requests: readonly HoldRequest[],
  parts: readonly (readonly [readonly HoldRequest[], ReturnType<Judge>])[],
): Promise<Held>[] {
  const held = new Map<HoldRequest, Promise<Held>>()
  for (const [some, judged] of parts)
    for (const [index, request] of some.entries()) {
      const one = judged.then((all) => all[index] as Promise<Held>)
      // Whoever asks may begin to listen only later.
      one.catch(() => {})
      held.set(request, one)
    }
  return requests.map((request) => held.get(request) as Promise<Held>)
}
