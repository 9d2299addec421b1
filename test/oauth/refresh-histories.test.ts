import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { signIn } from '../kit/browser.ts'
import { advanceClock } from '../kit/clock.ts'
import { type OAuthAnswer, signInProgram, startOAuth } from '../kit/oauth/program.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startOAuth({ OAUTH_ABILITIES: 'ai', OAUTH_GRANTS_PER_PERSON: '1000' }))

afterEach(() => void vi.useRealTimers())

const GRACE_SECONDS = 60
const PROCESSES = 5

/** A process of a program presents the token that it read last, some seconds after the step before. */
const step = fc.record({
  process: fc.nat(PROCESSES - 1),
  seconds: fc.constantFrom(0, 0, 5, 40, 61),
  /** The others read the new token from a file that all share. */
  shares: fc.boolean(),
})
interface Step {
  process: number
  seconds: number
  shares: boolean
}

/** The model of the tokens that the processes of a program know, and of the answers that the service must give. */
class History {
  /** The refresh tokens of all generations so far. */
  readonly #texts: string[]
  /** The generation that each process knows. */
  readonly #known = Array.from({ length: PROCESSES }, () => 0)
  #seconds = 0
  #rotatedAt = 0
  #hasEnded = false

  constructor(first: string) {
    this.#texts = [first]
  }

  async follow({ process, seconds, shares }: Step, refresh: (text?: string) => Promise<OAuthAnswer>): Promise<void> {
    this.#seconds += seconds
    advanceClock(seconds * 1000)
    const presented = this.#known[process] ?? 0
    this.#hasEnded ||= this.#isReplay(presented)
    const { status, body } = await refresh(this.#texts[presented])
    expect(status).toBe(this.#hasEnded ? 400 : 200)
    if (this.#hasEnded) return
    this.#take(presented, String(body['refresh_token']))
    if (shares) this.#known.fill(this.#texts.length - 1)
    else this.#known[process] = this.#texts.length - 1
  }

  #isReplay(presented: number): boolean {
    const age = this.#texts.length - 1 - presented
    return age > 1 || (age === 1 && this.#seconds - this.#rotatedAt >= GRACE_SECONDS)
  }

  #take(presented: number, text: string): void {
    if (presented < this.#texts.length - 1) {
      expect(text, 'the pair of another process').toBe(this.#texts.at(-1))
      return
    }
    expect(this.#texts).not.toContain(text)
    this.#texts.push(text)
    this.#rotatedAt = this.#seconds
  }
}

test('only a genuine replay ends a grant, and never do two pairs live on', async () => {
  const { browser } = await signIn(svc, 'ada')
  const run = async (steps: readonly Step[]) => {
    vi.useRealTimers()
    const { tokens, refresh } = await signInProgram(svc, browser)
    const history = new History(tokens.refresh_token)
    for (const one of steps) await history.follow(one, refresh)
  }

  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), run), { numRuns: 25 })
})
