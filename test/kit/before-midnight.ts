import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach } from 'vitest'

const DAY_MS = 86_400_000

/** No test begins in the last half minute of a day by UTC, in which a month may end, too: limits would count anew within it. */
beforeEach(async () => {
  const msLeft = DAY_MS - (Date.now() % DAY_MS)
  if (msLeft < 30_000) await pause(msLeft + 100)
})
