import { vi } from 'vitest'

/** Moves the clock forward for everything that reads the time, but for no timer; `vi.useRealTimers` undoes it. */
export const advanceClock = (ms: number) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms })
}
