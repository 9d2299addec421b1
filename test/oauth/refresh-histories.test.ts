import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { signIn } from '../kit/browser.ts'
import { advanceClock } from '../kit/clock.ts'
import { signInProgram, startOAuth } from '../kit/oauth/program.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startOAuth({ OAUTH_ABILITIES: 'ai', OAUTH_GRANTS_PER_PERSON: '1000' }))

afterEach(() => void vi.useRealTimers())

/** A process of a program presents the token that it read last, some seconds after the step before. */
const step = fc.record({
  process: fc.nat(4),
  seconds: fc.constantFrom(0, 0, 5, 40, 61),
  /** Other processes read the new token from the file that all share. */
  shares: fc.boolean(),
})

const GRACE_SECONDS = 60

test('only a genuine replay ends a grant, and never do two pairs live on', { timeout: 120_000 }, async () => {
  const { browser } = await signIn(svc, 'ada')
  const run = async (steps: readonly { process: number; seconds: number; shares: boolean }[]) => {
    vi.useRealTimers()
    const { tokens, refresh } = await signInProgram(svc, browser)
    const texts = [tokens.refresh_token]
    const known = [0, 0, 0, 0, 0]
    let [rotatedAt, now, hasEnded] = [0, 0, false]
    for (const { process, seconds, shares } of steps) {
      now += seconds
      if (seconds > 0) advanceClock(seconds * 1000)
      const [presented = 0, current] = [known[process], texts.length - 1]
      const { status, body } = await refresh(texts[presented])
      const isReplay = presented < current && (presented < current - 1 || now - rotatedAt >= GRACE_SECONDS)
      hasEnded ||= isReplay
      expect(status).toBe(hasEnded ? 400 : 200)
      if (hasEnded) continue
      const text = String(body['refresh_token'])
      if (presented === current) {
        expect(texts).not.toContain(text)
        texts.push(text)
        rotatedAt = now
      } else expect(text, 'the pair that another process got').toBe(texts[current])
      known[process] = texts.length - 1
      if (shares) known.fill(texts.length - 1)
    }
  }

  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), run), { numRuns: 25 })
})
